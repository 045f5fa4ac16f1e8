import type { Address } from '../../src/primitives/address.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { type LoadResult, runLoad } from '../load/httpLoad.ts'
import { call, requestBody, waitForReceipts } from '../load/rpc.ts'
import { type Account, GWEI, type Signed, sign } from '../load/sign.ts'
import { percentile } from '../measure/percentile.ts'
import { threadTimes, usedBetween } from '../measure/processUsage.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { nonceOf } from './accounts.ts'
import { transferData } from './token.ts'

export interface TransferLoad {
  readonly label: string
  readonly count: number
  /** transactions of one HTTP request; 1: no batch */
  readonly batch: number
  readonly inFlight: number
  /** a token's contract; undefined: transfers of the native coin */
  readonly token: Address | undefined
}

/** Accounts that receive. */
const RECIPIENTS = 2_000
const TOKEN_GAS = 100_000n
const RECEIPT_POLL_MS = 20

/** Sends signed transfers and waits until all are in blocks. */
export async function measureTransfers(
  target: Target,
  accounts: readonly Account[],
  load: TransferLoad,
): Promise<Row[]> {
  const transactions = await signTransfers(target, accounts, load)
  const bodies = bodiesOf(transactions, load.batch)
  const firstBlock = Number(await call<string>(target.url, 'eth_blockNumber')) + 1
  target.takeBlocks()
  await target.mainDelayMs()
  const before = threadTimes(target.pid)
  const ownBefore = process.cpuUsage()
  const beginMs = performance.now()
  const sent = await runLoad({ port: target.port, bodies, inFlight: load.inFlight })
  if (sent.errors > 0) throw new Error(`${sent.errors} of ${bodies.length} were refused, first: ${sent.firstError}`)
  const lastOfAccounts = transactions.slice(-accounts.length)
  await waitForReceipts(
    target.url,
    lastOfAccounts.map(({ hash }) => hash),
    RECEIPT_POLL_MS,
  )
  const elapsedMs = performance.now() - beginMs
  const used = usedBetween(before, threadTimes(target.pid))
  const own = process.cpuUsage(ownBefore)
  const name = load.label
  const blocks = await blockRows(target, name)
  await checkIncluded(target, firstBlock, load.count)
  return [
    { name: `${name}: in blocks`, unit: '/s', value: (load.count / elapsedMs) * 1_000 },
    { name: `${name}: accepted`, unit: '/s', value: (load.count / sent.elapsedMs) * 1_000 },
    ...latencyRows(`${name}: request`, sent),
    ...blocks,
    {
      name: `${name}: CPU of the node`,
      unit: 'µs each',
      value: (used.reduce((sum, [, ms]) => sum + ms, 0) * 1_000) / load.count,
      note: used
        .slice(0, 7)
        .map(([thread, ms]) => `${thread} ${Math.round((ms * 1_000) / load.count)}`)
        .join(', '),
    },
    { name: `${name}: CPU of the load`, unit: 'µs each', value: (own.user + own.system) / load.count },
  ]
}

export function latencyRows(name: string, { latenciesMs }: LoadResult): Row[] {
  return [
    { name: `${name} p50`, unit: 'ms', value: percentile(latenciesMs, 50) },
    { name: `${name} p99`, unit: 'ms', value: percentile(latenciesMs, 99) },
  ]
}

/** What the node's log and metrics say of the blocks since they were last looked at. */
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
      name: `${name}: transfers in a block`,
      unit: '',
      value: Math.max(...blocks.map(({ txs }) => txs)),
      note: blocks.map(({ txs, buildMs, finalizeMs }) => `${txs}/${buildMs}+${finalizeMs}`).join(' '),
    },
  ]
}

async function signTransfers(target: Target, accounts: readonly Account[], load: TransferLoad): Promise<Signed[]> {
  const recipients = Array.from({ length: RECIPIENTS }, (_, index) => keccak256(Buffer.from(`to ${index}`)).slice(12))
  const nonces = await Promise.all(accounts.map((account) => nonceOf(target, account)))
  return Array.from({ length: load.count }, (_, index) => {
    const sender = index % accounts.length
    const recipient = recipients[index % RECIPIENTS]!
    return sign(accounts[sender]!, {
      nonce: BigInt(nonces[sender]!++),
      maxFeePerGas: 500n * GWEI,
      ...(load.token === undefined
        ? { to: recipient, value: 1n }
        : { to: load.token, data: transferData(recipient, 1n), gasLimit: TOKEN_GAS }),
    })
  })
}

function bodiesOf(transactions: readonly Signed[], batch: number): string[] {
  const calls = transactions.map(({ raw }, index) => requestBody(index, 'eth_sendRawTransaction', [raw]))
  if (batch === 1) return calls
  const bodies: string[] = []
  for (let start = 0; start < calls.length; start += batch)
    bodies.push(`[${calls.slice(start, start + batch).join(',')}]`)
  return bodies
}

/** The figures count only what blocks hold. */
async function checkIncluded(target: Target, firstBlock: number, count: number): Promise<void> {
  const last = Number(await call<string>(target.url, 'eth_blockNumber'))
  let included = 0
  for (let number = firstBlock; number <= last; number++) {
    const height = `0x${number.toString(16)}`
    included += Number(await call<string>(target.url, 'eth_getBlockTransactionCountByNumber', [height]))
  }
  if (included !== count) throw new Error(`${included} of ${count} transactions are in blocks`)
}
