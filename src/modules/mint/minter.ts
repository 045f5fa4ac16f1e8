import { type Decimal, decimalOf, divide, formatDecimal, multiply, ONE, truncate } from '../../primitives/decimal.ts'
import { decimal, defineMessage } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { getSupply } from '../bank/ledger.ts'
import { mintCoins, sendCoins } from '../bank/send.ts'
import { event, type ModuleContext, type ReadContext } from '../context.ts'
import { BONDED_POOL, FEE_COLLECTOR, MINT } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import { moduleStoreKey } from '../storeKey.ts'
import { MINT_PARAMS, type MintParams } from './params.ts'

/** The SDK's MinterKey (x/mint/types/keys.go); the value is the inflation alone, the annual provisions follow from it. */
const INFLATION_KEY = moduleStoreKey('mint', Uint8Array.of(0x00))
const Inflation = defineMessage('coind.mint.Inflation', { inflation: decimal(1) })

/** Writes the module's part of block 0. */
export function initMint(
  native: Pick<NativeStore, 'set' | 'delete'>,
  { params, inflation }: { readonly params: MintParams; readonly inflation: Decimal },
): void {
  MINT_PARAMS.set(native, params)
  putInflation(native, inflation)
}

/**
 * Minting ends at this supply, some 3.4 x 10^20 coins. Legal parameters can double the supply in
 * every block, if blocks come faster than planned: without an end it would exceed the 256 bits of a
 * balance, and no further block could be made.
 */
export const MAX_MINTED_SUPPLY_ACOIN: bigint = 2n ** 128n

/**
 * Mints a block's part of the year's coins into the fee collector (x/mint/abci.go). Without
 * inflation nothing is written.
 * @returns why the coins cannot be moved; the block mints none then
 */
export function beginMint(context: ModuleContext): SdkError | undefined {
  const { world } = context
  const params = MINT_PARAMS.get(world.native)
  const before = getInflation(world.native)
  if (before === 0n && params.inflationMax === 0n) return undefined
  const bonded = bondedRatio(context)
  const inflation = nextInflation(before, params, bonded)
  if (inflation !== before) putInflation(world.native, inflation)
  const provisions = annualProvisions(context)
  const room = MAX_MINTED_SUPPLY_ACOIN - getSupply(world)
  const due = truncate(provisions / params.blocksPerYear)
  const amount = due < room ? due : room > 0n ? room : 0n
  if (amount === 0n) return undefined
  mintCoins(context, MINT, amount)
  const failure = sendCoins(context, MINT, FEE_COLLECTOR, amount)
  if (failure !== undefined) return failure
  world.emitEvent(
    event('mint', {
      bonded_ratio: formatDecimal(bonded),
      inflation: formatDecimal(inflation),
      annual_provisions: formatDecimal(provisions),
      amount: `${amount}`,
    }),
  )
  return undefined
}

/**
 * Returns the rate of the next block (x/mint/types/minter.go, NextInflationRate): it rises while
 * less than the goal's part of all coins is bonded, and falls while more is.
 */
export function nextInflation(inflation: Decimal, params: MintParams, bonded: Decimal): Decimal {
  const yearly = multiply(ONE - divide(bonded, params.goalBonded), params.inflationRateChange)
  const next = inflation + divide(yearly, decimalOf(params.blocksPerYear))
  if (next > params.inflationMax) return params.inflationMax
  return next < params.inflationMin ? params.inflationMin : next
}

/** Returns the acoin that a year at this rate mints. */
export function annualProvisions({ world }: ReadContext): Decimal {
  return getInflation(world.native) * getSupply(world)
}

/** Returns the part of all coins that bonded validators have. */
export function bondedRatio({ world }: ReadContext): Decimal {
  const supply = getSupply(world)
  return supply === 0n ? 0n : decimalOf(world.getBalance(BONDED_POOL)) / supply
}

/** Returns the yearly rate at which coins are minted; 0 when it was never set. */
export function getInflation(native: Pick<NativeStore, 'get'>): Decimal {
  const value = native.get(INFLATION_KEY)
  return value === undefined ? 0n : Inflation.decode(value).inflation
}

function putInflation(native: Pick<NativeStore, 'set' | 'delete'>, inflation: Decimal): void {
  if (inflation === 0n) native.delete(INFLATION_KEY)
  else native.set(INFLATION_KEY, Inflation.encode({ inflation }))
}
