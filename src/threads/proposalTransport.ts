import type { Evidence } from '../chain/consensus/types.ts'
import type { Application, ProposalRequest } from '../consensus/application.ts'
import {
  type BlockWithoutTransactions,
  type PackedDecision,
  unpackBlockWithoutTransactions,
  unpackDecision,
} from './packedBlock.ts'
import { type PackedBytes, packBytes, unpackBytes } from './packedBytes.ts'

/** Lists of transactions that both sides count as known: the newest ones of a height with many rounds. */
export const KEPT_LISTS = 8

/**
 * The executor's side of `executorApplication`: it keeps the transactions of proposals until a block is decided, so that they
 * need not come again.
 */
export function proposalTransport(application: Application) {
  /** by the number that the other side gave them */
  const lists = new Map<number, readonly Uint8Array[]>()

  const keep = (number: number, txs: readonly Uint8Array[]): void => {
    lists.set(number, txs)
    for (const old of lists.keys()) if (old <= number - KEPT_LISTS) lists.delete(old)
  }
  const take = (number: number | undefined, packed: PackedBytes | undefined): readonly Uint8Array[] => {
    const txs = packed === undefined ? lists.get(number ?? 0) : unpackBytes(packed)
    if (txs === undefined) throw new Error('a block came without its transactions, but they are not here')
    return txs
  }

  return {
    checkEvidence: (evidence: Evidence) => application.checkEvidence(evidence),
    prepareProposal: async (request: ProposalRequest, number: number) => {
      const { txs, ...proposed } = await application.prepareProposal(request)
      keep(number, txs)
      return { ...proposed, packed: packBytes(txs) }
    },
    processProposal: (shell: BlockWithoutTransactions, number: number, packed: PackedBytes | undefined) => {
      const txs = take(number, packed)
      keep(number, txs)
      return application.processProposal(unpackBlockWithoutTransactions(shell, txs))
    },
    finalizeBlock: (
      decision: PackedDecision,
      shell: BlockWithoutTransactions,
      number: number | undefined,
      packed: PackedBytes | undefined,
    ) => {
      const txs = take(number, packed)
      return application.finalizeBlock(unpackDecision(decision, unpackBlockWithoutTransactions(shell, txs)))
    },
  }
}
