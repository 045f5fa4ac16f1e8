import type { EthereumHeader } from '../../../src/chain/ethereumHeader.ts'
import type { ChainReader, LogTerms } from '../../../src/chain/reader.ts'
import type { Receipt } from '../../../src/chain/receipt.ts'
import type { SignedTransaction } from '../../../src/chain/transaction.ts'
import { bytesKey } from '../../../src/primitives/bytes.ts'
import type { Hash } from '../../../src/primitives/hash.ts'
import type { StateChanges } from '../../../src/state/changes.ts'

/** A block as the in-memory chain keeps it. */
export interface MemoryBlock {
  readonly header: EthereumHeader
  readonly hash: Hash
  readonly transactions: readonly SignedTransaction[]
  readonly receipts: readonly Receipt[]
  readonly size: number
  /** of the state, from the parent's */
  readonly changes: StateChanges
}

/** A reader of the given blocks, the first of which has height 0. Bodies below `oldestBlock` count as dropped. */
export function memoryChainReader(blocks: readonly MemoryBlock[], oldestBlock = 0): ChainReader {
  const heights = new Map(blocks.map((block, height) => [bytesKey(block.hash), height]))
  const locations = new Map(
    blocks.flatMap((block, height) =>
      block.transactions.map(({ transaction }, index) => [bytesKey(transaction.hash), { height, index }] as const),
    ),
  )
  const kept = (height: number): MemoryBlock | undefined => (height < oldestBlock ? undefined : blocks[height])
  return {
    headHeight: blocks.length - 1,
    oldestBlock,
    header: (height) => blocks[height]?.header,
    hash: (height) => blocks[height]?.hash,
    heightOf: (hash) => heights.get(bytesKey(hash)),
    transactions: (height) => kept(height)?.transactions,
    receipts: (height) => kept(height)?.receipts,
    size: (height) => kept(height)?.size,
    locate: (hash) => locations.get(bytesKey(hash)),
    heightOfConsensusHash: () => undefined,
    consensusBlock: () => undefined,
    validatorsAt: () => undefined,
    validatorSetAt: () => undefined,
    blockId: () => undefined,
    seenCommit: () => undefined,
    async *logHeights(terms, from, to) {
      for (let height = from; height <= to; height++) {
        const logs = blocks[height]?.receipts.flatMap((receipt) => receipt.logs) ?? []
        if (logs.some((log) => mayMatch(terms, log.address, log.topics))) yield height
      }
    },
  }
}

/** Looser than the exact rule: positions are tested one by one, as an index would. */
function mayMatch({ addresses, topics }: LogTerms, address: Uint8Array, own: readonly Uint8Array[]): boolean {
  const among = (list: readonly Uint8Array[], item: Uint8Array | undefined): boolean =>
    list.length === 0 || (item !== undefined && list.some((other) => bytesKey(other) === bytesKey(item)))
  return among(addresses, address) && topics.every((alternatives, position) => among(alternatives, own[position]))
}
