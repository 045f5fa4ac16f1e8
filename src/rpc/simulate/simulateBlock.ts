import { nextBaseFee } from '../../chain/block/baseFee.ts'
import { type EthereumHeader, ethereumBlockSize, ethereumHeaderHash } from '../../chain/block/ethereumBlock.ts'
import { orderedTrieRoot } from '../../chain/block/orderedTrieRoot.ts'
import { encodeReceipt, mergeBlooms, type Receipt } from '../../chain/block/receipt.ts'
import type { SignedTransaction } from '../../chain/block/transaction.ts'
import type { FeeMarket } from '../../chain/genesis/chainConfig.ts'
import { includesFork } from '../../chain/genesis/hardfork.ts'
import type { BlockContext, Rules } from '../../evm/blockContext.ts'
import { createPrecompileGas, type PrecompileGas } from '../../evm/precompileGas.ts'
import { applyBlockStart } from '../../evm/systemCalls.ts'
import { type AppliedTransaction, applyCall } from '../../evm/transition.ts'
import { blockContextOf, rulesAt, runningParams } from '../../execution/blockContext.ts'
import { EMPTY_REQUESTS_HASH, ZERO_NONCE } from '../../execution/blockExecution.ts'
import { receiptOf } from '../../execution/receiptOf.ts'
import { ZERO_ADDRESS } from '../../primitives/address.ts'
import { bytesToHex, EMPTY_BYTES, toQuantity } from '../../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, type Hash, ZERO_HASH } from '../../primitives/hash.ts'
import type { Journal } from '../../state/journal.ts'
import type { StateRoots } from '../../state/stateRoots.ts'
import { findHeader, prunedHistory, readingState, selectState } from '../eth/blockLookup.ts'
import { executionOf, revertError } from '../eth/call.ts'
import { applyStateOverrides, type PrecompileTables } from '../eth/stateOverrides.ts'
import { openViewWorld } from '../eth/viewWorld.ts'
import { formatBlock } from '../format/block.ts'
import type { JsonObject } from '../format/json.ts'
import { formatLog } from '../format/receipt.ts'
import { RPC_CODES, RpcError, responseTooLarge } from '../jsonrpc/errors.ts'
import type { ExecutionHost, RpcContext } from '../jsonrpc/method.ts'
import { type BlockSelector, byNumber } from '../params/blockSelector.ts'
import type { CallRequest } from '../params/callRequest.ts'
import type { BlockPlan } from './blockPlans.ts'
import { type CallLogs, collectCallLogs } from './callLogs.ts'
import { cannotStart, toTransaction } from './simulatedCall.ts'

/** The base block's state and the rules that blocks are simulated with. */
export interface SimulationGround {
  /** a layer above the base block's state; all blocks write to it */
  readonly world: Journal
  readonly roots: StateRoots
  readonly chain: Pick<RpcContext['chain'], 'evmChainId' | 'forks' | 'precompileGasLimit'>
  readonly execution: Pick<ExecutionHost, 'engine' | 'precompiles' | 'hooks' | 'ethereumBlocks'>
  readonly feeMarket: FeeMarket
  /** hash of a block of the chain, up to the base block */
  readonly hashOf: (number: number) => Hash | undefined
  readonly options: {
    readonly traceTransfers: boolean
    readonly validation: boolean
    readonly returnFullTransactions: boolean
  }
  /** see `ExecutionEnvironment.yield` */
  readonly pause: () => Promise<void>
}

/** State that the blocks of a request share. */
export interface Simulation extends SimulationGround {
  /** gas that all calls together may still use */
  gasLeft: bigint
  /** bytes that calls may still return */
  bytesLeft: number
}

/** Opens the base block and its state. @throws RpcError when one of them is not retained */
export function openGround(
  context: RpcContext,
  selector: BlockSelector,
  options: SimulationGround['options'],
  pause: () => Promise<void>,
): { readonly ground: SimulationGround; readonly base: Pick<SimulatedBlock, 'header' | 'hash'> } {
  const { view, chain } = context
  const { height, state } = selectState(view, selector)
  const base = findHeader(view.chain, byNumber(height))
  if (base === undefined) throw prunedHistory(view.chain)
  const ground = {
    world: openViewWorld(context, state),
    roots: readingState(() => view.stateRoots(height)),
    chain,
    execution: executionOf(context),
    feeMarket: runningParams({ get: (key) => state.getNative(key) }, chain).feeMarket,
    hashOf: (number: number) => view.chain.hash(number),
    options,
    pause,
  }
  return { ground, base }
}

export interface SimulatedBlock {
  readonly header: EthereumHeader
  readonly hash: Hash
  readonly json: JsonObject
}

/** A block that is being simulated. */
export interface OpenBlock extends PrecompileTables {
  readonly header: EthereumHeader
  readonly context: BlockContext
  readonly rules: Rules
  readonly precompileGas: PrecompileGas
  readonly logs: CallLogs
  gasUsed: bigint
  blobGasUsed: bigint
}

interface SimulatedCall {
  readonly signed: SignedTransaction
  readonly receipt: Receipt
  readonly outcome: AppliedTransaction
  /** whether the limit of the whole request left it less gas than it asked for */
  readonly isCapped: boolean
  readonly logs: ReturnType<CallLogs['take']>
}

/**
 * Simulates a block on its parent, in the order of geth's simulator: overrides of the state, the
 * system calls of the block's start, the calls. The work of native modules at a block's start and
 * end is left out.
 * @param ancestors the simulated blocks before it
 * @throws RpcError when a call cannot start, or answers are too large
 */
export async function simulateBlock(
  simulation: Simulation,
  plan: BlockPlan,
  ancestors: readonly SimulatedBlock[],
  parent: Pick<SimulatedBlock, 'header' | 'hash'>,
): Promise<SimulatedBlock> {
  const block = await openBlock(simulation, plan, ancestors, parent)
  const calls: SimulatedCall[] = []
  for (const request of plan.calls) calls.push(await simulateCall(simulation, block, request))
  const transactions = calls.map(({ signed }) => signed)
  const receipts = calls.map(({ receipt }) => receipt)
  const { header, hash } = await closeBlock(simulation, block, transactions, receipts)
  const parts = { header, hash, transactions, size: ethereumBlockSize(header, transactions) }
  const json = {
    ...formatBlock(parts, simulation.options.returnFullTransactions),
    calls: calls.map((call, index) => formatCall(call, index, { header, hash })),
  }
  return { header, hash, json }
}

/** Ends a block after its transactions: its remaining content, its roots and its hash. */
export async function closeBlock(
  { world, roots, pause, execution }: SimulationGround,
  block: OpenBlock,
  transactions: readonly SignedTransaction[],
  receipts: readonly Receipt[],
): Promise<Pick<SimulatedBlock, 'header' | 'hash'>> {
  const { context, rules, precompiles, hiddenPrecompiles, precompileGas } = block
  const { engine, ethereumBlocks } = execution
  await ethereumBlocks?.end({ world, block: context, rules, engine, precompiles, hiddenPrecompiles, precompileGas })
  // With megabytes of overrides each of these steps takes long enough for a turn of its own.
  await pause()
  const changes = world.changes()
  await pause()
  const header: EthereumHeader = {
    ...block.header,
    stateRoot: await roots.after(changes, pause),
    transactionsRoot: orderedTrieRoot(transactions.map(({ transaction }) => transaction.raw)),
    receiptsRoot: orderedTrieRoot(receipts.map(encodeReceipt)),
    logsBloom: mergeBlooms(receipts.map((receipt) => receipt.logsBloom)),
    gasUsed: block.gasUsed,
    blobGasUsed: block.header.blobGasUsed === undefined ? undefined : block.blobGasUsed,
  }
  return { header, hash: ethereumHeaderHash(header) }
}

/**
 * Starts a block on its parent: its header as far as it is known, overrides of the state, the
 * system calls.
 */
export async function openBlock(
  simulation: SimulationGround,
  plan: BlockPlan,
  ancestors: readonly SimulatedBlock[],
  parent: Pick<SimulatedBlock, 'header' | 'hash'>,
): Promise<OpenBlock> {
  const { world, chain, execution, options } = simulation
  const rules = rulesAt(chain, plan.number)
  const header = headerOf(simulation, plan, parent, rules)
  const first = plan.number - ancestors.length
  const reader = {
    hash: (number: number) => (number < first ? simulation.hashOf(number) : ancestors[number - first]?.hash),
  }
  const seen = blockContextOf(header, plan.timestamp * 1000, reader, rules)
  const context = { ...seen, blobBaseFee: plan.overrides.blobBaseFee ?? seen.blobBaseFee }
  const { precompileGasLimit } = chain
  const registered = execution.precompiles
  const tables = applyStateOverrides(world, plan.stateOverrides, { registered, precompileGasLimit }, rules)
  const precompileGas = createPrecompileGas(precompileGasLimit)
  const { parentHash, parentBeaconBlockRoot } = header
  const { engine } = execution
  await applyBlockStart({
    world,
    engine,
    block: context,
    rules,
    ...tables,
    precompileGas,
    parentHash,
    parentBeaconBlockRoot,
  })
  const logs = collectCallLogs(options.traceTransfers)
  return { header, context, rules, ...tables, precompileGas, logs, gasUsed: 0n, blobGasUsed: 0n }
}

/**
 * Returns the header as far as it is known before the calls (geth: simulator.makeHeaders and
 * processBlock).
 */
function headerOf(
  { feeMarket, options }: SimulationGround,
  { number, timestamp, overrides }: BlockPlan,
  parent: Pick<SimulatedBlock, 'header' | 'hash'>,
  { fork }: Rules,
): EthereumHeader {
  // Without validation calls need not pay, so they have a base fee of zero.
  const baseFee = options.validation ? nextBaseFee(parent.header, feeMarket) : 0n
  const since = <T>(first: Parameters<typeof includesFork>[1], value: T): T | undefined =>
    includesFork(fork, first) ? value : undefined
  return {
    parentHash: parent.hash,
    sha3Uncles: EMPTY_UNCLES_HASH,
    miner: overrides.feeRecipient ?? parent.header.miner,
    stateRoot: EMPTY_TRIE_ROOT,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    difficulty: overrides.difficulty ?? since('paris', 0n) ?? parent.header.difficulty,
    number,
    gasLimit: overrides.gasLimit ?? parent.header.gasLimit,
    gasUsed: 0n,
    timestamp,
    extraData: EMPTY_BYTES,
    mixHash: overrides.prevRandao ?? ZERO_HASH,
    nonce: ZERO_NONCE,
    baseFeePerGas: since('london', overrides.baseFeePerGas ?? baseFee),
    withdrawalsRoot: since('shanghai', EMPTY_TRIE_ROOT),
    blobGasUsed: since('cancun', 0n),
    // No block of the chain has blobs, so their price stays at its minimum.
    excessBlobGas: since('cancun', 0n),
    parentBeaconBlockRoot: since('cancun', overrides.beaconRoot ?? ZERO_HASH),
    requestsHash: since('prague', EMPTY_REQUESTS_HASH),
  }
}

async function simulateCall(simulation: Simulation, block: OpenBlock, request: CallRequest): Promise<SimulatedCall> {
  const { world, chain, execution, options, pause } = simulation
  const { context, rules, precompiles, hiddenPrecompiles, precompileGas, logs } = block
  await pause()
  const gasLeft = block.header.gasLimit - block.gasUsed
  const wanted = request.gas ?? gasLeft
  if (wanted > gasLeft) {
    throw new RpcError(
      RPC_CODES.blockGasLimitReached,
      `block gas limit reached: remaining: ${gasLeft}, required: ${wanted}`,
    )
  }
  const isCapped = wanted > simulation.gasLeft
  const gasLimit = isCapped ? simulation.gasLeft : wanted
  const nonce = world.getNonce(request.from ?? ZERO_ADDRESS)
  const signed = toTransaction({ ...request, gas: gasLimit }, chain.evmChainId, { nonce, gasLimit })
  const { transaction, sender } = signed
  const hasBlobFee = request.maxFeePerBlobGas !== undefined || request.blobVersionedHashes !== undefined
  const isFree = !options.validation && hasBlobFee && transaction.maxFeePerBlobGas === 0n
  const outcome = await applyCall({
    call: { ...transaction, sender },
    skipped: { nonce: !options.validation, sender: true, baseFee: !options.validation },
    world,
    block: isFree ? { ...context, blobBaseFee: 0n } : context,
    rules,
    engine: execution.engine,
    precompiles,
    hiddenPrecompiles,
    precompileGas,
    yield: pause,
    acceptsBlobs: true,
    tracer: logs.tracer,
  })
  if (outcome.kind === 'skipped') throw cannotStart(outcome, signed)
  execution.hooks.creditFees(world, outcome, context)
  simulation.gasLeft -= outcome.gasUsed
  block.gasUsed += outcome.gasUsed
  block.blobGasUsed += outcome.blobGasUsed
  const receipt = receiptOf(signed, outcome, { gasUsed: block.gasUsed, blobBaseFee: block.context.blobBaseFee })
  const call = { signed, receipt, outcome, isCapped, logs: logs.take() }
  simulation.bytesLeft -= bytesOf(call)
  if (simulation.bytesLeft < 0) throw responseTooLarge()
  return call
}

/**
 * JSON bytes of a call besides its return data, of a log besides its data and topics, and of a
 * topic.
 */
const CALL_BYTES = 150
const LOG_BYTES = 500
const TOPIC_BYTES = 70

/** Estimates the bytes of the call in JSON. */
function bytesOf({ outcome, logs }: SimulatedCall): number {
  const ofLogs = logs.map(({ log }) => LOG_BYTES + log.topics.length * TOPIC_BYTES + 2 * log.data.length)
  return ofLogs.reduce((sum, bytes) => sum + bytes, CALL_BYTES + 2 * outcome.output.length)
}

/** geth: simCallResult. */
function formatCall(
  { outcome, isCapped, logs, signed }: SimulatedCall,
  transactionIndex: number,
  { header, hash }: Pick<SimulatedBlock, 'header' | 'hash'>,
): JsonObject {
  const { status, output, gasUsed, maxGasUsed } = outcome
  const failure = failureOf(outcome, isCapped)
  return {
    returnData: status === 'success' ? bytesToHex(output) : '0x',
    logs: logs.map(({ log, index }) =>
      formatLog(log, {
        blockNumber: header.number,
        blockHash: hash,
        blockTimestamp: header.timestamp,
        transactionHash: signed.transaction.hash,
        transactionIndex,
        logIndex: index,
      }),
    ),
    gasUsed: toQuantity(gasUsed),
    maxUsedGas: toQuantity(maxGasUsed),
    status: toQuantity(status === 'success' ? 1 : 0),
    ...(failure === undefined ? {} : { error: failure }),
  }
}

function failureOf({ status, output, failure }: AppliedTransaction, isCapped: boolean): JsonObject | undefined {
  if (status === 'success') return undefined
  if (status === 'failure') {
    const why = isCapped ? " (gas limit was capped by the RPC server's global gas cap)" : ''
    return { code: RPC_CODES.vmError, message: `${failure}${why}` }
  }
  const { code, message } = revertError(output)
  return { code, message, data: bytesToHex(output) }
}
