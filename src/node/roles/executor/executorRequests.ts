import { decodeBlock, decodeCheckedBlock } from '../../../chain/comet/block.ts'
import { decodeCheckedCommit, decodeCommit } from '../../../chain/comet/commit.ts'
import type { Evidence } from '../../../chain/comet/types.ts'
import type { Application, DecidedBlock, ProposalRequest } from '../../../consensus/application.ts'
import { runsOf } from '../../../consensus/decidedRun.ts'
import { type PackedBytes, packBytes, unpackBytes } from '../../wire/packedBytes.ts'
import { type BlockWithoutTransactions, type PackedDecision, RETAINED_LISTS } from '../../wire/packedDecisions.ts'

/** A run of blocks ends after the block in which this time is over: a stop of the node waits for the run. */
const RUN_MS = 200
/** So long a run keeps the executor's other work waiting: ends of writes, calls of other threads, timers. */
const TURN_MS = 10

export type ApplicationService = ReturnType<typeof applicationService>

/**
 * What consensus in the main thread asks the executor; `executorApplication` is the other end.
 * Retains the newest lists of transactions, each under the number that the main thread gave it.
 */
export function applicationService(application: Application) {
  let runEndsMs = 0
  let turnEndsMs = 0
  const startTurn = (): void => {
    turnEndsMs = performance.now() + TURN_MS
  }
  const finalizeRun = runsOf(
    (decided) => application.finalizeBlock(decided),
    async () => {
      const nowMs = performance.now()
      if (nowMs >= runEndsMs) return false
      if (nowMs >= turnEndsMs) {
        await new Promise((resolve) => setImmediate(resolve))
        startTurn()
      }
      return true
    },
  )
  const lists = new Map<number, readonly Uint8Array[]>()

  const keep = (number: number, txs: readonly Uint8Array[]): void => {
    lists.set(number, txs)
    for (const old of lists.keys()) if (old <= number - RETAINED_LISTS) lists.delete(old)
  }
  const listOf = (number: number | undefined, packed: PackedBytes | undefined): readonly Uint8Array[] => {
    const txs = packed === undefined ? lists.get(number ?? 0) : unpackBytes(packed)
    if (txs === undefined) throw new Error('a block arrived without its transactions, which this thread does not have')
    return txs
  }

  return {
    info: () => application.info(),
    checkEvidence: (evidence: Evidence) => application.checkEvidence(evidence),
    prepareProposal: async (request: ProposalRequest, budgetMs: number, number: number) => {
      const answer = await application.prepareProposal(request, budgetMs)
      if (answer === undefined) return undefined
      const { txs, ...proposed } = answer
      keep(number, txs)
      return { ...proposed, packed: packBytes(txs) }
    },
    processProposal: (
      block: BlockWithoutTransactions,
      budgetMs: number | undefined,
      number: number,
      packed: PackedBytes | undefined,
    ) => {
      const txs = listOf(number, packed)
      keep(number, txs)
      return application.processProposal({ ...decodeBlock(block), txs }, budgetMs)
    },
    finalizeBlock: (
      { seenCommit, ...rest }: PackedDecision,
      block: BlockWithoutTransactions,
      number: number | undefined,
      packed: PackedBytes | undefined,
    ) => {
      const txs = listOf(number, packed)
      return application.finalizeBlock({
        ...rest,
        block: { ...decodeBlock(block), txs },
        seenCommit: decodeCommit(seenCommit),
      })
    },
    finalizeRun: (
      packed: PackedBytes,
      rest: readonly Pick<DecidedBlock, 'catchingUp' | 'senders'>[],
      maxGas: number,
    ) => {
      const bytes = unpackBytes(packed)
      const blocks = rest.map((fields, index): DecidedBlock => {
        const encoded = { block: bytes[2 * index]!, commit: bytes[2 * index + 1]! }
        const seenCommit = decodeCheckedCommit(encoded.commit)
        return { ...fields, block: decodeCheckedBlock(encoded.block), blockId: seenCommit.blockId, seenCommit, encoded }
      })
      runEndsMs = performance.now() + RUN_MS
      startTurn()
      return finalizeRun({ blocks, maxGas })
    },
  }
}
