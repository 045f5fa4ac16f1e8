import { type LoadResult, runLoad } from '../load/httpLoad.ts'
import { checkSucceeded, nextBlock, untilIncluded } from '../load/inBlocks.ts'
import { requestBody } from '../load/rpc.ts'
import { type Account, GWEI, type Signed, sign } from '../load/sign.ts'
import { percentile } from '../measure/percentile.ts'
import { threadTimes, usedBetween } from '../measure/processUsage.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { chunks, noncesOf } from './accounts.ts'
import type { TransactionMaker } from './transactions.ts'

export interface Load {
  readonly label: string
  readonly count: number
  readonly accounts: readonly Account[]
  /** transactions of one HTTP request; 1: no batch */
  readonly batch: number
  readonly inFlight: number
  /** requests that share a connection */
  readonly pipeline: number
  readonly transaction: TransactionMaker
}

/** Blocks whose transactions, building and finalizing are printed at once. */
const NOTED_BLOCKS = 40

/** Sends signed transactions, the accounts in turn, and waits until all are in blocks. */
export async function measureThroughput(target: Target, load: Load): Promise<Row[]> {
  const { label: name, count } = load
  const bodies = bodiesOf(await signLoad(target, load), load.batch)
  const firstBlock = await nextBlock(target.url)
  target.takeBlocks()
  await target.mainDelayMs()
  const before = threadTimes(target.pid)
  const ownBefore = process.cpuUsage()
  const beginMs = performance.now()
  const sent = await runLoad({ port: target.port, bodies, inFlight: load.inFlight, pipeline: load.pipeline })
  if (sent.errors > 0) throw new Error(`${sent.errors} of ${bodies.length} were refused, first: ${sent.firstError}`)
  const lastBlock = await untilIncluded(target.url, firstBlock, count)
  const elapsedMs = performance.now() - beginMs
  const used = usedBetween(before, threadTimes(target.pid))
  const own = process.cpuUsage(ownBefore)
  const blocks = await blockRows(target, name)
  await checkSucceeded(target.url, firstBlock, lastBlock)
  return [
    { name: `${name}: in blocks`, unit: '/s', value: (count / elapsedMs) * 1_000 },
    { name: `${name}: accepted`, unit: '/s', value: (count / sent.elapsedMs) * 1_000 },
    ...latencyRows(`${name}: request`, sent),
    ...blocks,
    {
      name: `${name}: CPU of the node`,
      unit: 'µs each',
      value: (used.reduce((sum, [, ms]) => sum + ms, 0) * 1_000) / count,
      note: used
        .slice(0, 7)
        .map(([thread, ms]) => `${thread} ${Math.round((ms * 1_000) / count)}`)
        .join(', '),
    },
    { name: `${name}: CPU of the load`, unit: 'µs each', value: (own.user + own.system) / count },
  ]
}

export function latencyRows(name: string, { latenciesMs }: LoadResult): Row[] {
  return [
    { name: `${name} p50`, unit: 'ms', value: percentile(latenciesMs, 50) },
    { name: `${name} p99`, unit: 'ms', value: percentile(latenciesMs, 99) },
  ]
}

/** Returns what the node's log and metrics say about the blocks since the last call. */
async function blockRows(target: Target, name: string): Promise<Row[]> {
  const blocks = target.takeBlocks()
  if (blocks === undefined) return []
  const ascending = (values: number[]): number[] => values.sort((a, b) => a - b)
  const intervals = ascending(blocks.slice(1).map(({ atMs }, index) => atMs - blocks[index]!.atMs))
  const builds = ascending(blocks.map(({ buildMs }) => buildMs))
  const finals = ascending(blocks.map(({ finalizeMs }) => finalizeMs))
  return [
    { name: `${name}: block interval p50`, unit: 'ms', value: percentile(intervals, 50) },
    { name: `${name}: block interval p99`, unit: 'ms', value: percentile(intervals, 99) },
    { name: `${name}: build p50`, unit: 'ms', value: percentile(builds, 50) },
    { name: `${name}: build max`, unit: 'ms', value: percentile(builds, 100) },
    { name: `${name}: finalize max`, unit: 'ms', value: percentile(finals, 100) },
    { name: `${name}: main timers p99`, unit: 'ms', value: (await target.mainDelayMs()) ?? Number.NaN },
    {
      name: `${name}: transactions in a block`,
      unit: '',
      value: Math.max(...blocks.map(({ txs }) => txs)),
      note: blocks
        .slice(0, NOTED_BLOCKS)
        .map(({ txs, buildMs, finalizeMs }) => `${txs}/${buildMs}+${finalizeMs}`)
        .join(' '),
    },
  ]
}

async function signLoad(target: Target, { count, accounts, transaction }: Load): Promise<Signed[]> {
  const nonces = await noncesOf(target, accounts)
  return Array.from({ length: count }, (_, index) => {
    const sender = index % accounts.length
    return sign(accounts[sender]!, {
      nonce: BigInt(nonces[sender]!++),
      maxFeePerGas: 500n * GWEI,
      ...transaction(index, sender),
    })
  })
}

function bodiesOf(transactions: readonly Signed[], batch: number): string[] {
  const calls = transactions.map(({ raw }, index) => requestBody(index, 'eth_sendRawTransaction', [raw]))
  return batch === 1 ? calls : chunks(calls, batch).map((part) => `[${part.join(',')}]`)
}
