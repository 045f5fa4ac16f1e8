import { blockContextOf, consensusTimeMs, rulesAt } from '../../app/blockContext.ts'
import type { EthereumHeader } from '../../chain/ethereumBlock.ts'
import { type BlockContext, ExecutionTimeout } from '../../evm/engine.ts'
import type { PrecompileTable } from '../../evm/precompile.ts'
import { createPrecompileGas } from '../../evm/precompileGas.ts'
import type { Rules } from '../../evm/rules.ts'
import type { Tracer } from '../../evm/tracer.ts'
import { type AppliedTransaction, applyCall, type CallMessage, effectiveGasPrice } from '../../evm/transition.ts'
import { ZERO_ADDRESS } from '../../primitives/address.ts'
import { Journal } from '../../state/journal.ts'
import type { StateReader } from '../../state/reader.ts'
import { type RpcError, serverError } from '../errors.ts'
import type { ExecutionHost, RpcContext } from '../method.ts'
import type { BlockSelector } from '../params/blockNumberOrHash.ts'
import type { BlockOverrides } from '../params/blockOverrides.ts'
import { type CallRequest, callData } from '../params/callRequest.ts'
import type { StateOverrides } from '../params/stateOverrides.ts'
import { prunedHistory, selectState } from './blockLookup.ts'
import { nextHeader } from './nextBlock.ts'
import { applyStateOverrides, overrideBlock } from './overrides.ts'

/** What eth_call and its kin run in: a state of its own with the overrides in it, and a block. */
export interface CallEnvironment {
  readonly world: Journal
  readonly block: BlockContext
  readonly rules: Rules
  readonly engine: ExecutionHost['engine']
  readonly precompiles: PrecompileTable
  /** of a block; each call has it for itself */
  readonly precompileGasLimit: bigint
  /** see `ExecutionEnvironment.yield` */
  readonly pause: () => Promise<void>
  readonly timeoutMs: number
}

export interface CallOverrides {
  readonly state?: StateOverrides | undefined
  readonly block?: BlockOverrides | undefined
}

/** @throws Error (a bug) outside view threads */
export function executionOf({ execution }: Pick<RpcContext, 'execution'>): ExecutionHost {
  if (execution === undefined) throw new Error('this thread executes nothing')
  return execution
}

/**
 * The environment on the state of a block. `pending` is the head's state in the next block's context.
 * @throws RpcError when there is no such state, or an override is wrong
 */
export function openCall(context: RpcContext, selector: BlockSelector, overrides: CallOverrides): CallEnvironment {
  const { height, state } = selectState(context.view, selector)
  const isPending = selector.kind === 'number' && selector.number === 'pending'
  const header = isPending ? nextHeader(context.view, context.chain, context.now()) : context.view.chain.header(height)
  if (header === undefined) throw prunedHistory()
  return callEnvironment(context, state, header, overrides)
}

/** The environment on any state, within the block of `header`. @throws RpcError when an override is wrong */
export function callEnvironment(
  context: RpcContext,
  state: StateReader,
  header: EthereumHeader,
  overrides: CallOverrides,
): CallEnvironment {
  const { engine, precompiles, yieldUntil } = executionOf(context)
  const { callTimeoutMs: timeoutMs } = context.limits
  const rules = rulesAt(context.chain, header.number)
  const world = new Journal(state)
  const { chain } = context.view
  const timeMs = consensusTimeMs(header, chain, context.chain)
  const block = overrideBlock(blockContextOf(header, timeMs, chain, rules), overrides.block ?? {})
  const remaining = applyStateOverrides(world, overrides.state ?? [], precompiles, rules)
  // What was overridden is what the first transaction finds: it is no change of that transaction.
  world.endTransaction({ clearEmpty: false })
  const pause = yieldUntil(context.now() + timeoutMs)
  const { precompileGasLimit } = context.chain
  return { world, block, rules, engine, precompiles: remaining, precompileGasLimit, pause, timeoutMs }
}

/**
 * A request as a message to run, with geth's defaults (ethapi TransactionArgs.CallDefaults): the zero address sends, all
 * the gas that a call may use is given, and nothing is paid.
 * @throws RpcError
 */
export function toCallMessage(
  request: CallRequest,
  { chain, limits }: Pick<RpcContext, 'chain' | 'limits'>,
): CallMessage {
  checkFeeFields(request)
  checkChainId(request, chain.evmChainId)
  const { gasPrice, authorizationList, blobVersionedHashes = [] } = request
  const { callGas } = limits
  const gas = request.gas === undefined || request.gas > callGas ? callGas : request.gas
  return {
    sender: request.from ?? ZERO_ADDRESS,
    gasLimit: gas,
    type: authorizationList !== undefined ? 4 : blobVersionedHashes.length > 0 ? 3 : 0,
    maxFeePerGas: gasPrice ?? request.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: gasPrice ?? request.maxPriorityFeePerGas ?? 0n,
    to: request.to,
    value: request.value ?? 0n,
    data: callData(request),
    accessList: request.accessList ?? [],
    authorizationList: authorizationList ?? [],
    maxFeePerBlobGas: request.maxFeePerBlobGas ?? 0n,
    blobVersionedHashes,
  }
}

/** @throws RpcError when a legacy price is mixed with EIP-1559 fields */
export function checkFeeFields({ gasPrice, maxFeePerGas, maxPriorityFeePerGas }: CallRequest): void {
  if (gasPrice === undefined) return
  if (maxFeePerGas === undefined && maxPriorityFeePerGas === undefined) return
  throw serverError('both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified')
}

/** @throws RpcError when the request names another chain */
export function checkChainId({ chainId }: CallRequest, ownChainId: bigint): void {
  if (chainId === undefined || chainId === ownChainId) return
  throw serverError(`chainId does not match node's (have=${chainId}, want=${ownChainId})`)
}

/** How a message fared: it ran, or it could not start for a reason in geth's words. */
export type CallOutcome =
  | ({ readonly kind: 'applied' } & AppliedTransaction)
  | { readonly kind: 'skipped'; readonly reason: string }

/**
 * Runs a message and undoes what it did, so that the next one finds the same state.
 * @throws RpcError when the time is over; the environment is then of no use any more
 */
export async function runCall(environment: CallEnvironment, call: CallMessage, tracer?: Tracer): Promise<CallOutcome> {
  const { world, rules, engine, precompiles, precompileGasLimit, pause, timeoutMs } = environment
  try {
    // Many short runs must end at the deadline too.
    await pause()
    world.checkpoint()
    const outcome = await applyCall({
      call,
      world,
      block: blockFor(call, environment.block),
      rules,
      engine,
      precompiles,
      precompileGas: createPrecompileGas(precompileGasLimit),
      yield: pause,
      acceptsBlobs: true,
      ...(tracer === undefined ? {} : { tracer }),
    })
    world.revert()
    return outcome
  } catch (error) {
    throw error instanceof ExecutionTimeout ? timedOut(timeoutMs) : error
  }
}

/** A call that pays nothing sees base fees of 0, which it could not pay (geth: NoBaseFee). */
function blockFor(call: CallMessage, block: BlockContext): BlockContext {
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, maxFeePerBlobGas = 0n } = call
  const isFree = effectiveGasPrice({ maxFeePerGas, maxPriorityFeePerGas }, block.baseFeePerGas) === 0n
  return {
    ...block,
    baseFeePerGas: isFree && block.baseFeePerGas !== undefined ? 0n : block.baseFeePerGas,
    blobBaseFee: maxFeePerBlobGas === 0n ? 0n : block.blobBaseFee,
  }
}

/** geth's error when a call takes longer than it may. */
export function timedOut(timeoutMs: number): RpcError {
  return serverError(`execution aborted (timeout = ${timeoutMs / 1000}s)`)
}
