import { type Decimal, decimalOf, divide, multiply, ONE } from '../../primitives/decimal.ts'
import { decimal, defineMessage, type ValueOf } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { getSupply } from '../bank/ledger.ts'
import type { ReadContext } from '../context.ts'
import { BONDED_POOL } from '../moduleAccounts.ts'
import { moduleStoreKey } from '../storeKey.ts'
import type { MintParams } from './params.ts'

/** cosmos.mint.v1beta1.Minter */
export const Minter = defineMessage('cosmos.mint.v1beta1.Minter', {
  inflation: decimal(1),
  annualProvisions: decimal(2),
})
export type Minter = ValueOf<typeof Minter>

/** The SDK's MinterKey (x/mint/types/keys.go); the value is the inflation alone, what it makes of a year follows from it. */
const INFLATION_KEY = moduleStoreKey('mint', Uint8Array.of(0x00))
const Inflation = defineMessage('coind.mint.Inflation', { inflation: decimal(1) })

/** The yearly rate at which coins are minted; 0 where none was ever set. */
export function getInflation(native: Pick<NativeStore, 'get'>): Decimal {
  const value = native.get(INFLATION_KEY)
  return value === undefined ? 0n : Inflation.decode(value).inflation
}

export function putInflation(native: Pick<NativeStore, 'set' | 'delete'>, inflation: Decimal): void {
  if (inflation === 0n) native.delete(INFLATION_KEY)
  else native.set(INFLATION_KEY, Inflation.encode({ inflation }))
}

/** acoin that a year at this rate mints. */
export function annualProvisions({ world }: ReadContext): Decimal {
  return getInflation(world.native) * getSupply(world)
}

/** Part of all coins that bonded validators have. */
export function bondedRatio({ world }: ReadContext): Decimal {
  const supply = getSupply(world)
  return supply === 0n ? 0n : decimalOf(world.getBalance(BONDED_POOL)) / supply
}

/**
 * The rate of the next block (x/mint/types/minter.go, NextInflationRate): it moves towards what has the goal's part of all
 * coins bonded.
 */
export function nextInflation(inflation: Decimal, params: MintParams, bonded: Decimal): Decimal {
  const yearly = multiply(ONE - divide(bonded, params.goalBonded), params.inflationRateChange)
  const next = inflation + divide(yearly, decimalOf(params.blocksPerYear))
  if (next > params.inflationMax) return params.inflationMax
  return next < params.inflationMin ? params.inflationMin : next
}
