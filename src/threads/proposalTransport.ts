import type { Application, DecidedBlock, ProposalRequest } from '../consensus/application.ts'
import { type PackedBytes, packBytes, unpackBytes } from './packedBytes.ts'

/**
 * The executor's side of `executorApplication`: it keeps what was proposed until a block is decided, so that its transactions
 * need not come back.
 */
export function proposalTransport(application: Application) {
  let proposed: readonly Uint8Array[] | undefined
  return {
    prepareProposal: async (request: ProposalRequest) => {
      const { txs, dataHash } = await application.prepareProposal(request)
      proposed = txs
      return { packed: packBytes(txs), dataHash }
    },
    /** @param packed the block's transactions; undefined: those of the last proposal */
    finalizeBlock: (decided: DecidedBlock, packed: PackedBytes | undefined) => {
      const txs = packed === undefined ? proposed : unpackBytes(packed)
      proposed = undefined
      if (txs === undefined) throw new Error('a block is decided as it was proposed, but nothing was')
      return application.finalizeBlock({ ...decided, block: { ...decided.block, txs } })
    },
  }
}
