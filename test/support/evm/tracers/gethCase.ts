import { decodeTransaction } from '../../../../src/chain/block/transaction.ts'
import { recoverSender } from '../../../../src/chain/block/transactionSender.ts'
import type { Engine } from '../../../../src/evm/engine.ts'
import { openScripts } from '../../../../src/evm/tracers/javascript/javaScriptTracer.ts'
import { createStructLogger } from '../../../../src/evm/tracers/structLogger.ts'
import {
  TraceBudget,
  type TraceCollector,
  type TraceContext,
  type TracerConfig,
} from '../../../../src/evm/tracers/traceCollector.ts'
import { isScript, tracerByName } from '../../../../src/evm/tracers/tracerByName.ts'
import { applyTransaction } from '../../../../src/evm/transition.ts'
import { hexToBytes, padLeft, stripZeros } from '../../../../src/primitives/bytes.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../state/memoryReader.ts'

/** Transactions with the traces that geth 1.17.10 gave of them, each from its own state, in block 100 of a chain with ID 1. */
export interface VectorFile {
  readonly tracers: readonly { readonly name: string; readonly tracer: string; readonly config: TracerConfig }[]
  readonly cases: readonly {
    readonly name: string
    readonly alloc: Readonly<Record<string, AllocAccount>>
    readonly raw: string
    readonly traces: Readonly<Record<string, unknown>>
  }[]
}

export type GethCase = VectorFile['cases'][number]

interface AllocAccount {
  readonly balance: string
  readonly nonce?: string
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}

const COINBASE = hexToBytes('0x2adc25665018aa1fe0e6bc666dac8fc2697ff9ba')
const BASE_FEE = 7n

/**
 * geth 1.17 puts `out of gas: ` before whatever goes wrong while an opcode's price is found; our engine says what went
 * wrong, as geth did before, and `out of gas` where memory or the storage sentry is too dear.
 */
const WORDS: Readonly<Record<string, string>> = {
  'out of gas: write protection': 'write protection',
  'out of gas: not enough gas for reentrancy sentry': 'out of gas',
  'out of gas: gas uint64 overflow': 'out of gas',
  'out of gas: out of gas': 'out of gas',
}

/** geth 1.17 lists accounts that are still absent with this hash of their code as changed; they are not. */
const ABSENT = `0x${'00'.repeat(32)}`

/** What geth gave, without these two. */
export function expectedOf(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(expectedOf)
  if (typeof json !== 'object' || json === null) return json
  const kept = Object.entries(json).filter(([, value]) => !isAbsentAccount(value))
  return Object.fromEntries(
    kept
      .filter(([key, value]) => !(key === 'codeHash' && value === ABSENT))
      .map(([key, value]) => [key, key === 'error' ? (WORDS[value] ?? value) : expectedOf(value)] as const),
  )
}

function isAbsentAccount(json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false
  return 'codeHash' in json && json.codeHash === ABSENT && Object.keys(json).length === 1
}

function stateOf(alloc: GethCase['alloc']): MemoryStateReader {
  const state = new MemoryStateReader()
  for (const [hex, { balance, nonce = '0x0', code = '0x', storage = {} }] of Object.entries(alloc)) {
    const address = hexToBytes(hex)
    state.setAccount(address, { balance: BigInt(balance), nonce: BigInt(nonce), code: hexToBytes(code) })
    for (const [slot, value] of Object.entries(storage)) {
      state.setStorage(address, padLeft(hexToBytes(slot), 32), stripZeros(hexToBytes(value)))
    }
  }
  return state
}

function collectorFor(tracer: string, config: TracerConfig, context: TraceContext): TraceCollector {
  if (tracer !== '') return tracerByName(tracer, config, context)
  return createStructLogger(
    {
      enableMemory: config.EnableMemory === true,
      disableStack: config.DisableStack === true,
      disableStorage: config.DisableStorage === true,
      enableReturnData: config.EnableReturnData === true,
      limit: Number(config.Limit ?? 0),
    },
    context,
  )
}

/** The same transaction in our engine. */
export async function traceCase(engine: Engine, one: GethCase, tracer: string, config: TracerConfig): Promise<unknown> {
  const transaction = decodeTransaction(hexToBytes(one.raw))
  const recovered = recoverSender(transaction, { chainId: 1n, allowUnprotected: false })
  if (!('sender' in recovered)) throw new Error(recovered.reason)
  const world = new Journal(stateOf(one.alloc))
  const timer = { nowMs: () => 0, deadlineMs: 1, turns: () => 0 }
  const collector = collectorFor(tracer, config, {
    ...(isScript(tracer) && { createScript: await openScripts(timer) }),
    fork: 'osaka',
    blockNumber: 100,
    blockHash: padLeft(Uint8Array.of(0xbb), 32),
    transactionHash: transaction.hash,
    transactionIndex: 3,
    firstLogIndex: 0,
    budget: new TraceBudget(10_000_000),
  })
  const outcome = await applyTransaction({
    transaction,
    sender: recovered.sender,
    world,
    engine,
    block: {
      number: 100,
      timestamp: 1000,
      timeMs: 1_000_000,
      gasLimit: 30_000_000n,
      coinbase: COINBASE,
      baseFeePerGas: BASE_FEE,
      prevRandao: new Uint8Array(32).fill(0x11),
      difficulty: 0n,
      blobBaseFee: 1n,
      blockHash: () => padLeft(Uint8Array.of(0x22), 32),
    },
    rules: { fork: 'osaka', chainId: 1n },
    precompiles: new Map(),
    tracer: collector.tracer,
    routeFees: ({ tipAcoin }) => world.addBalance(COINBASE, tipAcoin),
  })
  if (outcome.kind === 'skipped') throw new Error(outcome.reason)
  return collector.result()
}
