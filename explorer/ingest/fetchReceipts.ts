import { toQuantity } from '../../src/primitives/bytes.ts'
import type { EthereumBlock, Receipt } from '../node/answers.ts'
import { AnswerTooLong, type NodeClient, NodeError, NodeRefusal } from '../node/nodeClient.ts'

interface BlockWithTransactions {
  readonly height: number
  readonly ethereum: Pick<EthereumBlock, 'transactions'>
}

/** Error code of geth and coind (RPC_RESPONSE_LIMIT) for an answer with too many bytes. */
const RESPONSE_TOO_LARGE = -32_003

/**
 * The receipts of these blocks by height, in one request. A block full of small logs has more of them than a node answers at once: its
 * receipts are asked for one by one, and each fits, because the gas of one transaction bounds its logs.
 * @throws NodeError
 */
export async function fetchReceipts(
  node: Pick<NodeClient, 'ethereum'>,
  blocks: readonly BlockWithTransactions[],
): Promise<ReadonlyMap<number, readonly Receipt[]>> {
  const calls = blocks.map(({ height }) => ({ method: 'eth_getBlockReceipts', params: [toQuantity(height)] }))
  try {
    const answers = (await node.ethereum(calls)) as readonly (readonly Receipt[] | null)[]
    return new Map(blocks.map(({ height }, index) => [height, received(answers[index], height)]))
  } catch (error) {
    if (!isTooLong(error)) throw error
  }
  const receipts = new Map<number, readonly Receipt[]>()
  for (const block of blocks) {
    const { height } = block
    const own = blocks.length > 1 ? await fetchReceipts(node, [block]) : undefined
    receipts.set(height, own?.get(height) ?? (await fetchEach(node, block)))
  }
  return receipts
}

async function fetchEach(
  node: Pick<NodeClient, 'ethereum'>,
  { height, ethereum }: BlockWithTransactions,
): Promise<readonly Receipt[]> {
  const receipts: Receipt[] = []
  // One after the other: together they are the answer that was too long.
  for (const { hash } of ethereum.transactions) {
    const [receipt] = await node.ethereum([{ method: 'eth_getTransactionReceipt', params: [hash] }])
    receipts.push(received(receipt as Receipt | null, height))
  }
  return receipts
}

function received<T>(answer: T | null | undefined, height: number): T {
  if (answer === null || answer === undefined) {
    throw new NodeError(`the node does not have the receipts of block ${height}`)
  }
  return answer
}

function isTooLong(error: unknown): boolean {
  return error instanceof AnswerTooLong || (error instanceof NodeRefusal && error.code === RESPONSE_TOO_LARGE)
}
