import { isNativeEntry } from '../../chain/block/entries.ts'
import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import { orderedTrieRoot } from '../../chain/block/orderedTrieRoot.ts'
import type { Receipt } from '../../chain/block/receipt.ts'
import { decodeTransaction, type SignedTransaction } from '../../chain/block/transaction.ts'
import { recoverSender } from '../../chain/block/transactionSender.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT } from '../../primitives/hash.ts'

/**
 * Recovering the senders of a full block takes some 0.1 s, and clients request the head again and
 * again.
 */
const recovered = new WeakMap<EthereumHeader, readonly SignedTransaction[]>()

/**
 * Returns the transactions of a block whose results are not stored. Clients need two such blocks:
 * block 0, which has no transactions, and the head, which right after a restore is the snapshot's
 * block. Its header proves which entries of the consensus block were executed. Returns undefined
 * for other blocks, and for a head that left out an entry: only the results say which.
 */
export function transactionsWithoutResults(
  chain: Pick<ChainReader, 'headHeight' | 'consensusBlock'>,
  header: EthereumHeader,
): readonly SignedTransaction[] | undefined {
  if (header.number === 0) return []
  if (header.number !== chain.headHeight) return undefined
  const known = recovered.get(header)
  if (known !== undefined) return known
  const raws = chain.consensusBlock(header.number)?.txs.filter((raw) => !isNativeEntry(raw)) ?? []
  if (!equalBytes(orderedTrieRoot(raws), header.transactionsRoot)) return undefined
  const transactions = raws.map(withSender)
  recovered.set(header, transactions)
  return transactions
}

/** The same for receipts: only for a block without any. */
export function receiptsWithoutResults({ receiptsRoot }: EthereumHeader): readonly Receipt[] | undefined {
  return equalBytes(receiptsRoot, EMPTY_TRIE_ROOT) ? [] : undefined
}

function withSender(raw: Uint8Array): SignedTransaction {
  const transaction = decodeTransaction(raw)
  // The chain has accepted the transaction, so its rules are met.
  const recovery = recoverSender(transaction, { chainId: transaction.chainId ?? 0n, allowUnprotected: true })
  if ('reason' in recovery) throw new Error(`an executed transaction has no sender: ${recovery.reason}`)
  return { transaction, sender: recovery.sender }
}
