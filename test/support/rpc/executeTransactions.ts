import { logsBloom, type Receipt } from '../../../src/chain/block/receipt.ts'
import type { SignedTransaction } from '../../../src/chain/block/transaction.ts'
import { includesFork } from '../../../src/chain/genesis/hardfork.ts'
import { applyTransaction, type TransitionContext } from '../../../src/evm/transition.ts'
import type { Journal } from '../../../src/state/journal.ts'

export type ExecutionContext = Omit<TransitionContext, 'world'> & { readonly world: Journal }

/**
 * Applies a block's transactions in order. Tips go to the coinbase and base fees are burnt, as on Ethereum.
 * `stateRoot` gives the root after each transaction for receipts before Byzantium.
 * @throws Error when one cannot start
 */
export async function executeTransactions(
  context: ExecutionContext,
  transactions: readonly SignedTransaction[],
  stateRoot?: () => Promise<Uint8Array>,
): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  let cumulativeGasUsed = 0n
  for (const signed of transactions) {
    const outcome = await applyTransaction({
      ...context,
      ...signed,
      gasAvailable: context.block.gasLimit - cumulativeGasUsed,
      routeFees: ({ tipAcoin }) => context.world.addBalance(context.block.coinbase, tipAcoin),
    })
    if (outcome.kind === 'skipped') throw new Error(`a transaction could not start: ${outcome.reason}`)
    cumulativeGasUsed += outcome.gasUsed
    const { type } = signed.transaction
    const hasStatus = includesFork(context.rules.fork, 'byzantium') || stateRoot === undefined
    receipts.push({
      type,
      status: hasStatus ? (outcome.status === 'success' ? 1 : 0) : await stateRoot(),
      gasUsed: outcome.gasUsed,
      cumulativeGasUsed,
      effectiveGasPrice: outcome.effectiveGasPrice,
      logs: outcome.logs,
      logsBloom: logsBloom(outcome.logs),
      contractAddress: outcome.createdAddress,
      blobGasUsed: type === 3 ? outcome.blobGasUsed : undefined,
      blobGasPrice: type === 3 ? context.block.blobBaseFee : undefined,
    })
  }
  return receipts
}
