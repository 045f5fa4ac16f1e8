import { encodeBlock } from '../../../chain/comet/block.ts'
import { encodeCommit } from '../../../chain/comet/commit.ts'
import type { Application } from '../../../consensus/application.ts'
import { packBytes, unpackBytes } from '../../wire/packedBytes.ts'
import { packBlockWithoutTransactions, packDecision, RETAINED_LISTS } from '../../wire/packedDecisions.ts'
import type { Remote } from '../../wire/port.ts'
import type { ApplicationService } from '../executor/executorRequests.ts'

/**
 * Returns the application in the executor thread, for consensus in the main thread. A block's
 * transactions travel as one array, and only once: both threads number the lists of transactions,
 * and a block that the executor has proposed or checked is decided by the number of its list. The
 * blocks of a run, which come from peers, travel whole in one array. `applicationService` is
 * the other end.
 */
export function executorApplication(executor: Remote<ApplicationService>): Application {
  /** numbers of the lists that the executor got or gave */
  const numbers = new WeakMap<readonly Uint8Array[], number>()
  let lastNumber = 0
  /** The number of a list that the executor still has. */
  const numberOf = (txs: readonly Uint8Array[]): number | undefined => {
    const number = numbers.get(txs)
    return number === undefined || number <= lastNumber - RETAINED_LISTS ? undefined : number
  }
  return {
    info: () => executor.info(),
    prepareProposal: async (request, budgetMs) => {
      const number = ++lastNumber
      const answer = await executor.prepareProposal(request, budgetMs, number)
      if (answer === undefined) return undefined
      const { packed, ...proposed } = answer
      const txs = unpackBytes(packed)
      numbers.set(txs, number)
      return { ...proposed, txs }
    },
    checkEvidence: (evidence) => executor.checkEvidence(evidence),
    processProposal: (block, budgetMs) => {
      const packed = packBlockWithoutTransactions(block)
      const number = numberOf(block.txs)
      if (number !== undefined) return executor.processProposal(packed, budgetMs, number, undefined)
      numbers.set(block.txs, ++lastNumber)
      return executor.processProposal(packed, budgetMs, lastNumber, packBytes(block.txs))
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
    finalizeRun: ({ blocks, maxGas }) => {
      const bytes = blocks.flatMap(({ block, encoded, seenCommit }) => [
        encoded?.block ?? encodeBlock(block),
        encoded?.commit ?? encodeCommit(seenCommit),
      ])
      const rest = blocks.map(({ catchingUp = false, senders }) => ({ catchingUp, ...(senders && { senders }) }))
      return executor.finalizeRun(packBytes(bytes), rest, maxGas)
    },
  }
}
