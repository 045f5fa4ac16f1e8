import type { BlockContext } from '../../src/evm/blockContext.ts'
import type { Engine, ExecutionResult } from '../../src/evm/engine.ts'
import type { PrecompileTable } from '../../src/evm/precompile.ts'
import type { Tracer } from '../../src/evm/tracer.ts'
import { applyTransaction, type TransitionOutcome } from '../../src/evm/transition.ts'
import { nativeToken } from '../../src/modules/bank/precompile/nativeToken.ts'
import { bytesKey } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import type { StateChanges } from '../../src/state/changes.ts'
import { Journal } from '../../src/state/journal.ts'
import type { StateReader } from '../../src/state/reader.ts'
import type { FuzzCase, FuzzMessage } from './fuzzCase.ts'
import { COINBASE, SENDER } from './population.ts'
import { probePrecompile } from './probePrecompile.ts'

export const CHAIN_ID = 7628n
const BLOCK_NUMBER = 300
const BLOCK_HASH_WINDOW = 256

export const BLOCK: BlockContext = {
  number: BLOCK_NUMBER,
  timestamp: 1_700_000_000,
  timeMs: 1_700_000_000_000,
  gasLimit: 30_000_000n,
  coinbase: COINBASE,
  baseFeePerGas: 7n,
  prevRandao: keccak256(Uint8Array.of(1)),
  difficulty: 0n,
  blobBaseFee: 3n,
  blockHash: (number) =>
    number >= 0 && number < BLOCK_NUMBER && number >= BLOCK_NUMBER - BLOCK_HASH_WINDOW
      ? keccak256(Uint8Array.of(number >> 8, number))
      : undefined,
}

export const PRECOMPILES: PrecompileTable = new Map(
  [nativeToken, probePrecompile].map((precompile) => [bytesKey(precompile.address), precompile]),
)

/** The engine's own result for a transaction, and the outcome hash of the transaction. */
export interface MessageResult {
  readonly outcome: TransitionOutcome
  /** undefined where no code ran */
  readonly run: ExecutionResult | undefined
}

export interface CaseResult {
  readonly messages: readonly MessageResult[]
  readonly changes: StateChanges
}

/** Runs a case on an engine. `state` is the case's, which is not changed. */
export async function runCase(
  { fork, isSliced, messages }: FuzzCase,
  state: StateReader,
  engine: Engine,
  tracer?: Tracer,
): Promise<CaseResult> {
  const world = new Journal(state)
  let run: ExecutionResult | undefined
  const recording: Engine = {
    name: engine.name,
    run: async (message, environment) => {
      run = await engine.run(message, environment)
      return run
    },
  }
  const results: MessageResult[] = []
  for (const message of messages) {
    run = undefined
    const outcome = await applyTransaction({
      world,
      block: BLOCK,
      rules: { fork, chainId: CHAIN_ID },
      engine: recording,
      precompiles: PRECOMPILES,
      acceptsBlobs: true,
      transaction: transactionOf(message, world.getNonce(SENDER)),
      sender: SENDER,
      ...(isSliced ? { yield: nextTurn } : {}),
      ...(tracer === undefined ? {} : { tracer }),
    })
    results.push({ outcome, run })
  }
  return { messages: results, changes: world.changes() }
}

async function nextTurn(): Promise<void> {}

/** Signed by nobody: the sender is given. */
export function transactionOf({ to, value, data, gasLimit, accessList, blobHashes }: FuzzMessage, nonce: bigint) {
  return {
    type: blobHashes.length > 0 ? 3 : 2,
    hash: NO_HASH,
    raw: NO_HASH,
    chainId: CHAIN_ID,
    nonce,
    gasLimit,
    maxFeePerGas: 20n,
    maxPriorityFeePerGas: 2n,
    to,
    value,
    data,
    accessList,
    authorizationList: [],
    maxFeePerBlobGas: 5n,
    blobVersionedHashes: blobHashes,
    v: 0n,
    yParity: 0,
    r: 1n,
    s: 1n,
  } as const
}

const NO_HASH = new Uint8Array(32)
