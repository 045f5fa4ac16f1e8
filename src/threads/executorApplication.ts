import type { Application } from '../consensus/application.ts'
import type { ExecutorService } from './executor.ts'
import { packBlockWithoutTransactions, packDecision } from './packedBlock.ts'
import { packBytes, unpackBytes } from './packedBytes.ts'
import type { Remote } from './port.ts'
import { KEPT_LISTS } from './proposalTransport.ts'

/**
 * The application in the executor's thread, for consensus in this one. A block's transactions travel as one array, and
 * only once: what the executor proposed or has checked is decided without sending them again.
 */
export function executorApplication(executor: Remote<ExecutorService>): Application {
  /** numbers of the transaction lists that the executor has */
  const known = new WeakMap<readonly Uint8Array[], number>()
  let lastNumber = 0
  /** The number of a list that is still there. */
  const numberOf = (txs: readonly Uint8Array[]): number | undefined => {
    const number = known.get(txs)
    return number === undefined || number <= lastNumber - KEPT_LISTS ? undefined : number
  }
  return {
    info: () => executor.info(),
    prepareProposal: async (request) => {
      const number = ++lastNumber
      const { packed, ...proposed } = await executor.prepareProposal(request, number)
      const txs = unpackBytes(packed)
      known.set(txs, number)
      return { ...proposed, txs }
    },
    checkEvidence: (evidence) => executor.checkEvidence(evidence),
    processProposal: (block) => {
      const number = numberOf(block.txs)
      if (number !== undefined) return executor.processProposal(packBlockWithoutTransactions(block), number, undefined)
      known.set(block.txs, ++lastNumber)
      return executor.processProposal(packBlockWithoutTransactions(block), lastNumber, packBytes(block.txs))
    },
    finalizeBlock: (decided) => {
      const { block } = decided
      const number = numberOf(block.txs)
      return executor.finalizeBlock(
        packDecision(decided),
        packBlockWithoutTransactions(block),
        number,
        number === undefined ? packBytes(block.txs) : undefined,
      )
    },
  }
}
