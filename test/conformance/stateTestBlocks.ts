import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { SignedTransaction } from '../../src/chain/block/transaction.ts'
import type { Engine } from '../../src/evm/engine.ts'
import type { BlockSeed } from '../../src/execution/blockContext.ts'
import { type BlockExecution, beginBlockExecution } from '../../src/execution/blockExecution.ts'
import { MODULE_HOOKS } from '../../src/execution/blockHooks.ts'
import {
  createParallelExecution,
  type Offer,
  type ParallelCounts,
  type ParallelExecution,
} from '../../src/execution/parallel/parallelExecution.ts'
import { createTableMemory, type TableMemory } from '../../src/execution/parallel/versionTable.ts'
import { setSupply } from '../../src/modules/bank/ledger.ts'
import { bigIntToBytes, bytesToHex, hexToBytes, padLeft } from '../../src/primitives/bytes.ts'
import { type Hash, keccak256 } from '../../src/primitives/hash.ts'
import { privateToPublicKey, publicKeyToAddress } from '../../src/primitives/secp256k1.ts'
import { Journal } from '../../src/state/journal.ts'
import { signEvmTransaction } from '../signEvmTransaction.ts'
import { CHAIN_ID, readBlock, readPreState, unsignedTransaction } from './runStateTest.ts'
import type { StateTest, StateTestCase } from './stateTestCases.ts'

type PreState = StateTest['pre']

/** What a speculator begins with. */
export interface StateTestSpeculatorData {
  readonly memory: TableMemory
  readonly index: number
}

/** To a speculator: the state of the blocks that follow, or an offer of entries of one. */
export type SpeculatorMessage = { readonly pre: PreState } | { readonly offer: Offer }

/** Transactions of one block, at most; each expectation of a test gives one of each sender. */
const MOST_TRANSACTIONS = 36
const LEAST_TRANSACTIONS = 8
/** So that no test takes seconds, and some transactions run out of it. */
const MOST_GAS = 1_000_000n
const BLOCK_GAS = 200_000_000n
/** Some blocks come upon it. */
const PRECOMPILE_GAS = 1_000_000n
const FUNDS = '0xffffffffffffffffffffffff'
/** Others that send what the test's sender does. */
const OTHER_KEYS = [1n, 2n].map((key) => bigIntToBytes(key + 0xabc0n, 32))
/** How long the other threads may get ahead, in turns: blocks are executed beside them in different ways. */
const HEAD_STARTS_MS = [0, 1, 3]

/** The hash of a block that no test has. */
export function blockHashOf(number: number): Hash {
  return keccak256(new TextEncoder().encode(String(number)))
}

/** Executes blocks of state tests' transactions by several threads, and compares them with those that are executed in order. */
export interface StateTestBlocks {
  /** All of one test and fork. @returns what differs, or undefined */
  compare(cases: readonly StateTestCase[]): Promise<string | undefined>
  readonly counts: ParallelCounts
  close(): Promise<void>
}

/** @param executionThreads two or more */
export async function startStateTestBlocks(executionThreads: number, engine: Engine): Promise<StateTestBlocks> {
  const memory = createTableMemory(executionThreads - 1)
  const workers = Array.from({ length: executionThreads - 1 }, (_, index) => {
    const data: StateTestSpeculatorData = { memory, index }
    return new Worker(new URL('./stateTestSpeculator.ts', import.meta.url), { workerData: data })
  })
  await Promise.all(workers.map((worker) => once(worker, 'message')))
  const send = (message: SpeculatorMessage): void => {
    for (const worker of workers) worker.postMessage(message)
  }
  const counts: ParallelCounts = { adopted: 0, conflicts: 0, alone: 0 }
  const parallel = createParallelExecution({
    memory,
    send: (offer) => send({ offer }),
    areAlive: () => true,
    pause: () => setTimeout(1),
    observe: ({ adopted, conflicts, alone }) => {
      counts.adopted += adopted
      counts.conflicts += conflicts
      counts.alone += alone
    },
    now: () => performance.now(),
    speculators: workers.length,
    isForced: true,
  })
  let blocks = 0
  return {
    counts,
    compare: async (cases) => {
      const [first] = cases
      const block = blockOf(cases)
      if (first === undefined || block.entries.length === 0) return undefined
      send({ pre: block.pre })
      const serial = await execute(block, first, engine)
      const headStartMs = HEAD_STARTS_MS[blocks++ % HEAD_STARTS_MS.length]!
      const other = await execute(block, first, engine, { parallel, headStartMs })
      return Object.keys(serial).find((key) => !isDeepStrictEqual(other[key], serial[key]))
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.terminate()))
    },
  }
}

interface Block {
  readonly pre: PreState
  readonly entries: readonly SignedTransaction[]
}

/** What the test sends and the same of others, so often that it is a block; expectations of transactions that cannot start are left out. */
function blockOf(cases: readonly StateTestCase[]): Block {
  const pre: Record<string, PreState[string]> = {}
  const entries: SignedTransaction[] = []
  const distinct = cases.filter(({ post }) => post.expectException === undefined)
  if (distinct.length === 0) return { pre, entries }
  const { test } = distinct[0]!
  Object.assign(pre, test.pre)
  const senders = [hexToBytes(test.transaction.secretKey), ...OTHER_KEYS].map((key) => {
    const sender = publicKeyToAddress(privateToPublicKey(key))
    const hex = bytesToHex(sender)
    pre[hex] ??= { balance: FUNDS, nonce: '0x0', code: '0x', storage: {} }
    return { key, sender, nonce: BigInt(pre[hex].nonce) }
  })
  const count = Math.min(MOST_TRANSACTIONS, Math.max(LEAST_TRANSACTIONS, distinct.length * senders.length))
  for (let i = 0; i < count; i++) {
    const from = senders[i % senders.length]!
    const { post } = distinct[Math.floor(i / senders.length) % distinct.length]!
    const unsigned = unsignedTransaction(test.transaction, post)
    const gasLimit = unsigned.gasLimit < MOST_GAS ? unsigned.gasLimit : MOST_GAS
    const transaction = signEvmTransaction({ ...unsigned, nonce: from.nonce++, gasLimit }, from.key)
    entries.push({ transaction, sender: from.sender })
  }
  return { pre, entries }
}

interface Beside {
  readonly parallel: ParallelExecution
  readonly headStartMs: number
}

/** All that a block has, by names. */
async function execute(
  { pre, entries }: Block,
  { test, fork }: StateTestCase,
  engine: Engine,
  beside?: Beside,
): Promise<Record<string, unknown>> {
  const world = new Journal(readPreState({ pre }))
  const calls = await begin(world, seedOf(test, fork), fork, engine, beside?.parallel)
  calls.announce(entries)
  await setTimeout(beside?.headStartMs ?? 0)
  for (const entry of entries) await calls.apply(entry)
  calls.end()
  return {
    results: calls.results,
    precompileGas: calls.precompileGas(),
    calls: calls.calls(),
    header: calls.header(new Uint8Array(32)),
    changes: world.changes(),
  }
}

function begin(
  world: Journal,
  seed: BlockSeed,
  fork: StateTestCase['fork'],
  engine: Engine,
  parallel: ParallelExecution | undefined,
): Promise<BlockExecution> {
  return beginBlockExecution({
    world,
    seed,
    timeMs: seed.timestamp * 1_000,
    rules: { fork, chainId: CHAIN_ID },
    engine,
    precompiles: new Map(),
    precompileGasLimit: PRECOMPILE_GAS,
    reader: { hash: blockHashOf },
    hooks: {
      ...MODULE_HOOKS,
      // Coins that contracts destroy are subtracted from it.
      begin: () => setSupply(world, 1n << 255n),
      end: () => [],
    },
    start: {} as never,
    isCallIndexed: true,
    parallel,
  })
}

function seedOf(test: StateTest, fork: StateTestCase['fork']): BlockSeed {
  const block = readBlock(test, fork)
  return {
    parentHash: blockHashOf(block.number - 1),
    number: block.number,
    timestamp: block.timestamp,
    miner: block.coinbase,
    gasLimit: BLOCK_GAS,
    baseFeePerGas: block.baseFeePerGas,
    mixHash: padLeft(block.prevRandao, 32),
    parentBeaconBlockRoot: new Uint8Array(32),
    difficulty: block.difficulty,
    excessBlobGas: 0n,
  }
}
