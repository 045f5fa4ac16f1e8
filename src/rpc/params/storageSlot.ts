import { bigIntToBytes } from '../../primitives/bytes.ts'
import { RPC_CODES, RpcError } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { jsonKind, TypeMismatch } from './mismatch.ts'

/** A storage slot as it was asked for. */
export interface StorageSlot {
  /** 32 bytes */
  readonly slot: Uint8Array
  /** it was written as 32 bytes (the prefix and the very first digit may be missing) */
  readonly isWholeWord: boolean
}

/** A slot in geth's lenient form (ethapi `decodeStorageKey`): the prefix is optional, an odd length allowed. */
export const readStorageSlot: ParamReader<StorageSlot> = (json) => {
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'string')
  const digits = /^0x/i.test(json) ? json.slice(2) : json
  if (digits.length > 64) {
    throw invalidKey(`storage key too long (want at most 32 bytes): ${JSON.stringify(json.slice(0, 100))}`)
  }
  if (!/^[0-9a-f]*$/i.test(digits)) {
    throw invalidKey(`invalid hex in storage key: ${JSON.stringify(json)}`)
  }
  return { slot: bigIntToBytes(BigInt(`0x${digits || '0'}`), 32), isWholeWord: digits.length >= 63 }
}

/** geth reads the key inside the method, so its text does not name the argument. */
function invalidKey(message: string): RpcError {
  return new RpcError(RPC_CODES.invalidParams, message)
}
