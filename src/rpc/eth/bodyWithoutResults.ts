import { isNativeEntry } from '../../chain/block/entries.ts'
import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import { orderedTrieRoot } from '../../chain/block/orderedTrieRoot.ts'
import type { Receipt } from '../../chain/block/receipt.ts'
import { decodeTransaction, type SignedTransaction } from '../../chain/block/transaction.ts'
import { recoverSender } from '../../chain/block/transactionSender.ts'
import type { ChainReader } from '../../chain/store/store.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT } from '../../primitives/hash.ts'

/** To recover the senders of a full block takes some 0.1 s, and clients ask for the head again and again. */
const recovered = new WeakMap<EthereumHeader, readonly SignedTransaction[]>()

/**
 * The transactions of a block whose results are not stored, for the two blocks that clients need all the same: block 0, which has none, and
 * the head, which right after a restore is the snapshot's block. Its header proves which entries of the consensus block were executed;
 * undefined where one was left out, because only the results say which, and for other blocks.
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

/** The same of receipts: only where there are none. */
export function receiptsWithoutResults({ receiptsRoot }: EthereumHeader): readonly Receipt[] | undefined {
  return equalBytes(receiptsRoot, EMPTY_TRIE_ROOT) ? [] : undefined
}

function withSender(raw: Uint8Array): SignedTransaction {
  const transaction = decodeTransaction(raw)
  // The chain has accepted it: its rules are met.
  const recovery = recoverSender(transaction, { chainId: transaction.chainId ?? 0n, allowUnprotected: true })
  if ('reason' in recovery) throw new Error(`an executed transaction has no sender: ${recovery.reason}`)
  return { transaction, sender: recovery.sender }
}
