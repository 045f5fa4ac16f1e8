import { SILENT_MS } from '../../heartbeat/nodeBook.ts'
import type { Hex } from '../../node/answers.ts'
import { type Action, actionsOf, type EtherscanContext, failed, ok } from './action.ts'
import { blockIntervalMs } from './blocks.ts'
import { tokensupply } from './tokens.ts'

/** A block's time: for so long an answer of the node is good for everybody. */
const MAX_AGE_MS = 1_000
const GWEI_DECIMALS = 9

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

const ethprice: Action = async () => failed('Error! This explorer knows no price of the coin')

/** Nodes that report at present with a signature. */
const nodecount: Action = async (_, { services }) => {
  const rows = await services
    .selectFrom('node')
    .select('node_id')
    .where('is_verified', '=', 1)
    .where('last_seen', '>', Date.now() - SILENT_MS)
    .execute()
  return ok({ UTCDate: new Date().toISOString().slice(0, 10), TotalNodeCount: String(rows.length) })
}

/** The module `stats`. */
export const STATS_ACTIONS = actionsOf({ ethsupply, ethsupply2, ethprice, nodecount, tokensupply })

interface FeeHistory {
  readonly oldestBlock: Hex
  readonly baseFeePerGas: readonly Hex[]
  readonly gasUsedRatio: readonly number[]
  readonly reward?: readonly (readonly Hex[])[]
}

/** Blocks, and which of their tips: those that a quarter, half and nine of ten transactions stay below. */
const HISTORY = ['0x5', 'latest', [25, 50, 90]] as const

/** Prices in gwei: the base fee of the next block, and with what the last blocks were paid above theirs. */
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
  const digits = acoin.toString().padStart(GWEI_DECIMALS + 1, '0')
  const [whole, rest] = [digits.slice(0, -GWEI_DECIMALS), digits.slice(-GWEI_DECIMALS).replace(/0+$/, '')]
  return rest === '' ? whole : `${whole}.${rest}`
}

/** The module `gastracker`. */
export const GAS_ACTIONS = actionsOf({ gasoracle, gasestimate })
