import { formatDecimal, truncate } from '../../primitives/decimal.ts'
import { mintCoins, sendCoins } from '../bank/send.ts'
import { event, type ModuleContext } from '../context.ts'
import { FEE_COLLECTOR, MINT } from '../moduleAccounts.ts'
import { annualProvisions, bondedRatio, getInflation, nextInflation, putInflation } from './minter.ts'
import { MINT_PARAMS } from './params.ts'

/**
 * Mints a block's part of the year's coins and gives them to the fee collector (x/mint/abci.go). Without inflation nothing is
 * written.
 */
export function beginMint(context: ModuleContext): void {
  const { world } = context
  const params = MINT_PARAMS.get(world.native)
  const before = getInflation(world.native)
  if (before === 0n && params.inflationMax === 0n) return
  const bonded = bondedRatio(context)
  const inflation = nextInflation(before, params, bonded)
  if (inflation !== before) putInflation(world.native, inflation)
  const provisions = annualProvisions(context)
  const amount = truncate(provisions / params.blocksPerYear)
  if (amount === 0n) return
  mintCoins(context, MINT, amount)
  const failure = sendCoins(context, MINT, FEE_COLLECTOR, amount)
  if (failure !== undefined) throw new Error(`minted coins cannot be moved: ${failure.message}`)
  world.emitEvent(
    event('mint', {
      bonded_ratio: formatDecimal(bonded),
      inflation: formatDecimal(inflation),
      annual_provisions: formatDecimal(provisions),
      amount: `${amount}`,
    }),
  )
}
