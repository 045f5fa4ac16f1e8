import { type Hash, keccak256, sha256 } from '../primitives/hash.ts'

/** First byte of a native transaction: the tag of TxRaw.body_bytes. No EVM envelope starts with it. */
const NATIVE_TAG = 0x0a

/** Whether these bytes of data.txs, of gossip or of a client are a native transaction, if they are one at all. */
export function isNativeEntry(raw: Uint8Array): boolean {
  return raw[0] === NATIVE_TAG
}

/** The hash by which a transaction is known: sha256 of a native one as in CometBFT, keccak-256 of an EVM one. */
export function entryHash(raw: Uint8Array): Hash {
  return isNativeEntry(raw) ? sha256(raw) : keccak256(raw)
}
