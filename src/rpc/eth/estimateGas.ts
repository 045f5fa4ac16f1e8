import { includesFork } from '../../chain/genesis/hardfork.ts'
import { MAX_TRANSACTION_GAS } from '../../evm/intrinsicGas.ts'
import type { AppliedTransaction, CallMessage } from '../../evm/transition.ts'
import { blockStartOf } from '../../execution/blockHooks.ts'
import { isVersionError } from '../../modules/upgrade/beginUpgrade.ts'
import { ZERO_ADDRESS } from '../../primitives/address.ts'
import { toQuantity } from '../../primitives/bytes.ts'
import { serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type RpcContext } from '../jsonrpc/method.ts'
import { type BlockNumberOrTag, type BlockSelector, LATEST, readBlockNumberOrHash } from '../params/blockSelector.ts'
import { type CallRequest, readBlockOverrides, readCallRequest, readStateOverrides } from '../params/callRequest.ts'
import {
  type CallEnvironment,
  type CallOverrides,
  executionOf,
  openCall,
  revertError,
  runCall,
  toCallMessage,
} from './call.ts'

const PLAIN_TRANSFER_GAS = 21_000n
const CALL_STIPEND = 2_300n
/** Tags that mean the newest state: a decided block is final. */
const HEAD_TAGS: ReadonlySet<BlockNumberOrTag> = new Set(['latest', 'safe', 'finalized', 'pending'])
/** The search ends when the bounds are this close, in per mille: geth's error ratio. */
const TOLERANCE_PER_MILLE = 15n

/** The lowest gas limit, within 1.5 %, with which a transaction succeeds. */
export const estimateGas = defineMethod({
  name: 'eth_estimateGas',
  runs: 'heavy',
  params: [readCallRequest, readBlockNumberOrHash, readStateOverrides, readBlockOverrides],
  required: 1,
  run: async (context, request, selector = LATEST, state, block) =>
    toQuantity(await estimate(context, request, openEstimate(context, selector, { state, block }))),
})

/**
 * Opens the environment of the estimate. On the head it is the start of the next block, one second
 * later. Blocks share seconds, and a contract may do more work once the second has changed
 * (Uniswap's pairs do). A contract that withdraws rewards gets more of them once the next block has
 * started. Without both, the estimate would be too low for the next block.
 * @throws RpcError as {@link openCall}
 */
export function openEstimate(context: RpcContext, selector: BlockSelector, overrides: CallOverrides): CallEnvironment {
  const { chain } = context.view
  const isHead = selector.kind === 'number' && HEAD_TAGS.has(selector.number)
  if (!isHead || overrides.block?.time !== undefined) return openCall(context, selector, overrides)
  const time = (chain.header(chain.headHeight)?.timestamp ?? 0) + 1
  const environment = openCall(context, selector, { ...overrides, block: { ...overrides.block, time } })
  // A state that the caller overrides is used unchanged.
  if (overrides.state === undefined) beginNextBlock(context, environment)
  return environment
}

/**
 * Searches as geth does (eth/gasestimator): the highest limit first, then one that is likely to
 * suffice, then halving.
 * @throws RpcError when the transaction fails with any limit
 */
export async function estimate(
  context: Pick<RpcContext, 'chain' | 'limits'>,
  request: CallRequest,
  environment: CallEnvironment,
): Promise<bigint> {
  const message = toCallMessage(request, context)
  let high = highestLimit(request, message, environment, context.limits.callGas)
  if (runsNoCode(message, environment)) {
    const outcome = await runCall(environment, { ...message, gasLimit: PLAIN_TRANSFER_GAS })
    if (outcome.kind === 'applied' && outcome.failure === undefined) return PLAIN_TRANSFER_GAS
  }

  const first = await attempt(environment, message, high)
  if (first === undefined || first.failure === 'out of gas') {
    throw serverError(`gas required exceeds allowance (${high})`)
  }
  if (first.failure === 'execution reverted') throw revertError(first.output)
  if (first.failure !== undefined) throw serverError(first.failure)

  let low = first.gasUsed - 1n
  const succeeds = async (gas: bigint): Promise<boolean> => {
    const outcome = await attempt(environment, message, gas)
    return outcome !== undefined && outcome.failure === undefined
  }
  // An inner call gets at most 63/64 of the gas, and a call with value needs its stipend to be
  // available.
  const likely = ((first.gasUsed + CALL_STIPEND) * 64n) / 63n
  if (likely < high) {
    if (await succeeds(likely)) high = likely
    else low = likely
  }
  while (low + 1n < high && (high - low) * 1000n >= high * TOLERANCE_PER_MILLE) {
    const middle = (high + low) / 2n
    // Most transactions need little more than they use, so the search stays near the lower bound.
    const gas = middle > low * 2n ? low * 2n : middle
    if (await succeeds(gas)) high = gas
    else low = gas
  }
  return high
}

/**
 * Returns the requested gas or the block's gas limit, reduced to what the rules, the funds and the
 * node allow.
 */
function highestLimit(
  request: CallRequest,
  message: CallMessage,
  { world, block, rules }: CallEnvironment,
  gasCap: bigint,
): bigint {
  const { gas } = request
  let high = gas !== undefined && gas >= PLAIN_TRANSFER_GAS ? gas : block.gasLimit
  if (includesFork(rules.fork, 'osaka') && high > MAX_TRANSACTION_GAS) high = MAX_TRANSACTION_GAS
  const { maxFeePerGas = 0n, value = 0n } = message
  if (maxFeePerGas > 0n) {
    const balance = world.getSpendable(message.sender)
    // Also where both are zero, as in geth: the account cannot pay for any gas.
    if (value >= balance) throw serverError('insufficient funds for transfer')
    const affordable = (balance - value) / maxFeePerGas
    if (affordable < high) high = affordable
  }
  return high > gasCap ? gasCap : high
}

function runsNoCode({ to, data }: CallMessage, { world }: CallEnvironment): boolean {
  return to !== undefined && (data === undefined || data.length === 0) && world.getCode(to).length === 0
}

/**
 * Runs the message with a limit; undefined when the limit does not even cover the intrinsic cost.
 * @throws RpcError when it cannot start for another reason
 */
async function attempt(
  environment: CallEnvironment,
  message: CallMessage,
  gasLimit: bigint,
): Promise<AppliedTransaction | undefined> {
  const outcome = await runCall(environment, { ...message, gasLimit })
  if (outcome.kind === 'applied') return outcome
  if (/^(intrinsic gas too low|insufficient gas for floor data gas cost)/.test(outcome.reason)) return undefined
  throw serverError(`failed with ${gasLimit} gas: ${outcome.reason}`)
}

/**
 * Runs the native modules' begin of the block after the head, which distributes the head's fees: a
 * contract that withdraws rewards then gets them too. Only that block's time and proposer are not
 * known yet.
 */
function beginNextBlock(context: RpcContext, { world, block }: CallEnvironment): void {
  const { chain } = context.view
  const { headHeight } = chain
  const lastCommit = chain.seenCommit(headHeight)
  const validators = chain.validatorSetAt(headHeight)
  // Block 0 has no signatures.
  if (lastCommit === undefined || validators === undefined || headHeight === 0) return
  const { timeMs } = block
  const next = { height: headHeight + 1, timeMs, proposerAddress: ZERO_ADDRESS, lastCommit, evidence: [] }
  world.beginTransaction()
  world.checkpoint()
  try {
    executionOf(context).hooks.begin(world, blockStartOf(next, validators))
    world.commit()
  } catch (error) {
    if (!isVersionError(error)) throw error
    // This version of the software executes no further block.
    world.revert()
  }
  world.endTransaction({ clearEmpty: true })
}
