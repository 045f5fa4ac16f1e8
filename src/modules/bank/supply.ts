import type { WorldState } from '../../state/world.ts'
import { moduleStoreKey } from '../storeKey.ts'

/** The base denomination; 10^18 acoin are one COIN. */
export const BASE_DENOM = 'acoin'

const MAX_SUPPLY = (1n << 256n) - 1n

/**
 * Key of the total supply: the SDK's SupplyKey (0x00 | denomination; x/bank/types/keys.go) in the bank module's part of the
 * native store. The value is the amount in decimal digits, as the SDK's `math.Int` encodes it; no entry means 0.
 */
export const SUPPLY_KEY: Uint8Array = moduleStoreKey('bank', Uint8Array.of(0x00), new TextEncoder().encode(BASE_DENOM))

/** Total supply in acoin: the sum of all account balances. */
export function getSupply(world: { readonly native: Pick<WorldState['native'], 'get'> }): bigint {
  const value = world.native.get(SUPPLY_KEY)
  return value === undefined ? 0n : BigInt(new TextDecoder().decode(value))
}

/**
 * @throws RangeError (a bug) when `supply` is negative or does not fit 256 bits
 */
export function setSupply(
  world: { readonly native: Pick<WorldState['native'], 'set' | 'delete'> },
  supply: bigint,
): void {
  if (supply < 0n || supply > MAX_SUPPLY) throw new RangeError(`a supply of ${supply} acoin is out of range`)
  if (supply === 0n) world.native.delete(SUPPLY_KEY)
  else world.native.set(SUPPLY_KEY, new TextEncoder().encode(supply.toString()))
}
