import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { ChainConfig } from '../../../../src/chain/genesis/chainConfig.ts'
import { chooseEngine } from '../../../../src/evm/engines/createEngine.ts'
import type {
  ParallelBlock,
  ParallelCounts,
  ParallelExecution,
} from '../../../../src/execution/parallel/parallelExecution.ts'
import { connectSpeculators, startSpeculators } from '../../../../src/node/roles/executor/speculators.ts'
import { answered, spawnThread, type Thread } from '../../../../src/node/start/spawn.ts'
import { connect } from '../../../../src/node/wire/port.ts'
import { createGate, openGate } from '../../../../src/node/wire/sharedMemory.ts'
import { threadEntry } from '../../../../src/primitives/location.ts'

export interface TestSpeculators {
  readonly execution: ParallelExecution
  readonly threads: readonly Thread[]
  /** To be called once this thread has opened the database; resolves when the others have opened it. */
  ready(): Promise<void>
  /** To be called before this thread closes it. */
  close(): Promise<void>
}

/** Blocks of tests are short: without it the other threads would hardly come to anything. */
const HEAD_START_MS = 20

function withHeadStart(block: ParallelBlock | undefined): ParallelBlock | undefined {
  if (block === undefined) return undefined
  let isOffered = false
  return {
    ...block,
    offer: (entries) => {
      isOffered = true
      return block.offer(entries)
    },
    take: async (entry) => {
      if (isOffered) await setTimeout(HEAD_START_MS)
      isOffered = false
      return block.take(entry)
    },
  }
}

/** The threads that execute beside this one, as a node has them. */
export async function startTestSpeculators(
  executionThreads: number,
  {
    location,
    chain,
    observe = () => undefined,
  }: {
    readonly location: string
    readonly chain: ChainConfig
    readonly observe?: ((counts: ParallelCounts) => void) | undefined
  },
): Promise<TestSpeculators> {
  // As a node does before it has threads.
  setFlagsFromString('--expose-gc')
  const databaseGate = createGate()
  const engine = await chooseEngine('wasm')
  const { threads, links } = startSpeculators(
    executionThreads,
    { location, databaseGate, chain, engine },
    (role, index, data, transfer) => {
      const thread = spawnThread(`${role}-${index}`, threadEntry(role), data, transfer)
      return { thread, remote: connect(thread.control) }
    },
  )
  const connected = connectSpeculators(links, { observe, onEnd: () => undefined, isForced: true })
  return {
    execution: { begin: (input) => withHeadStart(connected.begin(input)) },
    threads: threads.map(({ thread }) => thread),
    ready: async () => {
      openGate(databaseGate)
      await Promise.all(threads.map(({ thread, remote }) => answered(thread, remote.metrics())))
    },
    close: async () => {
      connected.close()
      // One that a test has ended cannot answer.
      await Promise.allSettled(threads.map(({ remote }) => remote.close()))
      await Promise.all(threads.map(({ thread }) => thread.stop()))
    },
  }
}
