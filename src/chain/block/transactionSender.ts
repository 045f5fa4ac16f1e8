import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import { keccakInput, keccakOfInput } from '../../primitives/keccak.ts'
import { encodeRLP, itemAt, rlpLength, writeHeader } from '../../primitives/rlp.ts'
import {
  publicKeyToAddress,
  recoverPublicKey,
  SECP256K1_HALF_ORDER,
  SECP256K1_ORDER,
} from '../../primitives/secp256k1.ts'
import { INVALID_SIGNATURE, type Transaction } from './transaction.ts'

/** The sender, or the reason why it cannot be recovered, in geth's text. */
type SenderRecovery = { readonly sender: Address } | { readonly reason: string }

/** geth's text for a transaction without a chain ID where those are not taken (internal/ethapi). */
export const UNPROTECTED = 'only replay-protected (EIP-155) transactions allowed over RPC'

/** Which signatures a chain accepts. */
interface SenderRules {
  readonly chainId: bigint
  /** whether legacy transactions without EIP-155 protection are accepted */
  readonly allowUnprotected: boolean
}

/** Returns the hash that the transaction's signature covers. */
export function signingHash(transaction: Transaction): Hash {
  const { raw, type } = transaction
  const { start } = itemAt(raw, type === 0 ? 0 : 1)
  const end = itemsEnd(raw, start, UNSIGNED_ITEMS[type])
  const suffix = type === 0 && transaction.chainId !== undefined ? protectionSuffix(transaction.chainId) : EMPTY_BYTES
  const length = end - start + suffix.length
  const size = (type === 0 ? 0 : 1) + rlpLength(length)
  if (size > keccakInput.length) {
    const out = new Uint8Array(size)
    writeEnvelope(out, type, length, raw.subarray(start, end), suffix)
    return keccak256(out)
  }
  writeEnvelope(keccakInput, type, length, raw.subarray(start, end), suffix)
  return keccakOfInput(size)
}

/** Recovers the sender. Checks EIP-2 (low s), EIP-155 and the chain ID. Takes about 60 µs with the native library. */
export function recoverSender(transaction: Transaction, rules: SenderRules): SenderRecovery {
  const { chainId, yParity, r, s } = transaction
  if (chainId === undefined) {
    if (!rules.allowUnprotected) return { reason: UNPROTECTED }
  } else if (chainId !== rules.chainId) {
    return { reason: `invalid sender: invalid chain id for signer: have ${chainId} want ${rules.chainId}` }
  }
  if (r === 0n || r >= SECP256K1_ORDER || s === 0n || s > SECP256K1_HALF_ORDER) return { reason: INVALID_SIGNATURE }
  const publicKey = recoverPublicKey(signingHash(transaction), yParity, r, s)
  if (publicKey === undefined) return { reason: 'invalid sender: recovery failed' }
  return { sender: publicKeyToAddress(publicKey) }
}

/** Writes the type byte and an RLP list whose payload is `fields` and `suffix`, `length` bytes in all. */
function writeEnvelope(out: Uint8Array, type: number, length: number, fields: Uint8Array, suffix: Uint8Array): void {
  if (type !== 0) out[0] = type
  const start = writeHeader(out, type === 0 ? 0 : 1, 0xc0, length)
  out.set(fields, start)
  out.set(suffix, start + fields.length)
}

let lastSuffix: { readonly chainId: bigint; readonly bytes: Uint8Array } | undefined

/**
 * Returns the RLP of (chainId, 0, 0), EIP-155; cached, because nearly all transactions have the
 * same chain ID.
 */
function protectionSuffix(chainId: bigint): Uint8Array {
  if (lastSuffix?.chainId !== chainId) lastSuffix = { chainId, bytes: encodeRLP([chainId, 0n, 0n]).subarray(1) }
  return lastSuffix.bytes
}

/** Number of fields before the signature, by transaction type. */
const UNSIGNED_ITEMS = [6, 8, 9, 11, 10] as const

/** Returns the offset after `count` items from `start` on. */
function itemsEnd(raw: Uint8Array, start: number, count: number): number {
  let at = start
  for (let i = 0; i < count; i++) at = itemAt(raw, at).end
  return at
}
