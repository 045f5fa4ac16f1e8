/**
 * The list of all columns of db/. A column is the first byte of a key, and each comment says `rest of the key -> value`. ‖ joins
 * bytes. Heights in keys are 6 bytes, big-endian, so that ranges are in order of height. A column's number is never reused, not even
 * after the column was removed. Behind each value, with or without bytes, is its checksum (src/storage/checksum.ts), which `Database`
 * adds and takes away. What cannot be read as this table says needs a new `FORMAT` (src/storage/format.ts).
 */
export const Column = {
  // The state at the head, and contract code of all heights (src/state/flatState.ts)
  /** address -> nonce, balance and code hash */
  account: 0x01,
  /** address ‖ slot (32 bytes) -> value, minimal big-endian bytes */
  slot: 0x02,
  /** address -> number of slots that are set, minimal big-endian bytes */
  slotCount: 0x03,
  /** raw key of a native module -> value */
  native: 0x04,
  /** page number (4 bytes) -> page of the directory of native keys (src/state/nativeDirectory.ts) */
  nativePage: 0x05,
  /** code hash -> code */
  code: 0x06,
  /** 0x00, or 0x01 ‖ address of a storage trie; ‖ depth (1 byte) ‖ nibbles of the path, packed -> RLP of the trie node */
  trieNode: 0x07,

  // The history of the state (src/state/history.ts; of trie nodes src/state/proof.ts)
  /** key of an entry, with its column -> its newest changes, and the names of the shards with older ones */
  changeIndex: 0x11,
  /** level ‖ key of an entry, with its column ‖ last height -> up to 16 of its changes, or up to 256 names of shards */
  changeShard: 0x12,
  /** key of a trie node, without its column ‖ height -> the node before that block; no bytes: it was absent */
  trieHistory: 0x13,
  /** height -> keys of all entries and trie nodes that the block changed */
  blockChanges: 0x14,
  /** `head` -> height ‖ state root; `oldest` -> lowest height whose state is retained */
  stateMeta: 0x15,
  /** progress of a restore from a snapshot (src/snapshot/restoreState.ts); nothing once it is complete */
  restore: 0x16,

  // Blocks (src/chain/store/writeBlock.ts)
  /** height -> RLP of the Ethereum header */
  header: 0x20,
  /** Ethereum block hash -> height */
  blockHash: 0x21,
  /** height -> consensus block, protobuf: header, data.txs, evidence, last commit */
  consensusBlock: 0x22,
  /** height -> results of data.txs and events (src/chain/store/storedResults.ts); absent for a block without entries and events */
  results: 0x23,
  /** hash of an EVM transaction -> height ‖ index in the Ethereum block (4 bytes) */
  transaction: 0x24,
  /** log term (9 bytes, src/chain/indexes/logIndex.ts) ‖ height -> no bytes; of the term of any log, one byte where the others are packed */
  logTerm: 0x25,
  /** first byte of fingerprints ‖ height -> their other three bytes, ascending (src/chain/indexes/packedLogTerms.ts) */
  packedLogTerms: 0x35,
  /**
   * `head` -> head record; `base` -> lowest height whose block is there at all; `oldest` -> lowest height whose transactions and
   * receipts are retained; `moved` -> lowest height from which on every block is here and not only in a segment (these three absent: 0);
   * `restored` -> height and state root that a snapshot brought (src/datadir/restoreSnapshot.ts); `complete` -> lowest height whose validators
   * are here too, where that is above `base` (src/chain/retention/completeBlocks.ts; absent: that of `restored`); `filled` -> lowest height whose
   * block is only in a segment (src/chain/segments/moveBlocks.ts; absent: `base`); `genesis` -> genesis hash
   * (src/execution/openChain.ts); `light` -> lowest and highest height in `lightBlock`; `indexed` -> height from which on blocks are in
   * `logTerm` (or `packedLogTerms`) and `eventTerm`, or no bytes where new ones are not (src/chain/indexes/indexCoverage.ts); `calls` -> the same for `callTerm`, absent
   * where new ones are not (src/chain/indexes/callIndex.ts); `reindex` -> how far an interrupted one is
   * (src/datadir/reindex.ts); `repair` -> what a repair has begun (src/chain/store/mendable.ts); `format` -> version of what this
   * table describes (src/storage/format.ts)
   */
  chainMeta: 0x26,
  /** first 8 bytes of a consensus header's hash -> height */
  consensusHash: 0x2a,
  /** sha256 of a native transaction that started -> height ‖ position in data.txs (4 bytes) */
  nativeTransaction: 0x2b,
  /** event term (7 bytes, src/chain/indexes/eventIndex.ts) ‖ height -> no bytes */
  eventTerm: 0x2c,

  /** call term (8 bytes, src/chain/indexes/callIndex.ts) ‖ height -> no bytes */
  callTerm: 0x34,

  // What has left for files (src/chain/segments/)
  /** height / 8,192 -> RLP of first and last height, bytes and sha256 of the segment file with these blocks, and 1 if it has no bodies */
  segment: 0x2d,
  /**
   * kind of hash (1 byte, src/chain/indexes/oldHashIndex.ts) ‖ first 8 bytes of the hash -> heights and positions of all blocks or transactions in
   * segments whose hashes begin so. Only versions before there was `hashFile` wrote it
   */
  shortHash: 0x2e,
  /**
   * 0 for blocks, 1 for transactions -> RLP of a list of files that have the hashes of blocks in segments: of each first and last height,
   * bytes, sha256, number of hashes, offsets of the pages and of their directory, and whether it was made of two
   * (src/chain/indexes/hashFile.ts)
   */
  hashFile: 0x33,

  /**
   * height / 8,192 -> RLP of first and last height, bytes, offset of the first page, sha256 and list of pages of the file with the terms
   * of a segment (src/chain/segments/segmentTerms.ts); absent where they are in `logTerm` and `eventTerm`, or in no index
   */
  segmentTerms: 0x32,

  // Light blocks that stay when the other headers are dropped (src/chain/retention/retainedLightBlocks.ts)
  /** height -> protobuf of tendermint.types.LightBlock, without proposer and priorities */
  lightBlock: 0x2f,
  /** height / 1,000 -> which of these 1,000 heights are in `lightBlock`, two bytes each */
  lightBlockIndex: 0x30,

  // Validator sets (src/chain/store/validatorRecords.ts)
  /** header.validators_hash -> public keys and powers, in the set's order */
  validatorSet: 0x27,
  /**
   * header.validators_hash -> the newest height from which on it was that of the chain; absent for
   * sets that an older version wrote, which stay forever
   */
  validatorSetUse: 0x31,
  /** height -> hash of the set, its proposer and priorities; only where they do not follow from an earlier height */
  proposerPriorities: 0x28,
  /** height / 64 -> which of these 64 heights have a record in `proposerPriorities`, one byte each */
  proposerPrioritiesIndex: 0x29,
} as const

export type Column = (typeof Column)[keyof typeof Column]

const COLUMN_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(Column).map(([name, column]) => [column, name]),
)

/** Returns the name of a column in messages. */
export function columnName(column: number | undefined): string {
  return COLUMN_NAMES.get(column ?? -1) ?? `column ${column ?? '(none)'}`
}

/** Bytes of a height in a key. */
export const HEIGHT_BYTES = 6

/** Returns the key with these `parts` in a column. */
export function columnKey(column: number, ...parts: Uint8Array[]): Uint8Array {
  let length = 1
  for (const part of parts) length += part.length
  const key = new Uint8Array(length)
  key[0] = column
  let offset = 1
  for (const part of parts) {
    key.set(part, offset)
    offset += part.length
  }
  return key
}

/** Returns a height as in keys. */
export function heightBytes(height: number): Uint8Array {
  const out = new Uint8Array(HEIGHT_BYTES)
  writeHeight(out, 0, height)
  return out
}

export function writeHeight(out: Uint8Array, offset: number, height: number): void {
  const high = Math.floor(height / 0x1_0000_0000)
  out[offset] = high >>> 8
  out[offset + 1] = high
  out[offset + 2] = height >>> 24
  out[offset + 3] = height >>> 16
  out[offset + 4] = height >>> 8
  out[offset + 5] = height
}

export function readHeight(bytes: Uint8Array, offset: number): number {
  const high = bytes[offset]! * 0x100 + bytes[offset + 1]!
  const low =
    bytes[offset + 2]! * 0x100_0000 + bytes[offset + 3]! * 0x1_0000 + bytes[offset + 4]! * 0x100 + bytes[offset + 5]!
  return high * 0x1_0000_0000 + low
}

/** Returns the first key after every key that starts with `prefix`; undefined when there is none (all bytes 0xff). */
export function prefixEnd(prefix: Uint8Array): Uint8Array | undefined {
  for (let length = prefix.length; length > 0; length--) {
    const last = prefix[length - 1]!
    if (last === 0xff) continue
    const end = new Uint8Array(prefix.subarray(0, length))
    end[length - 1] = last + 1
    return end
  }
  return undefined
}
