import { setTimeout as sleep } from 'node:timers/promises'
import { deployContract } from '../contracts/deploy.ts'
import { deployToken, endow } from '../contracts/token.ts'
import { nextBlock, untilIncluded } from '../load/inBlocks.ts'
import { requestBody } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import { sendSteadily } from '../load/steadily.ts'
import { percentile } from '../measure/percentile.ts'
import { benchAccounts, fund, giveTokens, noncesOf } from '../parts/accounts.ts'
import { coinTransfers, type TransactionMaker, tokenTransfers } from '../parts/transactions.ts'
import type { Row } from '../report.ts'
import { startCoind } from '../targets/coind.ts'
import type { Target } from '../targets/target.ts'
import { type BenchExplorer, indexed, processorMs, runExplorer } from './runExplorer.ts'

interface LagOptions {
  readonly database: string
  /** transactions per second */
  readonly rate: number
  /** of load without an explorer, and again with one */
  readonly seconds: number
  readonly explorerFlags: readonly string[]
}

const GAS_LIMIT = 30_000_000
const SENDERS = 200
const SAMPLE_MS = 100

/**
 * Measures how far the index is behind a chain with a steady load, half transfers of coins and half of a token. Also measures what the
 * explorer changes for the node: its block intervals without one, then with one.
 */
export async function measureLag({ database, rate, seconds, explorerFlags }: LagOptions): Promise<readonly Row[]> {
  const node = await startCoind({ gasLimit: GAS_LIMIT })
  try {
    const accounts = benchAccounts(SENDERS)
    const transaction = await prepare(node, accounts)
    const signed = (): Promise<readonly string[]> => signAll(node, accounts, rate * seconds, transaction)
    const load = async (bodies: readonly string[]): Promise<void> => {
      const first = await nextBlock(node.url)
      node.takeBlocks()
      await sendSteadily({ url: node.url, bodies, perSecond: rate })
      await untilIncluded(node.url, first, bodies.length)
    }
    const before = await signed()
    const nodeBefore = processorMs(node.pid)
    await load(before)
    const count = before.length
    const alone = intervalRows(node, 'without an explorer')
    const nodeAlone = processorMs(node.pid) - nodeBefore
    const explorer = await runExplorer({ nodeUrl: node.url, database, nodeFlags: explorerFlags })
    try {
      // Before the first look: signing keeps this process busy for seconds.
      const bodies = await signed()
      await indexed(explorer, (await nextBlock(node.url)) - 1)
      const [nodeMs, explorerMs] = [processorMs(node.pid), processorMs(explorer.pid)]
      const ended = new AbortController()
      const sampled = sampleLag(node, explorer, ended.signal)
      await load(bodies)
      ended.abort()
      const lags = await sampled
      const each = (ms: number): number => (ms * 1_000) / count
      return [
        ...alone,
        ...intervalRows(node, 'with an explorer'),
        { name: 'lag p50', unit: 'blocks', value: percentile(lags, 50), note: `${lags.length} looks` },
        { name: 'lag p99', unit: 'blocks', value: percentile(lags, 99) },
        { name: 'lag at most', unit: 'blocks', value: percentile(lags, 100) },
        {
          name: 'lag: processor of the explorer',
          unit: 'µs each',
          value: each(processorMs(explorer.pid) - explorerMs),
        },
        { name: 'lag: processor of the node', unit: 'µs each', value: each(processorMs(node.pid) - nodeMs) },
        { name: 'lag: processor of the node alone', unit: 'µs each', value: each(nodeAlone) },
      ]
    } finally {
      await explorer.stop()
    }
  } finally {
    await node.stop()
  }
}

/** Makes a token, and accounts that have coins and tokens. */
async function prepare(node: Target, accounts: readonly Account[]): Promise<TransactionMaker> {
  const distributor = await deployContract(node, 'Distributor')
  await fund(node, distributor, accounts)
  const token = await deployToken(node)
  await endow(node, token, distributor)
  await giveTokens(node, distributor, token, accounts)
  const [coins, tokens] = [coinTransfers(), tokenTransfers(token)]
  return (index, sender) => (index % 2 === 0 ? coins : tokens)(index, sender)
}

async function signAll(
  node: Target,
  accounts: readonly Account[],
  count: number,
  transaction: TransactionMaker,
): Promise<readonly string[]> {
  const nonces = await noncesOf(node, accounts)
  return Array.from({ length: count }, (_, index) => {
    const sender = index % accounts.length
    const fields = { nonce: BigInt(nonces[sender]!++), maxFeePerGas: 500n * GWEI, ...transaction(index, sender) }
    return requestBody(index, 'eth_sendRawTransaction', [sign(accounts[sender]!, fields).raw])
  })
}

/** Returns rows for the blocks since the last call. */
function intervalRows(node: Target, name: string): Row[] {
  const blocks = node.takeBlocks() ?? []
  const intervals = blocks.slice(1).map(({ atMs }, index) => atMs - blocks[index]!.atMs)
  intervals.sort((a, b) => a - b)
  return [
    {
      name: `block interval ${name} p50`,
      unit: 'ms',
      value: percentile(intervals, 50),
      note: `${blocks.length} blocks`,
    },
    { name: `block interval ${name} p99`, unit: 'ms', value: percentile(intervals, 99) },
  ]
}

/** Returns how many blocks the index is behind, at many moments, ascending. */
async function sampleLag(node: Target, explorer: BenchExplorer, ended: AbortSignal): Promise<number[]> {
  const lags: number[] = []
  while (!ended.aborted) {
    // The node first: a block that comes in between is not the index's fault.
    const newest = (await nextBlock(node.url)) - 1
    lags.push(Math.max(0, newest - (await explorer.height())))
    await sleep(SAMPLE_MS)
  }
  return lags.sort((a, b) => a - b)
}
