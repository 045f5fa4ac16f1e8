import type { Application } from '../consensus/application.ts'
import type { ExecutorService } from './executor.ts'
import { packBytes, unpackBytes } from './packedBytes.ts'
import type { Remote } from './port.ts'

/**
 * The application in the executor's thread, for consensus in this one. A proposal's transactions travel as one array, and
 * only once: what is decided as it was proposed goes back without them.
 */
export function executorApplication(executor: Remote<ExecutorService>): Application {
  let proposed: readonly Uint8Array[] | undefined
  return {
    info: () => executor.info(),
    prepareProposal: async (request) => {
      const { packed, dataHash } = await executor.prepareProposal(request)
      proposed = unpackBytes(packed)
      return { txs: proposed, dataHash }
    },
    processProposal: (block) => executor.processProposal(block),
    finalizeBlock: (decided) => {
      const { block } = decided
      const isProposed = block.txs === proposed
      proposed = undefined
      return executor.finalizeBlock(
        { ...decided, block: { ...block, txs: [] } },
        isProposed ? undefined : packBytes(block.txs),
      )
    },
  }
}
