import { nextBaseFee } from '../../chain/block/baseFee.ts'
import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { type RunningParams, runningParams, seedAfter } from '../../execution/blockContext.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH } from '../../primitives/hash.ts'
import type { NodeView } from '../../state/view.ts'
import { serverError } from '../jsonrpc/errors.ts'

type Chain = Pick<ChainConfig, 'blockGasLimit' | 'feeMarket' | 'genesisHash'>
type View = Pick<NodeView, 'stateAt'> & {
  readonly chain: Pick<ChainReader, 'headHeight' | 'header' | 'hash' | 'blockId'>
}

/** Returns the head's header. @throws RpcError before the genesis block is stored */
export function headHeader(reader: Pick<ChainReader, 'headHeight' | 'header'>): EthereumHeader {
  const header = reader.header(reader.headHeight)
  if (header === undefined) throw serverError('header not found')
  return header
}

/** Returns the base fee of the block after the head, wei per gas; undefined before London. */
export function baseFeeAfterHead(view: Pick<View, 'stateAt' | 'chain'>, chain: RunningParams): bigint | undefined {
  const { baseFeePerGas, gasUsed, gasLimit } = headHeader(view.chain)
  if (baseFeePerGas === undefined) return undefined
  return nextBaseFee({ baseFeePerGas, gasUsed, gasLimit }, paramsAfterHead(view, chain).feeMarket)
}

function paramsAfterHead({ chain, stateAt }: Pick<View, 'stateAt' | 'chain'>, genesis: RunningParams): RunningParams {
  const state = stateAt(chain.headHeight)
  return runningParams({ get: (key) => state.getNative(key) }, genesis)
}

/**
 * Returns the header of the next block as far as it is known now: no transactions, the state of the
 * head, and the head's proposer, since the next one is not known.
 */
export function nextHeader(view: View, chain: Chain, nowMs: number): EthereumHeader {
  const reader = view.chain
  const parent = headHeader(reader)
  const parentHash = reader.hash(parent.number)
  if (parentHash === undefined) throw serverError('header not found')
  const seed = seedAfter(
    {
      parent,
      parentHash,
      parentConsensusHash: reader.blockId(parent.number)?.hash ?? chain.genesisHash,
      timeMs: Math.max(nowMs, parent.timestamp * 1000),
      miner: parent.miner,
    },
    paramsAfterHead(view, chain),
  )
  return {
    ...seed,
    baseFeePerGas: baseFeeAfterHead(view, chain),
    sha3Uncles: EMPTY_UNCLES_HASH,
    stateRoot: parent.stateRoot,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    gasUsed: 0n,
    extraData: parent.extraData,
    nonce: new Uint8Array(8),
    withdrawalsRoot: parent.withdrawalsRoot,
    blobGasUsed: parent.blobGasUsed === undefined ? undefined : 0n,
    requestsHash: parent.requestsHash,
  }
}
