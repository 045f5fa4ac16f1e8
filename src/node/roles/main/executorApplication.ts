import { type ConsensusBlock, decodeBlock, decodeCheckedBlock, encodeBlock } from '../../../chain/comet/block.ts'
import { decodeCheckedCommit, decodeCommit, encodeCommit } from '../../../chain/comet/commit.ts'
import type { BlockId, Evidence } from '../../../chain/comet/types.ts'
import type { Application, DecidedBlock, ProposalRequest } from '../../../consensus/application.ts'
import { runsOf } from '../../../consensus/decidedRun.ts'
import { type PackedBytes, packBytes, unpackBytes } from '../../wire/packedBytes.ts'
import type { Remote } from '../../wire/port.ts'

/** Lists of transactions that both threads count as known: enough for a height with many rounds. */
const KEPT_LISTS = 8

/** A run of blocks ends after the block in which this time is over: a stop of the node waits for the run. */
const RUN_MS = 200
/** So long a run keeps the executor's other work waiting: ends of writes, calls of other threads, timers. */
const TURN_MS = 10

/**
 * Returns the application in the executor thread, for consensus in the main thread. A block's
 * transactions travel as one array, and only once: both threads number the lists of transactions,
 * and a block that the executor has proposed or checked is decided by the number of its list. The
 * blocks of a run, which come from peers, travel whole in one array. {@link applicationService} is
 * the other end.
 */
export function executorApplication(executor: Remote<ApplicationService>): Application {
  /** numbers of the lists that the executor got or gave */
  const numbers = new WeakMap<readonly Uint8Array[], number>()
  let lastNumber = 0
  /** The number of a list that the executor still has. */
  const numberOf = (txs: readonly Uint8Array[]): number | undefined => {
    const number = numbers.get(txs)
    return number === undefined || number <= lastNumber - KEPT_LISTS ? undefined : number
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

export type ApplicationService = ReturnType<typeof applicationService>

/**
 * Serves the executor thread's end of {@link executorApplication}, and keeps the newest lists of
 * transactions, each under the number that the main thread gave it.
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
    for (const old of lists.keys()) if (old <= number - KEPT_LISTS) lists.delete(old)
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

/**
 * A block without its transactions, encoded. The block's fields are views of a peer's message: cloning such a view into another thread
 * would copy the whole message.
 */
type BlockWithoutTransactions = Uint8Array

function packBlockWithoutTransactions(block: ConsensusBlock): BlockWithoutTransactions {
  return encodeBlock({ ...block, txs: [] })
}

/** A decided block except the block itself. */
interface PackedDecision extends Omit<DecidedBlock, 'block' | 'seenCommit'> {
  readonly seenCommit: Uint8Array
}

function packDecision({ block: _, blockId, seenCommit, ...rest }: DecidedBlock): PackedDecision {
  return { ...rest, blockId: copyBlockId(blockId), seenCommit: encodeCommit(seenCommit) }
}

function copyBlockId({ hash, partSetHeader }: BlockId): BlockId {
  return { hash: hash.slice(), partSetHeader: { ...partSetHeader, hash: partSetHeader.hash.slice() } }
}
