import { toQuantity } from '../../src/primitives/bytes.ts'
import type { EthereumBlock, EthereumTransaction, Receipt } from '../node/answers.ts'
import { AnswerTooLong, type NodeClient, NodeRefusal } from '../node/nodeClient.ts'
import { type CallTree, readCallTree } from './callTree.ts'
import { TRACE_STATES } from './tables.ts'

/** The node's trace of one transaction. */
export interface TransactionTrace {
  /** see {@link TRACE_STATES} */
  readonly state: number
  /** undefined unless the state is `kept` or `cut` */
  readonly tree: CallTree | undefined
}

/** One for each EVM transaction of a block; undefined where no code ran. */
export type BlockTraces = readonly (TransactionTrace | undefined)[]

interface TracedBlock {
  readonly height: number
  readonly ethereum: Pick<EthereumBlock, 'transactions'>
  readonly receipts: readonly Receipt[]
}

/** The node's own limit (RPC_EVM_TIMEOUT_MS) may be shorter. An answer must arrive before the client's time limit. */
const TRACER = { tracer: 'callTracer', timeout: '20s' } as const
/** Transactions of a block that are requested one by one when the node refuses the whole block. */
const MAX_ALONE = 32
/** Gas of a transaction without data that does nothing but to move coins. */
const PLAIN_GAS = 21_000n

/** Error codes of geth and coind. */
const LIMIT_EXCEEDED = -32_005
const NO_METHOD = -32_601
const PRUNED_HISTORY = 4_444
/** Messages of coind, geth and others that lack the state of an old block; the error code is that of any failure. */
const NO_STATE = /historical state|pruned history|missing trie node/i

/**
 * Fetches the calls of the transactions in these blocks that ran code: one request per block, none for a block where no code ran. A
 * missing trace is marked and does not stop the index, because coins, tokens and logs come from receipts and results.
 * @param blocks in the order of their heights, with receipts
 * @throws NodeError when the node cannot be reached, or has too many requests for now
 */
export async function fetchTraces(
  node: Pick<NodeClient, 'ethereum'>,
  blocks: readonly TracedBlock[],
): Promise<ReadonlyMap<number, BlockTraces>> {
  const traces = new Map<number, BlockTraces>()
  let missing: number | undefined
  // From the newest one: where the node has deleted the state of a block, it has no older state. One at a time: a trace is hard work.
  for (const block of blocks.toReversed()) {
    const { transactions } = block.ethereum
    const ran = transactions.map((transaction, index) => ranCode(transaction, block.receipts[index]))
    if (!ran.includes(true)) continue
    const own = missing === undefined ? await fetchBlock(node, block, ran) : missing
    if (own === TRACE_STATES.notKept || own === TRACE_STATES.unsupported) missing = own
    traces.set(
      block.height,
      ran.map((isTraced, index) => {
        if (!isTraced) return undefined
        return typeof own === 'number' ? without(own) : own[index]
      }),
    )
  }
  return traces
}

/**
 * Whether a transaction may have run code: it created a contract, had data, or took more gas than a plain one. A call
 * that moves coins or creates something takes more.
 */
function ranCode(transaction: Pick<EthereumTransaction, 'to' | 'input'>, receipt: Receipt | undefined): boolean {
  return transaction.to === null || transaction.input !== '0x' || BigInt(receipt?.gasUsed ?? 0) > PLAIN_GAS
}

/** @returns a state when all of them have it */
async function fetchBlock(
  node: Pick<NodeClient, 'ethereum'>,
  { height, ethereum: { transactions } }: TracedBlock,
  ran: readonly boolean[],
): Promise<BlockTraces | number> {
  const answer = await ask(node, 'debug_traceBlockByNumber', toQuantity(height))
  if (answer.state === TRACE_STATES.kept) return readBlockTraces(answer.result, transactions)
  if (answer.state !== TRACE_STATES.refused) return answer.state
  // Too long, or too slow: one transaction must not hide the calls of all the others.
  const alone: TransactionTrace[] = []
  let asked = 0
  for (const [index, { hash }] of transactions.entries()) {
    if (ran[index] !== true || asked === MAX_ALONE) {
      alone.push(without(TRACE_STATES.refused))
      continue
    }
    asked++
    const { state, result } = await ask(node, 'debug_traceTransaction', hash)
    alone.push(state === TRACE_STATES.kept ? readTrace(result) : without(state))
  }
  return alone
}

interface TraceAnswer {
  readonly state: number
  readonly result?: unknown
}

/** @throws NodeError */
async function ask(node: Pick<NodeClient, 'ethereum'>, method: string, of: string): Promise<TraceAnswer> {
  try {
    const [result] = await node.ethereum([{ method, params: [of, TRACER] }])
    return { state: TRACE_STATES.kept, result }
  } catch (error) {
    return { state: refusalState(error) }
  }
}

/**
 * What a failure to trace means.
 * @throws the error itself when it may be over in a moment
 */
export function refusalState(error: unknown): number {
  if (error instanceof AnswerTooLong) return TRACE_STATES.refused
  if (!(error instanceof NodeRefusal) || error.code === LIMIT_EXCEEDED) throw error
  if (error.code === NO_METHOD) return TRACE_STATES.unsupported
  return error.code === PRUNED_HISTORY || NO_STATE.test(error.message) ? TRACE_STATES.notKept : TRACE_STATES.refused
}

function readBlockTraces(result: unknown, transactions: readonly EthereumTransaction[]): BlockTraces {
  const list: readonly unknown[] = Array.isArray(result) ? result : []
  return transactions.map(({ hash }, index) => {
    const own = list[index] as { readonly txHash?: unknown; readonly result?: unknown } | null | undefined
    return own?.txHash === hash ? readTrace(own.result) : without(TRACE_STATES.refused)
  })
}

function readTrace(result: unknown): TransactionTrace {
  const tree = readCallTree(result)
  if (tree === undefined) return without(TRACE_STATES.refused)
  return { state: tree.isCut ? TRACE_STATES.cut : TRACE_STATES.kept, tree }
}

function without(state: number): TransactionTrace {
  return { state, tree: undefined }
}
