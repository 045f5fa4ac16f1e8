import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { type LocalNetwork, makeNetwork, type NetworkNode, waitForHeight } from '../../test/e2e/network/localNetwork.ts'
import { proposeUnbounded, unboundedLauncher, unboundedVariables } from '../../test/e2e/network/unboundedApplication.ts'
import { nextBlock, untilIncluded } from '../load/inBlocks.ts'
import { call } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import { percentile } from '../measure/percentile.ts'
import { threadTimes } from '../measure/processUsage.ts'
import type { Report, Row } from '../report.ts'
import { benchAccounts, noncesOf } from './accounts.ts'
import { gasOfBlocks, MOST_TRANSACTION_GAS, place } from './worstBlocks.ts'

interface WorstNetworkOptions {
  readonly validators: number
  /** gas of a block */
  readonly blockGas: number
  /** transactions of each program that are sent from outside */
  readonly transactions: number
  /** names of programs of the worst-case search */
  readonly programs: readonly string[]
}

const FUNDS_ACOIN = 10n ** 24n
const SENDERS = 12
const WARM_UP_BLOCKS = 20
const EMPTY_BLOCKS = 20
/** Heights that are measured after the block of a proposer without a time budget. */
const HEIGHTS_AFTER = 12
/** A height is slow that takes longer. */
const SLOW_MS = 600
const TURN_TIMEOUT_MS = 120_000

/**
 * The costliest contracts in a network of validators on this machine: as transactions from outside, which honest proposers put into
 * blocks; then as one block full of them that a Byzantine proposer has prepared before its turn, without a time budget.
 */
export async function measureWorstNetwork(options: WorstNetworkOptions, report: Report): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-unbounded-'))
  const senders = benchAccounts(SENDERS)
  const network = await makeNetwork({
    validators: options.validators,
    environment: { RPC_THREADS: '1', VIEW_THREADS: '1', RPC_TX_FEE_CAP: '0', ...unboundedVariables(directory) },
    fundedAccounts: senders.map(({ address }) => ({ address, balanceAcoin: FUNDS_ACOIN })),
    changeGenesis: (genesis) => {
      genesis.consensus.params.block.max_gas = String(options.blockGas)
    },
    launcherOf: (index) => (index === options.validators - 1 ? unboundedLauncher() : undefined),
  })
  try {
    await network.start()
    await waitForHeight(network.seed, WARM_UP_BLOCKS)
    for (const name of options.programs) {
      const to = await place({ url: network.seed.rpcUrl }, name)
      report.add('coind', await emptyBlocks(network, name))
      report.add('coind', await fromOutside(network, senders, { ...options, name, to }))
      report.add('coind', await fromByzantine(network, senders, { ...options, name, to, directory }))
    }
  } finally {
    await network.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Load {
  readonly name: string
  readonly to: Address
  readonly blockGas: number
}

/** Measures the blocks before the load, which show what else the machine does. */
async function emptyBlocks({ seed }: LocalNetwork, name: string): Promise<Row[]> {
  const first = await seed.height()
  await waitForHeight(seed, first + EMPTY_BLOCKS + 1)
  const heights = await heightsOf(seed, first, first + EMPTY_BLOCKS - 1)
  const intervals = heights.map(({ intervalMs }) => intervalMs).toSorted((a, b) => a - b)
  return [50, 99].map((percent) => ({
    name: `empty blocks before ${name}: interval p${percent}`,
    unit: 'ms',
    value: percentile(intervals, percent),
  }))
}

const INDEXES_OF_TRANSACTION = 10_000
/** First slot or account that the next transaction uses: none uses those of another. */
let nextIndex = 1

function freshIndexes(): Uint8Array {
  const data = new Uint8Array(32)
  new DataView(data.buffer).setUint32(28, nextIndex)
  nextIndex += INDEXES_OF_TRANSACTION
  return data
}

/** @param nonces of the senders; they are counted up */
function signed(senders: readonly Account[], nonces: number[], count: number, { to, blockGas }: Load): string[] {
  const inBlock = Math.ceil(blockGas / MOST_TRANSACTION_GAS)
  const gasLimit = BigInt(Math.floor(blockGas / inBlock))
  return Array.from({ length: count }, (_, index) => {
    const sender = index % senders.length
    const fields = {
      nonce: BigInt(nonces[sender]!++),
      to,
      data: freshIndexes(),
      maxFeePerGas: 500n * GWEI,
      gasLimit,
    }
    return sign(senders[sender]!, fields).raw
  })
}

async function fromOutside(
  network: LocalNetwork,
  senders: readonly Account[],
  load: Load & { readonly transactions: number },
): Promise<Row[]> {
  const { name, transactions } = load
  const { seed, nodes } = network
  const url = seed.rpcUrl
  const nonces = await noncesOf({ url }, senders)
  const raws = signed(senders, nonces, transactions, load)
  const first = await nextBlock(url)
  const before = cpuMs(network)
  await Promise.all(raws.map((raw) => call(url, 'eth_sendRawTransaction', [raw])))
  const last = await untilIncluded(url, first, transactions)
  const spentMs = cpuMs(network) - before
  await waitForHeight(seed, last + 2)
  const heights = await heightsOf(seed, first, last + 1)
  const intervals = heights.map(({ intervalMs }) => intervalMs).toSorted((a, b) => a - b)
  const gas = await gasOfBlocks({ url }, first, last)
  const budgets = await Promise.all(nodes.map(budgetMs))
  const label = `worst from outside, ${name}`
  return [
    ...[50, 99].map((percent) => ({
      name: `${label}: interval p${percent}`,
      unit: 'ms',
      value: percentile(intervals, percent),
      note: `${intervals.length} blocks`,
    })),
    { name: `${label}: interval max`, unit: 'ms', value: intervals.at(-1)! },
    {
      name: `${label}: blocks decided after round 0`,
      unit: 'blocks',
      value: heights.filter(({ round }) => round > 0).length,
    },
    {
      name: `${label}: largest block`,
      unit: 'Mgas',
      value: Math.max(...gas) / 1e6,
      note: `Mgas/ms to the next: ${gas.map((one, index) => `${Math.round(one / 1e6)}/${heights[index]!.intervalMs}`).join(' ')}`,
    },
    { name: `${label}: budget for building, lowest at the end`, unit: 'ms', value: Math.min(...budgets) },
    {
      name: `${label}: processor time, all nodes`,
      unit: 'ms/Mgas',
      value: spentMs / (gas.reduce((sum, one) => sum + one, 0) / 1e6),
    },
  ]
}

async function fromByzantine(
  network: LocalNetwork,
  senders: readonly Account[],
  load: Load & { readonly directory: string },
): Promise<Row[]> {
  const { name, directory, blockGas } = load
  const { seed } = network
  const url = seed.rpcUrl
  const count = Math.ceil(blockGas / MOST_TRANSACTION_GAS)
  const raws = signed(senders, await noncesOf({ url }, senders), count, load)
  const turn = proposeUnbounded(
    directory,
    raws.map((raw) => hexToBytes(raw as `0x${string}`)),
  )
  const late = sleep(TURN_TIMEOUT_MS, undefined, { ref: false })
  const height = await Promise.race([turn, late])
  if (height === undefined) throw new Error('the Byzantine validator had no turn')
  await Promise.all(network.nodes.map((node) => waitForHeight(node, height + HEIGHTS_AFTER + 1, TURN_TIMEOUT_MS)))
  // A block has the time of the round that decided it: what came before is between the block before and this one.
  const heights = await heightsOf(seed, height - 1, height + HEIGHTS_AFTER - 1)
  const [gas = 0] = await gasOfBlocks({ url }, height, height)
  const later = heights.slice(2).map(({ intervalMs }) => intervalMs)
  const label = `worst of a Byzantine proposer, ${name}`
  return [
    {
      name: `${label}: gas of the decided block`,
      unit: 'Mgas',
      value: gas / 1e6,
      note: gas > 0 ? 'voted on' : 'refused',
    },
    {
      name: `${label}: from the block before to this one`,
      unit: 'ms',
      value: heights[0]!.intervalMs,
      note: `round ${heights[1]!.round}`,
    },
    {
      name: `${label}: to the next one`,
      unit: 'ms',
      value: heights[1]!.intervalMs,
      note: `round ${heights[2]!.round}`,
    },
    {
      name: `${label}: slow heights`,
      unit: `of ${heights.length}`,
      value: heights.filter(({ intervalMs }) => intervalMs > SLOW_MS).length,
    },
    {
      name: `${label}: mean of those after these two`,
      unit: 'ms',
      value: later.reduce((sum, ms) => sum + ms, 0) / later.length,
    },
  ]
}

interface CommitAnswer {
  readonly signed_header: {
    readonly header: { readonly time: string }
    readonly commit: { readonly round: number }
  }
}

/** Returns the time from each block to the next, and the round that decided the block. */
async function heightsOf(node: NetworkNode, from: number, to: number) {
  const times: { readonly atMs: number; readonly round: number }[] = []
  for (let height = from; height <= to + 1; height++) {
    const { signed_header } = await node.comet<CommitAnswer>(`commit?height=${height}`)
    times.push({ atMs: Date.parse(signed_header.header.time), round: signed_header.commit.round })
  }
  return times.slice(0, -1).map(({ atMs, round }, index) => ({ intervalMs: times[index + 1]!.atMs - atMs, round }))
}

function cpuMs({ nodes }: LocalNetwork): number {
  return nodes.reduce((sum, node) => {
    const times = threadTimes(node.running.process.pid!)
    return sum + [...times.values()].reduce((total, ms) => total + ms, 0)
  }, 0)
}

async function budgetMs(node: NetworkNode): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${node.variables.METRICS_PORT}/metrics`)).text()
  return Number(/^coind_build_budget_seconds(?:\{[^}]*\})? (\S+)$/m.exec(metrics)?.[1]) * 1_000
}
