import { bigIntToBytes, bigIntToMinimalBytes, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'

/*
 * Keys of the module's entries and the encoding of their values. The prefixes are the SDK's (x/distribution/types/keys.go) where it
 * has such a record; the last two are ours. The parameters are under 0x09, see params.ts.
 */

/** -> community pool and accumulator */
export const FEE_POOL_KEY: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x00))
/** delegator -> address that its rewards go to */
export const WITHDRAW_ADDRESS_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x03))
/** operator, delegator -> starting info */
export const STARTING_INFO_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x04))
/** operator, period -> historical rewards */
export const HISTORICAL_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x05))
/** operator -> rewards of the validator */
export const REWARDS_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x06))
/** operator, period -> slash event */
export const SLASH_EVENT_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x08))
/** consensus address -> reward share */
export const REWARD_SHARE_PREFIX: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x0a))
/** -> digest of the votes that the reward shares were made of */
export const REWARD_SHARES_DIGEST_KEY: Uint8Array = moduleStoreKey('distribution', Uint8Array.of(0x0b))

/** Returns the key of `prefix`, a validator and a period, which sorts as a number. */
export function periodKey(prefix: Uint8Array, operator: Uint8Array, period: bigint): Uint8Array {
  return concatBytes(addressesKey(prefix, operator), bigIntToBytes(period, 8))
}

/**
 * Encodes numbers that are not negative, each as its length (one byte) and its bytes. Records of rewards hold long decimals and are
 * written by every delegation: this is a third of the size of the digits that the SDK's protobuf types have.
 */
export function packIntegers(...values: readonly bigint[]): Uint8Array {
  const parts = values.map(bigIntToMinimalBytes)
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + 1 + length, 0))
  let at = 0
  for (const part of parts) {
    out[at] = part.length
    out.set(part, at + 1)
    at += 1 + part.length
  }
  return out
}

/** Reads the integers that {@link packIntegers} wrote. */
export function unpackIntegers(packed: Uint8Array): readonly bigint[] {
  const values: bigint[] = []
  for (let at = 0; at < packed.length; at += 1 + packed[at]!) {
    values.push(bytesToBigInt(packed.subarray(at + 1, at + 1 + packed[at]!)))
  }
  return values
}
