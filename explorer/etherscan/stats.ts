import { SILENT_MS } from '../network/nodeBook.ts'
import type { Hex } from '../node/answers.ts'
import { byUnit, HOUR_MS, HOURS_A_DAY, sumHours } from '../statistics/queries.ts'
import { type Action, actionsOf, type EtherscanContext, failed, listed, ok, tooMuch } from './action.ts'
import { blockIntervalMs } from './blocks.ts'
import { tokensupply } from './tokens.ts'

/** About as long as a block takes: all clients share the node's answer meanwhile. */
const MAX_AGE_MS = 1_000
const GWEI_DECIMALS = 9
const COIN_DECIMALS = 18
/** Hours of one answer: almost three years. */
const MAX_HOURS = 24_000

/** All coins, acoin. */
async function supplyOf({ node, cache }: EtherscanContext): Promise<string> {
  const answer = await cache.get('etherscan-supply', MAX_AGE_MS, () =>
    node.rest('/cosmos/bank/v1beta1/supply/by_denom?denom=acoin'),
  )
  return (answer as { readonly amount: { readonly amount: string } }).amount.amount
}

const ethsupply: Action = async (_, context) => ok(await supplyOf(context))

/** Nothing is staked on another chain, burnt by the base fee, or withdrawn from a beacon chain here. */
const ethsupply2: Action = async (_, context) =>
  ok({ EthSupply: await supplyOf(context), Eth2Staking: '0', BurntFees: '0', WithdrawnTotal: '0' })

const ethprice: Action = async () => failed('Error! This explorer has no price of the coin')

/** Verified nodes that report now. */
const nodecount: Action = async (_, { services }) => {
  const rows = await services
    .selectFrom('node')
    .select('node_id')
    .where('is_verified', '=', 1)
    .where('last_seen', '>', Date.now() - SILENT_MS)
    .execute()
  return ok({ UTCDate: new Date().toISOString().slice(0, 10), TotalNodeCount: String(rows.length) })
}

type Day = ReturnType<typeof sumHours>

/** Numbers of the days from `startdate` to `enddate`, both included; the last one may not be over. */
const daily =
  (view: (day: Day) => Readonly<Record<string, unknown>>): Action =>
  async (parameters, { queries }) => {
    const [from, to] = [parameters.day('startdate'), parameters.day('enddate')]
    const rows = await queries
      .selectFrom('statistics_hour')
      .selectAll()
      .where('hour', '>=', from * HOURS_A_DAY)
      .where('hour', '<', (to + 1) * HOURS_A_DAY)
      .orderBy('hour', parameters.part().direction)
      .limit(MAX_HOURS + 1)
      .execute()
    if (rows.length > MAX_HOURS) throw tooMuch()
    const result = byUnit(rows, HOURS_A_DAY).map(([number, hours]) => {
      const startMs = number * HOURS_A_DAY * HOUR_MS
      const day = sumHours(startMs, hours)
      return { UTCDate: day.start.slice(0, 10), unixTimeStamp: String(startMs / 1000), ...view(day) }
    })
    return listed(result, 'No records found')
  }

/** Of both kinds, as their gas and fees are. */
const dailytx = daily(({ evmTransactions, nativeTransactions }) => ({
  transactionCount: evmTransactions + nativeTransactions,
}))
const dailynewaddress = daily(({ newAccounts }) => ({ newAddressCount: newAccounts }))
const dailygasused = daily(({ gasUsed }) => ({ gasUsed: String(gasUsed) }))
const dailytxnfee = daily(({ fees }) => ({ transactionFee_Eth: toDecimal(BigInt(fees), COIN_DECIMALS) }))
/** A block earns its fees. */
const dailyblkcount = daily(({ blocks, fees }) => ({
  blockCount: blocks,
  blockRewards_Eth: toDecimal(BigInt(fees), COIN_DECIMALS),
}))

/** The module `stats`. */
export const STATS_ACTIONS = actionsOf({
  ethsupply,
  ethsupply2,
  ethprice,
  nodecount,
  tokensupply,
  dailytx,
  dailynewaddress,
  dailygasused,
  dailytxnfee,
  dailyblkcount,
})

interface FeeHistory {
  readonly oldestBlock: Hex
  readonly baseFeePerGas: readonly Hex[]
  readonly gasUsedRatio: readonly number[]
  readonly reward?: readonly (readonly Hex[])[]
}

/** Blocks, and percentiles of their tips. */
const HISTORY = ['0x5', 'latest', [25, 50, 90]] as const

/** Prices in gwei: the base fee of the next block, and the tips in the last blocks. */
const gasoracle: Action = async (_, { node, cache }) => {
  const [history] = await cache.get('etherscan-fees', MAX_AGE_MS, () =>
    node.ethereum([{ method: 'eth_feeHistory', params: HISTORY }]),
  )
  const { oldestBlock, baseFeePerGas, gasUsedRatio, reward = [] } = history as FeeHistory
  const base = BigInt(baseFeePerGas.at(-1)!)
  const tip = (at: number): bigint => {
    const tips = reward.map((own) => BigInt(own[at] ?? 0)).filter((own) => own > 0n)
    return tips.length === 0 ? 0n : tips.reduce((sum, own) => sum + own, 0n) / BigInt(tips.length)
  }
  return ok({
    LastBlock: String(Number(oldestBlock) + gasUsedRatio.length - 1),
    SafeGasPrice: toGwei(base + tip(0)),
    ProposeGasPrice: toGwei(base + tip(1)),
    FastGasPrice: toGwei(base + tip(2)),
    suggestBaseFee: toGwei(base),
    gasUsedRatio: gasUsedRatio.join(','),
  })
}

/** Seconds until a transaction with this price is in a block: every block has room for what pays the base fee, unless it is full. */
const gasestimate: Action = async (parameters, { queries }) => {
  if (parameters.amount('gasprice') === undefined) return failed('Error! Missing gasprice')
  const intervalMs = await blockIntervalMs(queries)
  return intervalMs === undefined ? failed('Error! There are no blocks yet') : ok(String(Math.ceil(intervalMs / 1000)))
}

function toGwei(acoin: bigint): string {
  return toDecimal(acoin, GWEI_DECIMALS)
}

/** `1.5` of 1500000000 with 9 decimals. */
function toDecimal(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const [whole, rest] = [digits.slice(0, -decimals), digits.slice(-decimals).replace(/0+$/, '')]
  return rest === '' ? whole : `${whole}.${rest}`
}

/** The module `gastracker`. */
export const GAS_ACTIONS = actionsOf({ gasoracle, gasestimate })
