import { toQuantity } from '../../src/primitives/bytes.ts'
import { type BlockTraces, fetchTraces } from '../contracts/fetchTraces.ts'
import { governanceChanges } from '../governance/ingest.ts'
import type {
  BlockResults,
  ConsensusBlock,
  EthereumBlock,
  NativeTransaction,
  NodeProposal,
  Receipt,
} from '../node/answers.ts'
import { type NodeClient, NodeError } from '../node/nodeClient.ts'
import { askState } from '../node/stateQueries.ts'
import { fetchReceipts } from './fetchReceipts.ts'

/** The node's answers for one block. */
export interface FetchedBlock {
  readonly height: number
  readonly ethereum: EthereumBlock
  readonly consensus: ConsensusBlock
  readonly results: BlockResults
  /** of its EVM transactions, in their order */
  readonly receipts: readonly Receipt[]
  /** of its EVM transactions, in their order; none when no code ran */
  readonly traces: BlockTraces
  /** its transactions decoded, EVM ones too, when it has native ones; else none */
  readonly decoded: readonly NativeTransaction[]
  /** proposals that it changed, by number, as they are after it; null: the node has deleted it */
  readonly proposals: ReadonlyMap<number, NodeProposal | null>
}

/**
 * Asks the node for the blocks from `first` to `last`, with as few requests as that takes: two for all of them, and for those that have
 * transactions one more, or two; for those that ran code one each.
 * @throws NodeError
 */
export async function fetchBlocks(
  node: Pick<NodeClient, 'ethereum' | 'comet' | 'rest'>,
  first: number,
  last: number,
): Promise<readonly FetchedBlock[]> {
  const heights = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const [ethereum, comet] = await Promise.all([
    node.ethereum(heights.map((height) => ({ method: 'eth_getBlockByNumber', params: [toQuantity(height), true] }))),
    node.comet(
      heights.flatMap((height) =>
        ['block', 'block_results'].map((method) => ({ method, params: { height: String(height) } })),
      ),
    ),
  ])
  // Behind a load balancer, the node that is asked may not be the one that announced the block.
  const missing = heights.find((_, index) => ethereum[index] === null)
  if (missing !== undefined) throw new NodeError(`the node does not have block ${missing} yet`)
  const blocks = heights.map((height, index) => ({
    height,
    ethereum: ethereum[index] as EthereumBlock,
    consensus: comet[index * 2] as ConsensusBlock,
    results: comet[index * 2 + 1] as BlockResults,
  }))
  const withEvm = blocks.filter((block) => block.ethereum.transactions.length > 0)
  const receiptsOf = await fetchReceipts(node, withEvm)
  const traces = await fetchTraces(
    node,
    withEvm.map(({ height, ethereum: own }) => ({ height, ethereum: own, receipts: receiptsOf.get(height)! })),
  )
  const decodedOf = new Map<number, readonly NativeTransaction[]>()
  const proposalsOf = new Map<number, ReadonlyMap<number, NodeProposal | null>>()
  for (const { height, ethereum, consensus, results } of blocks) {
    proposalsOf.set(height, await fetchProposals(node, height, results))
    const count = consensus.block.data.txs?.length ?? 0
    if (count > ethereum.transactions.length) decodedOf.set(height, await fetchDecoded(node, height, count))
  }
  return blocks.map((block) => ({
    ...block,
    receipts: receiptsOf.get(block.height) ?? [],
    traces: traces.get(block.height) ?? [],
    decoded: decodedOf.get(block.height) ?? [],
    proposals: proposalsOf.get(block.height)!,
  }))
}

async function fetchProposals(
  node: Pick<NodeClient, 'rest'>,
  height: number,
  { txs_results: transactions, finalize_block_events: events }: BlockResults,
): Promise<ReadonlyMap<number, NodeProposal | null>> {
  const found = new Map<number, NodeProposal | null>()
  for (const own of [...(transactions ?? []).map((result) => result.events), events ?? []]) {
    for (const { kind, id } of governanceChanges(own)) {
      if (kind === 'vote' || kind === 'deposit' || found.has(id)) continue
      const path = `/cosmos/gov/v1/proposals/${id}`
      const answer = await askState<{ readonly proposal: NodeProposal }>(node, path, height)
      found.set(id, answer?.proposal ?? null)
    }
  }
  return found
}

/** The SDK returns at most this many transactions of a block at once. */
const PAGE = 100

async function fetchDecoded(
  node: Pick<NodeClient, 'rest'>,
  height: number,
  count: number,
): Promise<readonly NativeTransaction[]> {
  const all: NativeTransaction[] = []
  while (all.length < count) {
    const query = `pagination.offset=${all.length}&pagination.limit=${PAGE}`
    const page = (await node.rest(`/cosmos/tx/v1beta1/txs/block/${height}?${query}`)) as {
      readonly txs: readonly NativeTransaction[]
    }
    if (page.txs.length === 0)
      throw new NodeError(`the node returned ${all.length} of the ${count} transactions of block ${height}`)
    all.push(...page.txs)
  }
  return all
}
