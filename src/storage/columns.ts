/**
 * Every column of db/: a one-byte prefix of the key, with `key -> value`. Heights in keys are 6 bytes, big-endian, so that
 * ranges sort by height. A prefix is never used again for something else.
 */
export const Column = {
  // State at the head, and codes of all heights (src/state)
  /** address -> nonce, balance and code hash (src/state/flatCodec.ts) */
  account: 0x01,
  /** address ‖ slot -> value, minimal big-endian bytes */
  slot: 0x02,
  /** address -> number of slots that are set, minimal big-endian bytes */
  slotCount: 0x03,
  /** raw key of a native module -> value */
  native: 0x04,
  /** page number (4 bytes) -> page of the directory of native keys */
  nativePage: 0x05,
  /** code hash -> code */
  code: 0x06,
  /** 0x00 or 0x01 ‖ address, then nibble path -> RLP of the trie node */
  trieNode: 0x07,

  // History of the state (src/state/history.ts)
  /** flat key (with its column) -> newest part of the list of its changes (src/state/changeIndex.ts) */
  changeIndex: 0x11,
  /** level ‖ flat key (with its column) ‖ last height -> up to 16 changes of that list, or the last heights of 256 parts */
  changeShard: 0x12,
  /** trie key ‖ height -> node before that block, branches as child mask and hash; no bytes: absent */
  trieHistory: 0x13,
  /** height -> keys in the two histories that the block wrote */
  blockChanges: 0x14,
  /** name -> head and oldest height of the state */
  stateMeta: 0x15,

  // Blocks, receipts and indexes (src/chain/store.ts)
  /** height -> RLP of the Ethereum header */
  header: 0x20,
  /** Ethereum block hash -> height */
  blockHash: 0x21,
  /** height -> consensus block (protobuf): header, data.txs, evidence, last commit */
  consensusBlock: 0x22,
  /** height -> how the entries of data.txs fared (src/chain/blockRecord.ts); absent for a block without entries and events */
  results: 0x23,
  /** transaction hash -> height, index in the Ethereum block (4 bytes) */
  transaction: 0x24,
  /** log term (9 bytes; src/chain/logIndex.ts) ‖ height -> no bytes */
  logTerm: 0x25,
  /** sha256 of a native transaction that started -> height, position in data.txs (4 bytes) */
  nativeTransaction: 0x2b,
  /** event term (7 bytes; src/chain/eventIndex.ts) ‖ height -> no bytes */
  eventTerm: 0x2c,
  /** name -> head record, oldest block, genesis hash */
  chainMeta: 0x26,
  /** first 8 bytes of the consensus header's hash -> height */
  consensusHash: 0x2a,

  // Validator sets (src/chain/validatorRecords.ts)
  /** header.validators_hash -> public keys and powers, in the set's order */
  validatorSet: 0x27,
  /** height -> the set's hash, its proposer and priorities; only where it can't be computed from a height before */
  validatorRanks: 0x28,
  /** height / 64 -> which of the 64 heights have an entry in `validatorRanks`, one byte each */
  validatorRanksIndex: 0x29,
} as const

export type Column = (typeof Column)[keyof typeof Column]

/** Bytes of a height in a key. */
export const HEIGHT_BYTES = 6

/** The key of `column` made of `parts`. */
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

/** A height as it stands in keys. */
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

/** The first key after every key that starts with `prefix`; undefined when there is none (all bytes 0xff). */
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
