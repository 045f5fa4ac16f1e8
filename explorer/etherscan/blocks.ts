import { bytesToHex } from '../../src/primitives/bytes.ts'
import { bytesToAmount } from '../database/amount.ts'
import { beginPosition, endPosition } from '../database/position.ts'
import { TX_KINDS } from '../transactions/tables.ts'
import { type Action, actionsOf, type EtherscanContext, failed, ok } from './action.ts'
import { RequestError } from './parameters.ts'

/** Blocks whose times tell how long a block takes. */
const MEASURED_BLOCKS = 100
const NO_BLOCK = 'Error! No such block in the index'

type Queries = EtherscanContext['queries']

/** Fees of a block's EVM transactions, in acoin: what Etherscan calls its reward. What this chain mints goes to all validators. */
export async function feesOf(queries: Queries, height: number): Promise<string> {
  const rows = await queries
    .selectFrom('tx')
    .select('fee')
    .where('position', '>', beginPosition(height))
    .where('position', '<', endPosition(height))
    .where('kind', '=', TX_KINDS.evm)
    .execute()
  return rows.reduce((sum, { fee }) => sum + bytesToAmount(fee), 0n).toString()
}

/** Milliseconds from block to block, of the newest ones; undefined with fewer than two blocks. */
export async function blockIntervalMs(queries: Queries): Promise<number | undefined> {
  const rows = await queries
    .selectFrom('block')
    .select('time')
    .orderBy('height', 'desc')
    .limit(MEASURED_BLOCKS)
    .execute()
  return rows.length < 2 ? undefined : (rows[0]!.time - rows.at(-1)!.time) / (rows.length - 1)
}

const getblockreward: Action = async (parameters, { queries }) => {
  const height = parameters.height('blockno')
  const block = await queries
    .selectFrom('block')
    .select(['miner', 'time'])
    .where('height', '=', height)
    .executeTakeFirst()
  if (block === undefined) return failed(NO_BLOCK)
  return ok({
    blockNumber: String(height),
    timeStamp: String(Math.floor(block.time / 1000)),
    blockMiner: bytesToHex(block.miner),
    blockReward: await feesOf(queries, height),
    uncles: [],
    uncleInclusionReward: '0',
  })
}

const getblockcountdown: Action = async (parameters, { queries }) => {
  const height = parameters.height('blockno')
  const newest = await queries
    .selectFrom('block')
    .select('height')
    .orderBy('height', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest !== undefined && height <= newest.height) return failed('Error! Block number already pass')
  const intervalMs = await blockIntervalMs(queries)
  if (newest === undefined || intervalMs === undefined) return failed(NO_BLOCK)
  const remaining = height - newest.height
  return ok({
    CurrentBlock: String(newest.height),
    CountdownBlock: String(height),
    RemainingBlock: String(remaining),
    EstimateTimeInSec: ((remaining * intervalMs) / 1000).toFixed(1),
  })
}

/** Times of blocks never go back, so the block is found by halving, in some thirty reads. */
const getblocknobytime: Action = async (parameters, { queries }) => {
  const seconds = parameters.amount('timestamp')
  if (seconds === undefined) return failed('Error! Missing timestamp')
  const closest = parameters.text('closest')?.toLowerCase() ?? 'before'
  if (closest !== 'before' && closest !== 'after') return failed('Error! Invalid closest, expected before or after')
  const own = await queries.selectFrom('ingest').select(['first_height', 'height']).executeTakeFirst()
  // Above all times that there can be.
  const wanted = Number(seconds > 10n ** 12n ? 10n ** 12n : seconds)
  const secondsOf = async (height: number): Promise<number> => {
    const { time } = await queries
      .selectFrom('block')
      .select('time')
      .where('height', '=', height)
      .executeTakeFirstOrThrow()
    return Math.floor(time / 1000)
  }
  // The first block that is later (before), or not earlier (after).
  let [low, high] = [own?.first_height ?? 0, (own?.height ?? -1) + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const time = await secondsOf(middle)
    if (closest === 'before' ? time > wanted : time >= wanted) high = middle
    else low = middle + 1
  }
  const found = closest === 'before' ? low - 1 : low
  if (own === undefined || found < own.first_height || found > own.height) {
    throw new RequestError('Error! No closest block found')
  }
  return ok(String(found))
}

/** The module `block`. */
export const BLOCK_ACTIONS = actionsOf({ getblockreward, getblockcountdown, getblocknobytime })
