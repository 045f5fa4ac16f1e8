import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import type { Receipt } from '../../chain/block/receipt.ts'
import { decodeTransaction, type SignedTransaction } from '../../chain/block/transaction.ts'
import { type AppliedTransaction, applyTransaction } from '../../evm/transition.ts'
import { receiptOf } from '../../execution/receiptOf.ts'
import { bytesToHex, EMPTY_BYTES, equalBytes, toQuantity } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { executionOf } from '../eth/call.ts'
import { submit } from '../eth/sendRawTransaction.ts'
import { poolRefusal } from '../eth/txpool.ts'
import type { JsonObject } from '../format/json.ts'
import { callCancelled } from '../jsonrpc/callScope.ts'
import { invalidParams, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import { LATEST } from '../params/blockSelector.ts'
import { listReader, objectReader, readAddress, readData, readHash, readUint64 } from '../params/values.ts'
import { closeBlock, type OpenBlock, openBlock, openGround, type SimulationGround } from '../simulate/simulateBlock.ts'
import { readSignedTransaction } from '../submit/readEvmTransaction.ts'

const readAttributes = objectReader('PayloadAttributes', 'engine.PayloadAttributes', {
  timestamp: readUint64,
  prevRandao: readHash,
  suggestedFeeRecipient: readAddress,
  withdrawals: listReader((json) => json, '[]*types.Withdrawal'),
  parentBeaconBlockRoot: readHash,
})
type Attributes = ReturnType<typeof readAttributes>

const readTransactions: ParamReader<readonly Uint8Array[]> = listReader(readData, '[]hexutil.Bytes')

/** Most bytes of a header's extra data (Ethereum's yellow paper). */
const MAX_EXTRA_DATA = 32

/**
 * Builds a block on the head without changing the chain (execution-apis: testing_buildBlockV1):
 * from the given transactions in their order, or from the pool's when they are null. The work of
 * native modules at a block's start and end is left out, as in simulations.
 */
export const buildBlockV1 = defineMethod({
  name: 'testing_buildBlockV1',
  runs: 'heavy',
  params: [readHash, readAttributes, readTransactions, readData],
  required: 2,
  run: async (context, parentHash, attributes, given, extraData = EMPTY_BYTES) => {
    const { view, limits, monotonicMs } = context
    const head = view.chain.hash(view.chain.headHeight)
    if (head === undefined || !equalBytes(head, parentHash)) throw serverError('parentHash is not current head')
    if (extraData.length > MAX_EXTRA_DATA) throw invalidParams(`extra data of more than ${MAX_EXTRA_DATA} bytes`)
    const pause = executionOf(context).yieldUntil(monotonicMs() + limits.callTimeoutMs)
    const { ground, block } = await open(context, attributes, pause)
    const chosen =
      given === undefined ? await poolTransactions(context) : given.map((raw) => readSignedTransaction(raw, context))
    const built = await execute(ground, block, chosen, given === undefined)
    const extended: OpenBlock = { ...block, header: { ...block.header, extraData } }
    const { header, hash } = await closeBlock(ground, extended, built.transactions, built.receipts)
    return payloadOf(header, hash, built)
  },
})

/** Milliseconds after which all transactions must be in blocks. */
const COMMIT_MS = 20_000

/**
 * Submits the given transactions and returns the hash of the block with the last of them, once they
 * are in blocks; without transactions, the hash of the next block (geth: testing_commitBlockV1).
 * Validators agree on the time, fee recipient and other attributes of a block, so the call's
 * attributes are read, but not used.
 */
export const commitBlockV1 = defineMethod({
  name: 'testing_commitBlockV1',
  runs: 'cheap',
  params: [readAttributes, readTransactions, readData],
  required: 1,
  run: async (context, _attributes, given = []) => {
    const deadlineMs = context.monotonicMs() + COMMIT_MS
    const hashes: Hash[] = []
    for (const raw of given) hashes.push(await submit(context, raw))
    for (;;) {
      const view = await context.nextView(Math.max(0, deadlineMs - context.monotonicMs()))
      if (view === undefined) throw serverError(`not all transactions were in blocks after ${COMMIT_MS / 1000} s`)
      if (context.scope.signal.aborted) throw callCancelled()
      const heights = hashes.map((hash) => view.chain.locate(hash)?.height)
      if (heights.includes(undefined)) continue
      return bytesToHex(view.chain.hash(heights.at(-1) ?? view.chain.headHeight)!)
    }
  },
})

/** The methods of the `testing` namespace, for a devnet. */
export const testingMethods: readonly RpcMethod[] = [buildBlockV1, commitBlockV1]

async function open(context: RpcContext, attributes: Attributes, pause: () => Promise<void>) {
  const { timestamp, suggestedFeeRecipient, prevRandao, parentBeaconBlockRoot, withdrawals = [] } = attributes
  if (timestamp === undefined || suggestedFeeRecipient === undefined || prevRandao === undefined) {
    throw invalidParams('payload attributes need timestamp, suggestedFeeRecipient and prevRandao')
  }
  if (withdrawals.length > 0) throw invalidParams('withdrawals must be empty: this chain has no withdrawals')
  const options = { traceTransfers: false, validation: true, returnFullTransactions: false }
  const { ground, base } = openGround(context, LATEST, options, pause)
  if (Number(timestamp) < base.header.timestamp) throw serverError('timestamp is before that of the parent')
  const parentGasLimit = base.header.gasLimit
  const plan = {
    number: base.header.number + 1,
    timestamp: Number(timestamp),
    overrides: {
      feeRecipient: suggestedFeeRecipient,
      prevRandao,
      gasLimit: ground.execution.ethereumBlocks?.gasLimitAfter(parentGasLimit) ?? parentGasLimit,
      ...(parentBeaconBlockRoot === undefined ? {} : { beaconRoot: parentBeaconBlockRoot }),
    },
    stateOverrides: [],
    calls: [],
  }
  return { ground, block: await openBlock(ground, plan, [], base) }
}

interface Built {
  readonly transactions: readonly SignedTransaction[]
  readonly receipts: readonly Receipt[]
  /** acoin that the transactions pay above the base fee */
  readonly tipsAcoin: bigint
}

/**
 * Executes the transactions.
 * @param skipsInvalid leaves out transactions that cannot start; otherwise they are an error
 */
async function execute(
  { world, execution, pause }: SimulationGround,
  block: OpenBlock,
  chosen: readonly SignedTransaction[],
  skipsInvalid: boolean,
): Promise<Built> {
  const transactions: SignedTransaction[] = []
  const receipts: Receipt[] = []
  let tipsAcoin = 0n
  const { engine, hooks } = execution
  const { context, rules, precompiles, hiddenPrecompiles, precompileGas } = block
  for (const signed of chosen) {
    await pause()
    const outcome = await applyTransaction({
      ...signed,
      world,
      engine,
      block: context,
      rules,
      precompiles,
      hiddenPrecompiles,
      precompileGas,
      gasAvailable: block.header.gasLimit - block.gasUsed,
      yield: pause,
    })
    if (outcome.kind === 'skipped') {
      if (skipsInvalid) continue
      throw serverError(outcome.reason)
    }
    hooks.creditFees(world, outcome, context)
    block.gasUsed += outcome.gasUsed
    tipsAcoin += tipOf(outcome, block)
    transactions.push(signed)
    receipts.push(receiptOf(signed, outcome, { gasUsed: block.gasUsed, blobBaseFee: context.blobBaseFee }))
  }
  return { transactions, receipts, tipsAcoin }
}

function tipOf({ effectiveGasPrice, gasUsed }: AppliedTransaction, { header }: OpenBlock): bigint {
  return (effectiveGasPrice - (header.baseFeePerGas ?? 0n)) * gasUsed
}

async function poolTransactions({ txs }: RpcContext): Promise<readonly SignedTransaction[]> {
  const most = { transactions: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
  const found = await txs.content({ of: 'pending', most })
  if ('refused' in found) throw poolRefusal(found)
  try {
    return Array.from(found.pending, ({ raw, sender }) => ({ transaction: decodeTransaction(raw), sender }))
  } finally {
    found.release()
  }
}

/** Formats the Engine API's ExecutionPayloadV3 in the answer of engine_getPayloadV4. */
function payloadOf(header: EthereumHeader, hash: Hash, built: Built): JsonObject {
  return {
    executionPayload: {
      parentHash: bytesToHex(header.parentHash),
      feeRecipient: bytesToHex(header.miner),
      stateRoot: bytesToHex(header.stateRoot),
      receiptsRoot: bytesToHex(header.receiptsRoot),
      logsBloom: bytesToHex(header.logsBloom),
      prevRandao: bytesToHex(header.mixHash),
      blockNumber: toQuantity(header.number),
      gasLimit: toQuantity(header.gasLimit),
      gasUsed: toQuantity(header.gasUsed),
      timestamp: toQuantity(header.timestamp),
      extraData: bytesToHex(header.extraData),
      baseFeePerGas: toQuantity(header.baseFeePerGas ?? 0n),
      blockHash: bytesToHex(hash),
      transactions: built.transactions.map(({ transaction }) => bytesToHex(transaction.raw)),
      withdrawals: [],
      blobGasUsed: toQuantity(header.blobGasUsed ?? 0n),
      excessBlobGas: toQuantity(header.excessBlobGas ?? 0n),
    },
    blockValue: toQuantity(built.tipsAcoin),
    blobsBundle: { commitments: [], proofs: [], blobs: [] },
    executionRequests: [],
    shouldOverrideBuilder: false,
  }
}
