/**
 * Proves that an index of the explorer is equal to its node: a chain takes random transactions of all kinds, of both kinds of accounts, while a
 * validator is slashed for signing nothing, and explorers follow it, over an SQLite file and, where PostgreSQL is installed, over its
 * database. Then every balance, token balance, holder and delegation is compared with what the node says of the same block. With --kill
 * explorers, the node and the database are killed at random instants meanwhile, and the indexes are also compared, row by row, with
 * one that was made at the end without kills.
 *
 *   node test/indexProof/main.ts [--transactions 200000] [--seed 1] [--kill]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Hex } from 'viem'
import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import { writeCopyMark } from '../../src/datadir/copyMark.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN } from '../e2e/devChain.ts'
import { getJson, startNativeChain } from '../e2e/native/nativeChain.ts'
import { rpc } from '../e2e/rpc.ts'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { postgresPrograms, startPostgres } from '../postgres/startPostgres.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { type Comparison, compareIndex } from './compareIndex.ts'
import { differencesOfIndexes } from './differences.ts'
import { createEvmTraffic } from './evmTraffic.ts'
import { type ExplorerProcess, startExplorerProcess } from './explorerProcess.ts'
import { createNativeTraffic } from './nativeTraffic.ts'

const WORKERS = 64
/** Transactions of an account that are under way at a time. */
const EACH = 16
/** Blocks after the last transaction: rewards, unbondings, ends of votes. */
const QUIET_BLOCKS = 10
const MAX_UP_MS = 6_000
const POLL_MS = 200

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '200000' },
    seed: { type: 'string', default: '1' },
    kill: { type: 'boolean', default: false },
  },
})
const [transactions, seed] = [Number(values.transactions), Number(values.seed)]
const SETTINGS = { NETWORK: 'testnet', GENESIS_WALLET: ACCOUNTS[0]!.address, MONIKER: 'first', PRUNING: 'archive' }

const directory = mkdtempSync(join(tmpdir(), 'coind-index-proof-'))
const first = await startNativeChain((state) => {
  state.staking.params.unbonding_time = '20s'
  Object.assign(state.slashing.params, { signed_blocks_window: '60', downtime_jail_duration: '5s' })
  Object.assign(state.gov.params, { voting_period: '15s', max_deposit_period: '15s', expedited_voting_period: '10s' })
  for (const account of ACCOUNTS.slice(1)) fund(state, account.address)
}, SETTINGS)
let node: TestNode = first
const programs = postgresPrograms()
const postgres = programs === undefined ? undefined : await startPostgres(programs)
if (postgres === undefined)
  console.log('PostgreSQL is not installed: the index over it is not proved (apt-get install postgresql)')
const databases = [
  { name: 'sqlite', database: join(directory, 'index.sqlite') },
  ...(postgres === undefined ? [] : [{ name: 'postgres', database: postgres.url }]),
]
const explorers = new Map<string, ExplorerProcess>()
const stop = new AbortController()
const problems: string[] = []
try {
  for (const { name, database } of databases) {
    explorers.set(name, await startExplorerProcess({ nodeUrl: node.url, home: directory, database }))
  }
  const native = await createNativeTraffic(() => node.url, createRandom(seed))
  const { validators } = await getJson(node, '/cosmos/staking/v1beta1/validators')
  const operators = (validators as { operator_address: string }[]).map((validator) => validator.operator_address)
  const evm = await createEvmTraffic(
    () => node.url,
    createRandom(seed + 1),
    WORKERS,
    () => operators,
  )
  const running = [native.run(stop.signal), ...(values.kill ? [killAtRandom(createRandom(seed + 2), stop.signal)] : [])]
  const startedMs = performance.now()
  for (let round = 0; round * WORKERS * EACH < transactions; round++) {
    await evm.round(EACH)
    if (round % 10 === 0) tell(startedMs, (round + 1) * WORKERS * EACH)
  }
  stop.abort()
  await Promise.all(running)
  await evm.round(1)
  await untilHeight(Number(await rpc<Hex>(node.url, 'eth_blockNumber')) + QUIET_BLOCKS)
  node = await standStill(node)
  const height = Number(await rpc<Hex>(node.url, 'eth_blockNumber'))
  for (const { url } of explorers.values()) await untilIndexed(url, height)
  tell(startedMs, transactions)
  for (const [type, { sent, succeeded }] of [...native.counts].toSorted()) {
    console.log(`  ${type.padEnd(60)} ${String(sent).padStart(6)}, of which ${succeeded} succeeded`)
    if (succeeded === 0) console.log('    none of these succeeded')
  }
  const slashed = await getJson(node, '/cosmos/slashing/v1beta1/signing_infos')
  console.log(
    `  validators that were ever jailed: ${(slashed.info as { jailed_until: string }[]).filter(({ jailed_until }) => !jailed_until.startsWith('1970')).length}`,
  )
  for (const { name, database } of databases) {
    report(name, await compareIndex(database, node.url, evm))
  }
  if (values.kill) {
    const again = join(directory, 'again.sqlite')
    const explorer = await startExplorerProcess({ nodeUrl: node.url, home: directory, database: again })
    await untilIndexed(explorer.url, height)
    await explorer.stop()
    for (const { name, database } of databases) {
      report(`${name}, against an index made without kills`, await differencesOfIndexes(again, database))
    }
  }
} finally {
  stop.abort()
  for (const explorer of explorers.values()) void explorer.kill()
  if (node !== first) await node.kill('SIGKILL')
  await first.stop()
  postgres?.stop()
  rmSync(directory, { recursive: true, force: true })
}
console.log(`problems: ${problems.length === 0 ? 'none' : ''}`)
for (const problem of problems) console.log(`  ${problem}`)
process.exitCode = problems.length === 0 ? 0 : 1

/** A million COIN more, for an account that has none. */
function fund({ bank }: Genesis['app_state'], address: Hex): void {
  const amount = 1_000_000n * COIN
  bank.balances.push({ address: toBech32(hexToBytes(address)), coins: [{ denom: 'acoin', amount: String(amount) }] })
  bank.balances.sort((a, b) => (a.address < b.address ? -1 : 1))
  bank.supply[0]!.amount = String(BigInt(bank.supply[0]!.amount) + amount)
}

function tell(sinceMs: number, sent: number): void {
  const seconds = (performance.now() - sinceMs) / 1000
  console.log(`${sent} EVM transactions in ${seconds.toFixed(0)} s`)
}

function report(name: string, comparisons: readonly Comparison[]): void {
  console.log(name)
  for (const { name: what, compared, differences } of comparisons) {
    console.log(`  ${what.padEnd(40)} ${String(compared).padStart(9)} compared, ${differences.length} differ`)
    problems.push(...differences.map((difference) => `${name}: ${difference}`))
  }
}

async function untilHeight(height: number): Promise<void> {
  while (Number(await rpc<Hex>(node.url, 'eth_blockNumber')) < height) await sleep(POLL_MS)
}

/** The same node as a copy of itself, whose validator signs nothing: it serves its chain, which goes no further. */
async function standStill({ homedir, rpcPort, kill }: TestNode): Promise<TestNode> {
  await kill('SIGTERM')
  writeCopyMark(dataPaths(homedir).copyMark, 1)
  return startNode({ command: 'start', homedir, rpcPort, environment: SETTINGS })
}

async function untilIndexed(url: string, height: number): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}api/v1/status`).catch(() => undefined)
    const status = (await response?.json()) as { readonly height?: number | null } | undefined
    if ((status?.height ?? 0) >= height) return
    await sleep(POLL_MS)
  }
}

/** Kills explorers, every fourth time the node too, every fifth the database. */
async function killAtRandom(random: (below: number) => number, ended: AbortSignal): Promise<void> {
  let kills = 0
  for (; !ended.aborted; kills++) {
    await sleep(1_000 + random(MAX_UP_MS))
    const { name, database } = databases[random(databases.length)]!
    await explorers.get(name)!.kill()
    if (kills % 4 === 3) {
      await node.kill('SIGKILL')
      node = await startNode({ command: 'start', homedir: node.homedir, rpcPort: node.rpcPort, environment: SETTINGS })
    }
    if (kills % 5 === 4) postgres?.crash()
    explorers.set(name, await startExplorerProcess({ nodeUrl: node.url, home: directory, database }))
  }
  console.log(`${kills} kills`)
}
