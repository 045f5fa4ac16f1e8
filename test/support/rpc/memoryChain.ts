import { NO_BLOCK_EVENTS, type StoredEntry } from '../../../src/chain/block/entries.ts'
import type { EthereumHeader } from '../../../src/chain/block/ethereumBlock.ts'
import type { Receipt } from '../../../src/chain/block/receipt.ts'
import type { SignedTransaction } from '../../../src/chain/block/transaction.ts'
import { BLOCK_PROTOCOL, type ConsensusBlock } from '../../../src/chain/comet/block.ts'
import { EMPTY_COMMIT, NIL_BLOCK_ID } from '../../../src/chain/comet/types.ts'
import type { LogTerms } from '../../../src/chain/indexes/logIndex.ts'
import type { ChainReader } from '../../../src/chain/store/chainReader.ts'
import { ZERO_ADDRESS } from '../../../src/primitives/address.ts'
import { bytesKey } from '../../../src/primitives/bytes.ts'
import { type Hash, ZERO_HASH } from '../../../src/primitives/hash.ts'
import type { StateChanges } from '../../../src/state/changes.ts'

/** A block as the in-memory chain keeps it. */
export interface MemoryBlock {
  readonly header: EthereumHeader
  readonly hash: Hash
  readonly transactions: readonly SignedTransaction[]
  readonly receipts: readonly Receipt[]
  /** RLP of the block */
  readonly encoded: Uint8Array
  /** of the state, from the parent's */
  readonly changes: StateChanges
}

/** A reader of the given blocks, the first of which has height 0. Bodies below `oldestBlock` count as dropped, and all below `base`. */
export function memoryChainReader(blocks: readonly MemoryBlock[], oldestBlock = 0, base = 0): ChainReader {
  const heights = new Map(blocks.map((block, height) => [bytesKey(block.hash), height]))
  const locations = new Map(
    blocks.flatMap((block, height) =>
      block.transactions.map(({ transaction }, index) => [bytesKey(transaction.hash), { height, index }] as const),
    ),
  )
  const kept = (height: number): MemoryBlock | undefined => (height < oldestBlock ? undefined : blocks[height])
  return {
    headHeight: blocks.length - 1,
    base,
    oldestBlock,
    indexedFrom: 0,
    callsFrom: Number.POSITIVE_INFINITY,
    callHeights: () => Promise.reject(new Error('calls are not indexed')),
    header: (height) => (height > 0 && height < base ? undefined : blocks[height]?.header),
    hash: (height) => (height > 0 && height < base ? undefined : blocks[height]?.hash),
    packedBelow: 0,
    heightOf: (hash) => heights.get(bytesKey(hash)),
    heightsOf: (hash) => heightsIn(heights.get(bytesKey(hash))),
    transactions: (height) => kept(height)?.transactions,
    transactionCount: (height) => kept(height)?.transactions.length,
    receipts: (height) => kept(height)?.receipts,
    ethereumBlock: (height) => kept(height)?.encoded,
    size: (height) => kept(height)?.encoded.length,
    locate: (hash) => locations.get(bytesKey(hash)),
    heightsOfTransaction: (hash) => heightsIn(locations.get(bytesKey(hash))?.height),
    locateNative: () => undefined,
    entryResults: (height) => kept(height) && entriesOf(kept(height)!),
    blockEvents: () => NO_BLOCK_EVENTS,
    heightOfConsensusHash: () => undefined,
    heightsOfConsensusHash: () => [],
    encodedBlock: () => undefined,
    storedBlock: () => undefined,
    blockTimeMs: (height) =>
      blocks[height] && height > 0 ? consensusBlockOf(blocks[height]).header.timeMs : undefined,
    consensusBlock: (height) => (height === 0 ? undefined : blocks[height] && consensusBlockOf(blocks[height])),
    validatorsAt: () => undefined,
    validatorSetAt: () => ({ validators: [], totalPower: 0n }),
    blockId: () => undefined,
    seenCommit: () => undefined,
    lightBlock: () => undefined,
    nextLightBlock: (height) => height,
    async *eventHeights(_, from, to) {
      for (let height = from; height <= to; height++) yield height
    },
    async *logHeights(terms, from, to) {
      for (let height = from; height <= to; height++) {
        const logs = blocks[height]?.receipts.flatMap((receipt) => receipt.logs) ?? []
        if (logs.some((log) => mayMatch(terms, log.address, log.topics))) yield [height]
      }
    },
  }
}

function heightsIn(height: number | undefined): readonly number[] {
  return height === undefined ? [] : [height]
}

function entriesOf({ transactions, receipts }: MemoryBlock): StoredEntry[] {
  return transactions.map((signed, index) => ({
    kind: 'evm',
    index,
    signed,
    receipt: receipts[index]!,
    transfers: [],
    events: [],
  }))
}

/** What there is of it without consensus: nobody signed it. */
function consensusBlockOf({ header, transactions }: MemoryBlock): ConsensusBlock {
  const { number, timestamp } = header
  return {
    header: {
      version: { block: BLOCK_PROTOCOL, app: 0 },
      chainId: 'coin_7628-1',
      height: number,
      timeMs: timestamp * 1000,
      lastBlockId: NIL_BLOCK_ID,
      lastCommitHash: ZERO_HASH,
      dataHash: ZERO_HASH,
      validatorsHash: ZERO_HASH,
      nextValidatorsHash: ZERO_HASH,
      consensusHash: ZERO_HASH,
      appHash: ZERO_HASH,
      lastResultsHash: ZERO_HASH,
      evidenceHash: ZERO_HASH,
      proposerAddress: ZERO_ADDRESS,
    },
    txs: transactions.map(({ transaction }) => transaction.raw),
    evidence: [],
    lastCommit: EMPTY_COMMIT,
  }
}

/** Looser than the exact rule: positions are tested one by one, as an index would. */
function mayMatch({ addresses, topics }: LogTerms, address: Uint8Array, own: readonly Uint8Array[]): boolean {
  const among = (list: readonly Uint8Array[], item: Uint8Array | undefined): boolean =>
    list.length === 0 || (item !== undefined && list.some((other) => bytesKey(other) === bytesKey(item)))
  return among(addresses, address) && topics.every((alternatives, position) => among(alternatives, own[position]))
}
