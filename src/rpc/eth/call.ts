import type { BlockContext, Rules } from '../../evm/blockContext.ts'
import { ExecutionTimeout } from '../../evm/engine.ts'
import { createPrecompileGas } from '../../evm/precompileGas.ts'
import { revertReason } from '../../evm/revertReason.ts'
import type { Tracer } from '../../evm/tracer.ts'
import type { SkippedChecks } from '../../evm/transactionChecks.ts'
import { applyCall, type CallMessage, effectiveGasPrice } from '../../evm/transition.ts'
import { blockContextOf, consensusTimeMs, rulesAt } from '../../execution/blockContext.ts'
import { ZERO_ADDRESS } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Journal } from '../../state/journal.ts'
import { RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ExecutionHost, type RpcContext } from '../jsonrpc/method.ts'
import type { CallOutcome } from '../jsonrpc/shortForm.ts'
import { type BlockSelector, LATEST, readBlockNumberOrHash } from '../params/blockSelector.ts'
import {
  type BlockOverrides,
  type CallRequest,
  callData,
  readBlockOverrides,
  readCallRequest,
  readStateOverrides,
  type StateOverrides,
} from '../params/callRequest.ts'
import { prunedHistory, selectState } from './blockLookup.ts'
import { nextHeader } from './nextBlock.ts'
import { applyStateOverrides, type PrecompileTables } from './stateOverrides.ts'
import { openViewWorld } from './viewWorld.ts'

/** Runs a call without a transaction and answers with what it returns. */
export const call = defineMethod({
  name: 'eth_call',
  runs: 'short',
  params: [readCallRequest, readBlockNumberOrHash, readStateOverrides, readBlockOverrides],
  required: 1,
  run: async (context, request, selector = LATEST, state, block) => {
    const environment = openCall(context, selector, { state, block })
    const message = toCallMessage(request, context)
    return callResult(await runCall(environment, message), message)
  },
  short: {
    target: (params) => {
      const request = simpleRequest(params)
      return request && targetOf(request)
    },
    attempt: (head, context, request, selector = LATEST) => {
      if (!isHead(selector, head.height)) return undefined
      const message = toCallMessage(request, context)
      return `"${callResult(head.run(message), message)}"`
    },
  },
})

/** Fields of a request that are checked before it is read. */
type RawRequest = Readonly<Record<string, unknown>>

/** Most digits of the data of a call that is tried as a short one: 8 KB. */
const MAX_SHORT_DIGITS = 2 + 2 * 8_192
/** Fields without which a call is tried: all others are rare. */
const RARE_FIELDS = ['accessList', 'authorizationList', 'blobVersionedHashes', 'maxFeePerBlobGas'] as const

/**
 * Returns the request, unchecked, of a call without overrides, rare fields or long data; undefined
 * for others.
 */
function simpleRequest([request, , state, block]: readonly unknown[]): RawRequest | undefined {
  if ((state ?? undefined) !== undefined || (block ?? undefined) !== undefined) return undefined
  if (typeof request !== 'object' || request === null) return undefined
  const fields = request as RawRequest
  for (const name of RARE_FIELDS) if ((fields[name] ?? undefined) !== undefined) return undefined
  const { data, input, to } = fields
  const isShort = (text: unknown): boolean => typeof text !== 'string' || text.length <= MAX_SHORT_DIGITS
  return isShort(data) && isShort(input) && isShort(to) ? fields : undefined
}

/** Names the contract that is called, and the function. */
function targetOf({ to, input, data }: RawRequest): string {
  const digits = input ?? data
  const selector = typeof digits === 'string' ? digits.slice(0, 10) : ''
  return `${typeof to === 'string' ? to.slice(0, 42) : ''}:${selector}`.toLowerCase()
}

function isHead(selector: BlockSelector, height: number): boolean {
  if (selector.kind !== 'number') return false
  const { number } = selector
  return number === height || number === 'latest' || number === 'safe' || number === 'finalized'
}

/** Returns the call's return data in hex. @throws RpcError when it failed, or could not start */
function callResult(outcome: CallOutcome, { gasLimit }: Pick<CallMessage, 'gasLimit'>): string {
  if (outcome.kind === 'skipped') throw serverError(`err: ${outcome.reason} (supplied gas ${gasLimit})`)
  if (outcome.failure === 'execution reverted') throw revertError(outcome.output)
  if (outcome.failure !== undefined) throw serverError(outcome.failure)
  return bytesToHex(outcome.output)
}

/**
 * The state and block that eth_call and similar methods run on: a copy of the state with overrides
 * applied.
 */
export interface CallEnvironment extends PrecompileTables {
  readonly world: Journal
  readonly block: BlockContext
  readonly rules: Rules
  readonly engine: ExecutionHost['engine']
  /** of a block; each call may use all this gas */
  readonly precompileGasLimit: bigint
  /** see `ExecutionEnvironment.yield` */
  readonly pause: () => Promise<void>
  readonly timeoutMs: number
}

export interface CallOverrides {
  readonly state?: StateOverrides | undefined
  readonly block?: BlockOverrides | undefined
}

/** Returns the thread's executor of transactions. @throws Error (a bug) outside view threads */
export function executionOf({ execution }: Pick<RpcContext, 'execution'>): ExecutionHost {
  if (execution === undefined) throw new Error('this thread executes nothing')
  return execution
}

/**
 * Opens the environment on the state of a block. `pending` is the head's state in the next block's
 * context.
 * @throws RpcError when there is no such state, or an override is wrong
 */
export function openCall(context: RpcContext, selector: BlockSelector, overrides: CallOverrides): CallEnvironment {
  const { height, state } = selectState(context.view, selector)
  const { chain } = context.view
  const isPending = selector.kind === 'number' && selector.number === 'pending'
  const header = isPending ? nextHeader(context.view, context.chain, context.now()) : chain.header(height)
  if (header === undefined) throw prunedHistory(chain)
  const { engine, precompiles, yieldUntil } = executionOf(context)
  const { callTimeoutMs: timeoutMs } = context.limits
  const rules = rulesAt(context.chain, header.number)
  const world = openViewWorld(context, state)
  const timeMs = consensusTimeMs(header, chain, context.chain)
  const block = overrideBlock(blockContextOf(header, timeMs, chain, rules), overrides.block ?? {})
  const { precompileGasLimit } = context.chain
  const tables = applyStateOverrides(
    world,
    overrides.state ?? [],
    { registered: precompiles, precompileGasLimit },
    rules,
  )
  world.setTime(block.timestamp)
  const pause = yieldUntil(context.monotonicMs() + timeoutMs)
  return { world, block, rules, engine, ...tables, precompileGasLimit, pause, timeoutMs }
}

/**
 * Turns a request into a message to run, with geth's defaults (ethapi
 * TransactionArgs.CallDefaults): the zero address sends it, it gets all the gas that a call may
 * use, and pays nothing.
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
    ...blobFee(request),
    blobVersionedHashes,
  }
}

/** Returns the blob fee of a call with blobs: by default nothing. */
function blobFee({ maxFeePerBlobGas, blobVersionedHashes }: CallRequest): Pick<CallMessage, 'maxFeePerBlobGas'> {
  if (maxFeePerBlobGas !== undefined) return { maxFeePerBlobGas }
  return blobVersionedHashes === undefined ? {} : { maxFeePerBlobGas: 0n }
}

/** Checks the fee fields. @throws RpcError when a legacy price is mixed with EIP-1559 fields */
export function checkFeeFields({ gasPrice, maxFeePerGas, maxPriorityFeePerGas }: CallRequest): void {
  if (gasPrice === undefined) return
  if (maxFeePerGas === undefined && maxPriorityFeePerGas === undefined) return
  throw serverError('both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified')
}

/** Checks the chain ID. @throws RpcError when the request names another chain */
export function checkChainId({ chainId }: CallRequest, ownChainId: bigint): void {
  if (chainId === undefined || chainId === ownChainId) return
  throw serverError(`chainId does not match node's (have=${chainId}, want=${ownChainId})`)
}

/**
 * Runs a message and undoes its changes, so that the next one sees the same state. Without a tracer
 * the outcome has no logs of code, because no caller reads them.
 * @throws RpcError when the time is over; the environment must not be used any more
 */
export async function runCall(environment: CallEnvironment, call: CallMessage, tracer?: Tracer): Promise<CallOutcome> {
  environment.world.checkpoint()
  // A tracer may inspect what the call has left.
  const outcome = await runMessage(environment, call, { tracer, isDiscarded: tracer === undefined })
  environment.world.revert()
  return outcome
}

/**
 * Runs a message on the state that earlier messages have left, and keeps its changes.
 * @param skipped by default the checks that `eth_call` leaves out
 * @throws RpcError when the time is over; the environment must not be used any more
 */
export function runCallForGood(
  environment: CallEnvironment,
  call: CallMessage,
  tracer?: Tracer,
  skipped?: SkippedChecks,
): Promise<CallOutcome> {
  return runMessage(environment, call, { tracer, skipped, isDiscarded: false })
}

async function runMessage(
  environment: CallEnvironment,
  call: CallMessage,
  {
    tracer,
    skipped,
    isDiscarded,
  }: {
    readonly tracer?: Tracer | undefined
    readonly skipped?: SkippedChecks | undefined
    readonly isDiscarded: boolean
  },
): Promise<CallOutcome> {
  const { world, rules, engine, precompiles, hiddenPrecompiles, precompileGasLimit, pause, timeoutMs } = environment
  try {
    // Many short runs must end at the deadline too.
    await pause()
    return await applyCall({
      call,
      world,
      block: blockFor(call, environment.block),
      rules,
      engine,
      precompiles,
      hiddenPrecompiles,
      precompileGas: createPrecompileGas(precompileGasLimit),
      isDiscarded,
      yield: pause,
      acceptsBlobs: true,
      ...(tracer === undefined ? {} : { tracer }),
      ...(skipped === undefined ? {} : { skipped }),
    })
  } catch (error) {
    if (!(error instanceof ExecutionTimeout)) throw error
    throw serverError(`execution aborted (timeout = ${timeoutMs / 1000}s)`)
  }
}

/**
 * Returns the block as a call sees it: one that pays nothing for gas, or for its blobs, sees a base
 * fee of 0, which it could not pay otherwise (geth: NoBaseFee).
 */
export function blockFor(
  call: Pick<CallMessage, 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'maxFeePerBlobGas'>,
  block: BlockContext,
): BlockContext {
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, maxFeePerBlobGas } = call
  const isFree = effectiveGasPrice({ maxFeePerGas, maxPriorityFeePerGas }, block.baseFeePerGas) === 0n
  return {
    ...block,
    baseFeePerGas: isFree && block.baseFeePerGas !== undefined ? 0n : block.baseFeePerGas,
    blobBaseFee: maxFeePerBlobGas === 0n ? 0n : block.blobBaseFee,
  }
}

/**
 * Returns the error for a call that reverted: code 3, the reason when there is one, and always the
 * revert data.
 */
export function revertError(data: Uint8Array): RpcError {
  const reason = revertReason(data)
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`
  return new RpcError(RPC_CODES.revert, message, bytesToHex(data))
}

/**
 * Returns the block as a call with overrides sees it (geth: override.BlockOverrides.Apply).
 * @throws RpcError
 */
export function overrideBlock(block: BlockContext, overrides: BlockOverrides): BlockContext {
  for (const name of ['beaconRoot', 'withdrawals'] as const) {
    if (overrides[name] !== undefined) {
      throw serverError(`block override "${name}" is not supported for this RPC method`)
    }
  }
  return {
    number: overrides.number ?? block.number,
    difficulty: overrides.difficulty ?? block.difficulty,
    timestamp: overrides.time ?? block.timestamp,
    timeMs: overrides.time === undefined ? block.timeMs : overrides.time * 1000,
    gasLimit: overrides.gasLimit ?? block.gasLimit,
    coinbase: overrides.feeRecipient ?? block.coinbase,
    prevRandao: overrides.prevRandao ?? block.prevRandao,
    baseFeePerGas: overrides.baseFeePerGas ?? block.baseFeePerGas,
    blobBaseFee: overrides.blobBaseFee ?? block.blobBaseFee,
    blockHash: block.blockHash,
  }
}
