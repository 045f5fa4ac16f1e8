// Numbers that the module of the tries (assembly/trie) shares with src/state/trieEngine.ts.

/**
 * An update of a key: the key's preimage and, once it is hashed, the key (32 bytes); offset of the new value from the first update, its
 * length (0: the key is unset), flags, and place in the order in which the updates were given (4 bytes each).
 */
export const UPDATE_BYTES = 48
export const UPDATE_VALUE = 32
export const UPDATE_LENGTH = 36
export const UPDATE_FLAGS = 40
export const UPDATE_INDEX = 44

/** The flags `UPDATE_EXPECTED` says whether the key has a value now. */
export const UPDATE_IS_CHECKED = 1
export const UPDATE_EXPECTED = 2
/**
 * The value is an account's leaf, whose storage root is that of the current leaf. A deleted one
 * must have no storage.
 */
export const UPDATE_KEEPS_STORAGE = 4

/** A part of the updates: the first, the one after the last, and how many nibbles lead to the node that they share (4 bytes each). */
export const PART_BYTES = 12

/** A database key in a list: at most 55 bytes, and its length in the last. */
export const LISTED_KEY_BYTES = 56

/** An operation of the log: as in src/storage/batch.ts. */
export const OPERATION_BYTES = 16

/** The key is not as it was expected to be. */
export const FAILURE_PRESENCE = 1
/** An account is deleted that still has storage. */
export const FAILURE_STORAGE = 2
/** A stored node is invalid. */
export const FAILURE_NODE = 3
/** A stored node is missing. */
export const FAILURE_MISSING = 4
