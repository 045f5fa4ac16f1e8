import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import { WorkStopped } from '../state/workMeter.ts'
import type { WorldState } from '../state/world.ts'
import type { BlockContext, Rules } from './blockContext.ts'
import type { PrecompileTable } from './precompile.ts'
import type { PrecompileGas } from './precompileGas.ts'
import type { Tracer } from './tracer.ts'

/**
 * Runs code against the world state. It opens and closes its own checkpoints: when it returns, the effects of a run that
 * did not succeed are gone. The value transfer of the message is part of the run; buying gas, nonces and refunds are the
 * transition's: the caller's nonce is already raised, and a creation takes its address from the nonce before. The standard
 * precompiles are warm to it without entries in the world; the recipient's EIP-7702 delegation is warmed by the transition.
 */
export interface Engine {
  readonly name: 'reference' | 'wasm'
  /** @throws WorkLimitReached (or rejects with it), and what `environment` throws; the world must be thrown away then */
  run(message: Message, environment: ExecutionEnvironment): ExecutionResult | Promise<ExecutionResult>
}

/** An engine that returns at once where nothing in the run waits. */
export interface ImmediateEngine extends Engine {
  run(message: Message, environment: ExecutionEnvironment & { readonly yield?: undefined }): ExecutionResult
  run(message: Message, environment: ExecutionEnvironment): ExecutionResult | Promise<ExecutionResult>
}

/** The transaction's values that opcodes can read. */
interface TransactionContext {
  readonly origin: Address
  /** effective gas price */
  readonly gasPrice: bigint
  readonly blobHashes: readonly Hash[]
}

/** The top-level call or creation of a transaction. */
export interface Message {
  readonly caller: Address
  /** undefined creates a contract */
  readonly to: Address | undefined
  readonly value: bigint
  readonly data: Uint8Array
  /** gas left after the intrinsic cost */
  readonly gasLimit: bigint
}

export interface ExecutionEnvironment {
  readonly world: WorldState
  readonly block: BlockContext
  readonly transaction: TransactionContext
  readonly rules: Rules
  readonly precompiles: PrecompileTable
  /** standard precompiles, by `bytesKey(address)`, that are plain accounts in this run: a call's overrides replaced or moved them */
  readonly hiddenPrecompiles?: ReadonlySet<string>
  /** gas that Ethereum's slower precompiles may still use in the block; the run deducts what it uses. Without it they have no limit. */
  readonly precompileGas?: PrecompileGas
  readonly tracer?: Tracer
  /**
   * The world's slots and logs are not read after the run, because it is reverted or thrown away:
   * the engine need not write those that nothing in the run can read. With a tracer, it still does.
   */
  readonly isDiscarded?: boolean
  /** refund counter at the run's start (EIP-7702's), which tracers see with the run's own */
  readonly refundBefore?: bigint
  /**
   * Called between slices of work by a view that has a deadline. It may wait (and so let other work of the thread run);
   * it throws `ExecutionTimeout` to drop the run, after which the world state must be thrown away.
   */
  readonly yield?: () => Promise<void>
  /** gas of work after which an {@link ImmediateEngine} drops the run, with {@link WorkLimitReached} */
  readonly workLimit?: bigint
}

/** Why a frame failed, with geth's message (core/vm/errors.go). `execution reverted` is not a failure. */
interface EvmFailure {
  readonly message: string
}

export interface ExecutionResult {
  readonly status: 'success' | 'revert' | 'failure'
  /** set when status is `failure` */
  readonly failure?: EvmFailure
  /** return or revert data; the deployed code's address is in `createdAddress` */
  readonly output: Uint8Array
  /** of `Message.gasLimit` */
  readonly gasUsed: bigint
  /** refund counter at the end; 0 unless status is `success` */
  readonly gasRefund: bigint
  readonly createdAddress?: Address
}

/** A run that did more work than its `workLimit`. */
export class WorkLimitReached extends Error {
  override readonly name = 'WorkLimitReached'
  /** One for all: no caller reads its stack, and collecting one takes longer than a short run. */
  static readonly instance = new WorkLimitReached('the run is dropped at its limit of work')
}

/** Execution took too long for the one who waits for it. Nothing that a block depends on. */
export class ExecutionTimeout extends WorkStopped {
  override readonly name = 'ExecutionTimeout'
}
