/**
 * Execution of a block in several threads (EXECUTION_THREADS) beside execution in order, in turns: time by the clock and of processors for
 * two threads, what became of the transactions, and what a model of more processors says, which the run with two threads is compared with.
 * Prints and asserts nothing.
 *
 *   node bench/parallel.ts [rounds] [part of a workload's name]
 */
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { rulesAt, seedAfter } from '../src/app/blockContext.ts'
import { type BlockExecution, beginBlockExecution } from '../src/app/blockExecution.ts'
import { type Entry, readEntry } from '../src/app/entry.ts'
import type { ParallelCounts, ParallelExecution } from '../src/app/parallel/parallelExecution.ts'
import { createSpeculator } from '../src/app/parallel/speculator.ts'
import { createTableMemory, STATES, type TableResult, VersionTable } from '../src/app/parallel/versionTable.ts'
import { openChainReader } from '../src/chain/store.ts'
import { chooseEngine } from '../src/evm/engines/createEngine.ts'
import { precompileTable } from '../src/precompiles/registry.ts'
import { threadEntry } from '../src/primitives/location.ts'
import { Journal } from '../src/state/journal.ts'
import { StateStore } from '../src/state/store.ts'
import { Database } from '../src/storage/database.ts'
import { connect } from '../src/threads/port.ts'
import { createGate, openGate } from '../src/threads/sharedMemory.ts'
import { spawnThread } from '../src/threads/spawn.ts'
import { connectSpeculators, startSpeculators } from '../src/threads/speculators.ts'
import { openThreadEngine } from '../src/threads/threadEngine.ts'
import { createTestChain, GENESIS_TIME_MS, WALLET } from '../test/unit/app/testChain.ts'
import { type Costs, modelledTime } from './parallel/model.ts'
import { ACCOUNTS, createWorkloads, type Workload } from './parallel/workloads.ts'

const [rounds = 40, part = ''] = [Number(process.argv[2] ?? 40), process.argv[3]]
const THREADS = 2
const MODELLED = [2, 4, 8, 16]
const SETUP_BLOCK = 250
const FUNDS = 10n ** 22n
const PRECOMPILE_GAS = 2_000_000n

setFlagsFromString('--expose-gc')
const { setup, workloads } = createWorkloads()
const { chain, location, executor, produce } = await createTestChain({
  blockGasLimit: 1_000_000_000n,
  fundedAccounts: ACCOUNTS.map(({ address }) => ({ address, balanceAcoin: FUNDS })),
})
for (let at = 0; at < setup.length; at += SETUP_BLOCK) {
  const { block } = await produce(setup.slice(at, at + SETUP_BLOCK))
  if (block.txs.length < Math.min(SETUP_BLOCK, setup.length - at)) throw new Error('the setup does not fit')
}
await executor.close()

const database = await Database.open(location)
const state = new StateStore(database)
const reader = openChainReader(database)
const choice = await chooseEngine('wasm')
const engine = await openThreadEngine(choice)
const precompiles = precompileTable(chain.registeredPrecompiles)
const parent = reader.header(reader.headHeight)!
const height = parent.number + 1
const timeMs = GENESIS_TIME_MS + height * chain.blockIntervalMs
const parentHash = reader.hash(parent.number)!
const seed = seedAfter({ parent, parentHash, parentConsensusHash: parentHash, timeMs, miner: WALLET }, chain)
const rules = rulesAt(chain, height)

const databaseGate = createGate()
const { threads, links } = startSpeculators(
  THREADS,
  { location, databaseGate, chain, engine: choice },
  (role, index, data, transfer) => {
    const thread = spawnThread(`${role}-${index}`, threadEntry(role), data, transfer)
    return { thread, remote: connect(thread.control) }
  },
)
let counts: ParallelCounts = { adopted: 0, conflicts: 0, alone: 0 }
const parallel = connectSpeculators(links, {
  observe: (newest) => {
    counts = newest
  },
  onEnd: () => {
    throw new Error('a thread has ended')
  },
})
openGate(databaseGate)
await Promise.all(threads.map(({ remote }) => remote.metrics()))

function begin(withParallel: ParallelExecution | undefined): Promise<BlockExecution> {
  return beginBlockExecution({
    world: new Journal(state.reader()),
    seed,
    timeMs,
    rules,
    engine,
    precompiles,
    precompileGasLimit: PRECOMPILE_GAS,
    reader,
    hooks: { begin: () => ({ events: [] }), end: () => ({ value: [], events: [] }) } as never,
    start: {} as never,
    parallel: withParallel,
  })
}

/** Milliseconds of this thread's processor: others on the machine change them least. */
function ownMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

interface Measured {
  readonly wallMs: number
  readonly ownMs: number
  readonly processorMs: number
  readonly execution: BlockExecution
}

async function execute(entries: readonly Entry[], withParallel: ParallelExecution | undefined): Promise<Measured> {
  const execution = await begin(withParallel)
  const used = process.cpuUsage()
  const [sinceMs, sinceOwnMs] = [performance.now(), ownMs()]
  execution.announce(entries)
  for (const entry of entries) await execution.apply(entry)
  const wallMs = performance.now() - sinceMs
  const { user, system } = process.cpuUsage(used)
  execution.end()
  return { wallMs, ownMs: ownMs() - sinceOwnMs, processorMs: (user + system) / 1_000, execution }
}

const table = new VersionTable(createTableMemory(1), 0)

/** The costs of one transaction, all in this thread: of speculations in order, and of their adoption. */
async function measureParts(
  entries: readonly Entry[],
): Promise<{ readonly speculation: number; readonly adoption: number }> {
  table.open(1)
  table.clearRegion()
  const execution = await begin(undefined)
  const { context } = execution
  const speculate = createSpeculator(table, {
    state: execution.world.stored,
    block: context,
    rules,
    engine,
    precompiles,
    precompileGas: PRECOMPILE_GAS,
    collectsParties: false,
  })
  const beganMs = ownMs()
  for (const [index, entry] of entries.entries()) if ('transaction' in entry) await speculate(index, entry)
  const speculatedMs = ownMs()
  const known: ParallelExecution = {
    begin: () => ({
      counts: { adopted: 0, conflicts: 0, alone: 0 },
      offer: () => undefined,
      take: async (entry): Promise<TableResult | undefined> => {
        const index = entries.indexOf(entry, taken)
        taken = index
        if (table.state(index) !== STATES.done) return undefined
        return table.result(index)
      },
      conflict: () => undefined,
      executed: () => undefined,
      close: () => undefined,
    }),
  }
  let taken = 0
  const second = await begin(known)
  const adoptingMs = ownMs()
  for (const entry of entries) await second.apply(entry)
  const adoptedMs = ownMs()
  second.end()
  return {
    speculation: (speculatedMs - beganMs) / entries.length,
    adoption: (adoptedMs - adoptingMs) / entries.length,
  }
}

const lowest = (values: readonly number[]): number => Math.min(...values)

async function compare({ name, raws }: Workload): Promise<void> {
  const entries = raws.map((raw) => readEntry(raw, chain))
  const serial: Measured[] = []
  const several: Measured[] = []
  const parts: Awaited<ReturnType<typeof measureParts>>[] = []
  let right: ParallelCounts = counts
  for (let round = 0; round < rounds; round++) {
    serial.push(await execute(entries, undefined))
    several.push(await execute(entries, parallel))
    if (lowest(several.map(({ wallMs }) => wallMs)) === several.at(-1)!.wallMs) right = counts
    parts.push(await measureParts(entries))
  }
  const status = serial[0]!.execution.results.filter(({ kind }) => kind !== 'evm').length
  const failed = serial[0]!.execution.results.filter(
    (result) => result.kind === 'evm' && result.receipt.status === 0,
  ).length
  if (status + failed > 0) throw new Error(`${name}: ${status} did not start, ${failed} failed`)
  const best = (of: readonly Measured[]) => ({
    wall: lowest(of.map(({ wallMs }) => wallMs)),
    own: lowest(of.map(({ ownMs: own }) => own)),
    processor: lowest(of.map(({ processorMs }) => processorMs)),
  })
  const [one, two] = [best(serial), best(several)]
  const offered = right.adopted + right.conflicts + right.alone
  const guessed = right.adopted + right.conflicts
  /** of the guesses; all where none was made, because the machine had no processor for the other thread */
  const share = guessed === 0 ? 1 : right.adopted / guessed
  const costs: Costs = {
    serial: one.own / raws.length,
    speculation: lowest(parts.map(({ speculation }) => speculation)),
    adoption: lowest(parts.map(({ adoption }) => adoption)),
    isAdopted: raws.map((_, index) => Math.floor((index + 1) * share) > Math.floor(index * share)),
  }
  const us = (milliseconds: number): string => (milliseconds * 1_000).toFixed(1)
  console.log(`${name}: ${raws.length} transactions`)
  console.log(
    `  µs of a processor each: in order ${us(costs.serial)}, before its turn ${us(costs.speculation)}, adoption ${us(costs.adoption)}`,
  )
  console.log(
    `  in order ${one.wall.toFixed(1)} ms (processor ${one.processor.toFixed(1)}); ${THREADS} threads ${two.wall.toFixed(1)} ms (processor ${two.processor.toFixed(1)}): ${(one.wall / two.wall).toFixed(2)} times as fast`,
  )
  console.log(`  adopted ${right.adopted}, conflicts ${right.conflicts}, alone ${right.alone}`)
  if (offered === 0) return
  const modelled = MODELLED.map((count) => `${count}: ${(one.own / modelledTime(costs, count)).toFixed(2)}`)
  console.log(`  the model, times as fast by threads: ${modelled.join(', ')}`)
}

for (const workload of workloads) if (workload.name.includes(part)) await compare(workload)

parallel.close()
await Promise.all(threads.map(({ remote }) => remote.close()))
await Promise.all(threads.map(({ thread }) => thread.stop()))
await state.close()
await database.close()
rmSync(dirname(location), { recursive: true })
