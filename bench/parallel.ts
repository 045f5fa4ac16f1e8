/**
 * Compares execution of a block in several threads (EXECUTION_THREADS) with execution in order, in turns. It prints time by the
 * clock (medians) and of processors (means) for two threads: once where everything possible is executed before its turn, and
 * once as a node does it, which checks whether that pays. It also prints the outcomes of the transactions, and the prediction of
 * a model for more processors, which the run with two threads calibrates. It asserts nothing.
 *
 *   node bench/parallel.ts [rounds] [part of a workload's name]
 */

import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { openChainReader } from '../src/chain/store/chainReader.ts'
import { chooseEngine } from '../src/evm/engines/createEngine.ts'
import { rulesAt, seedAfter } from '../src/execution/blockContext.ts'
import { type BlockExecution, beginBlockExecution } from '../src/execution/blockExecution.ts'
import { MODULE_HOOKS } from '../src/execution/blockHooks.ts'
import { type Entry, readEntry } from '../src/execution/entry.ts'
import type { ParallelCounts, ParallelExecution } from '../src/execution/parallel/parallelExecution.ts'
import { createSpeculator } from '../src/execution/parallel/speculator.ts'
import { createTableMemory, STATES, type TableResult, VersionTable } from '../src/execution/parallel/versionTable.ts'
import { createTransactionDecoder } from '../src/modules/tx/transactionDecoder.ts'
import { connectSpeculators, startSpeculators } from '../src/node/roles/executor/speculators.ts'
import { spawnThread } from '../src/node/start/spawn.ts'
import { openThreadEngine } from '../src/node/start/threadEngine.ts'
import { connect } from '../src/node/wire/port.ts'
import { createGate, openGate } from '../src/node/wire/sharedMemory.ts'
import { precompileTable } from '../src/precompiles/registry.ts'
import { threadEntry } from '../src/primitives/location.ts'
import { Journal } from '../src/state/journal.ts'
import { StateStore } from '../src/state/stateStore.ts'
import { Database } from '../src/storage/database.ts'
import { createTestChain, GENESIS_TIME_MS, WALLET } from '../test/support/execution/testChain.ts'
import { type Costs, modelledTime } from './parallel/model.ts'
import { ACCOUNTS, createWorkloads, type Workload } from './parallel/workloads.ts'

const [rounds = 40, part = ''] = [Number(process.argv[2] ?? 40), process.argv[3]]
const THREADS = 2
const MODELLED = [2, 4, 8, 16]
const SETUP_BLOCK = 250
const FUNDS = 10n ** 22n
const PRECOMPILE_GAS = 2_000_000n
/** after each block */
const REST_MS = 2
const WARM_ROUNDS = 5

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
const NO_COUNTS: ParallelCounts = { adopted: 0, conflicts: 0, alone: 0 }
let counts = NO_COUNTS
let isEnding = false
const connected = (isForced: boolean) =>
  connectSpeculators(links, {
    observe: (newest) => {
      counts = newest
    },
    onEnd: () => {
      if (!isEnding) throw new Error('a thread has ended')
    },
    isForced,
  })
/** Executes in parallel what is offered in any case, and what a node would. */
const [always, ifItPays] = [connected(true), connected(false)]
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
    hooks: { ...MODULE_HOOKS, begin: () => undefined, end: () => [] },
    start: {} as never,
    parallel: withParallel,
  })
}

/** Returns the milliseconds of this thread's processor, which other programs change least. */
function ownMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

interface Measured {
  readonly wallMs: number
  readonly ownMs: number
  readonly processorMs: number
  readonly execution: BlockExecution
  readonly counts: ParallelCounts
}

async function execute(entries: readonly Entry[], withParallel: ParallelExecution | undefined): Promise<Measured> {
  counts = NO_COUNTS
  const execution = await begin(withParallel)
  const used = process.cpuUsage()
  const [sinceMs, sinceOwnMs] = [performance.now(), ownMs()]
  execution.announce(entries)
  for (const entry of entries) await execution.apply(entry)
  const wallMs = performance.now() - sinceMs
  execution.end()
  // The others see that the block is over.
  await setTimeout(REST_MS)
  const { user, system } = process.cpuUsage(used)
  return { wallMs, ownMs: ownMs() - sinceOwnMs, processorMs: (user + system) / 1_000, execution, counts }
}

const table = new VersionTable(createTableMemory(1), 0)

/** Measures the costs of one transaction, all in this thread: of speculations in order, and of their adoption. */
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
    now: () => performance.now(),
  })
  const beganMs = ownMs()
  for (const [index, entry] of entries.entries()) if ('transaction' in entry) await speculate(index, entry)
  const speculatedMs = ownMs()
  const known: ParallelExecution = {
    begin: () => ({
      counts: { adopted: 0, conflicts: 0, alone: 0 },
      offer: () => false,
      take: async (entry): Promise<TableResult | undefined> => {
        const index = entries.indexOf(entry, taken)
        taken = index
        if (table.state(index) !== STATES.done) return undefined
        return table.result(index)
      },
      guessed: () => undefined,
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

/** Of processor times, which many systems count in steps of milliseconds. */
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

function midOf(of: readonly Measured[]) {
  return {
    wall: median(of.map(({ wallMs }) => wallMs)),
    processor: mean(of.map(({ processorMs }) => processorMs)),
    adopted: mean(of.map(({ counts: { adopted } }) => adopted)),
    conflicts: mean(of.map(({ counts: { conflicts } }) => conflicts)),
    alone: mean(of.map(({ counts: { alone } }) => alone)),
  }
}

async function compare({ name, raws }: Workload): Promise<void> {
  const entries = raws.map((raw) => readEntry(raw, createTransactionDecoder(chain)))
  const runs = { serial: [] as Measured[], always: [] as Measured[], ifItPays: [] as Measured[] }
  const parts: Awaited<ReturnType<typeof measureParts>>[] = []
  for (let round = -WARM_ROUNDS; round < rounds; round++) {
    const measured = {
      serial: await execute(entries, undefined),
      always: await execute(entries, always),
      ifItPays: await execute(entries, ifItPays),
    }
    const part = await measureParts(entries)
    if (round < 0) continue
    runs.serial.push(measured.serial)
    runs.always.push(measured.always)
    runs.ifItPays.push(measured.ifItPays)
    parts.push(part)
  }
  const results = runs.serial[0]!.execution.results
  const skipped = results.filter(({ kind }) => kind !== 'evm').length
  const failed = results.filter((result) => result.kind === 'evm' && result.receipt.status === 0).length
  if (skipped + failed > 0) throw new Error(`${name}: ${skipped} did not start, ${failed} failed`)
  const [one, forced, chosen] = [midOf(runs.serial), midOf(runs.always), midOf(runs.ifItPays)]
  const guessed = forced.adopted + forced.conflicts
  /** of the guesses; all where none was made, because the machine had no processor for the other thread */
  const share = guessed === 0 ? 1 : forced.adopted / guessed
  const costs: Costs = {
    serial: mean(runs.serial.map(({ ownMs: own }) => own)) / raws.length,
    speculation: mean(parts.map(({ speculation }) => speculation)),
    adoption: mean(parts.map(({ adoption }) => adoption)),
    isRight: raws.map((_, index) => Math.floor((index + 1) * share) > Math.floor(index * share)),
    guessed: Math.min(raws.length, Math.round(guessed + forced.alone)),
  }
  const us = (milliseconds: number): string => (milliseconds * 1_000).toFixed(1)
  const more = ({ processor }: typeof one): string => `${((processor / one.processor - 1) * 100).toFixed(0)} % more`
  const line = (label: string, of: typeof one): string =>
    `  ${label}: ${of.wall.toFixed(1)} ms, ${(one.wall / of.wall).toFixed(2)} times as fast; processors ${of.processor.toFixed(1)} ms, ${more(of)}; adopted ${of.adopted.toFixed(0)}, conflicts ${of.conflicts.toFixed(0)}, alone ${of.alone.toFixed(0)}`
  console.log(`${name}: ${raws.length} transactions`)
  console.log(
    `  µs of a processor each: in order ${us(costs.serial)}, before its turn ${us(costs.speculation)}, adoption ${us(costs.adoption)}`,
  )
  console.log(`  in order: ${one.wall.toFixed(1)} ms; processors ${one.processor.toFixed(1)} ms`)
  console.log(line(`${THREADS} threads, whatever it costs`, forced))
  console.log(line(`${THREADS} threads, as a node`, chosen))
  if (guessed + forced.alone === 0) return
  const serialMs = costs.serial * raws.length
  /** so many times longer than the work that the model counts, compared with a run in order: threads wake, and share caches and memory */
  const loss = Math.max(1, (forced.wall * serialMs) / (one.wall * modelledTime(costs, THREADS)))
  const gains = (factor: number): string =>
    MODELLED.map((count) => `${count}: ${(serialMs / (modelledTime(costs, count) * factor)).toFixed(2)}`).join(', ')
  console.log(`  by counted work, times as fast by threads: ${gains(1)}`)
  console.log(
    `  the same, as much slower than its work as the run with ${THREADS} (${loss.toFixed(2)}): ${gains(loss)}`,
  )
}

for (const workload of workloads) if (workload.name.includes(part)) await compare(workload)

isEnding = true
always.close()
await Promise.all(threads.map(({ remote }) => remote.close()))
await Promise.all(threads.map(({ thread }) => thread.stop()))
await state.close()
await database.close()
rmSync(dirname(location), { recursive: true })
