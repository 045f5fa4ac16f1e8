import type { CandidateRequest, CandidateSource } from '../../../execution/proposal.ts'
import { packHashes, unpackSenders, unpackTransactions } from '../../../mempool/packedMessages.ts'
import type { Address } from '../../../primitives/address.ts'
import type { Hash } from '../../../primitives/hash.ts'

/**
 * How long a block waits for the pool's candidates. After it the block is closed with the transactions that it has: with none, it is
 * empty. The pool thread serves the executor before everything else, so an answer takes a few milliseconds.
 */
const CANDIDATES_MS = 100
/** How long the check of a block waits for the senders that the pool knows. After it the executor recovers all of them itself. */
const SENDERS_MS = 60

/** The functions of the pool thread that the executor calls. */
interface RemotePool {
  candidates(request: CandidateRequest): Promise<Uint8Array>
  senders(hashes: Uint8Array): Promise<Uint8Array>
}

interface CandidateSourceOptions {
  readonly pool: RemotePool
  /** whether the pool has no transactions: then its thread is not asked */
  readonly isEmpty: () => boolean
  /** sends the pool a message that has no answer; the hashes are packed */
  readonly notify: (method: 'dropUnexecutable' | 'postpone', hashes: Uint8Array) => void
  /** runs the work after so many milliseconds, unless the returned function was called before */
  readonly after: (milliseconds: number, work: () => void) => () => void
  /** a deadline has passed */
  readonly onLate: (asked: 'candidates' | 'senders') => void
}

interface PoolSource extends CandidateSource {
  readonly senders: (hashes: readonly Hash[]) => Promise<readonly (Address | undefined)[]>
  readonly postpone: NonNullable<CandidateSource['postpone']>
}

/**
 * Returns the mempool as the executor sees it. No answer is awaited beyond its deadline: strangers
 * feed the pool's thread.
 */
export function createCandidateSource(options: CandidateSourceOptions): PoolSource {
  const { pool, isEmpty, notify, after, onLate } = options
  const within = <T>(answer: Promise<T>, asked: 'candidates' | 'senders', milliseconds: number, late: T): Promise<T> =>
    new Promise((resolve, reject) => {
      const cancel = after(milliseconds, () => {
        onLate(asked)
        resolve(late)
      })
      answer.then(resolve, reject).finally(cancel)
    })
  return {
    candidates: async (request) => {
      if (isEmpty()) return []
      const packed = await within(pool.candidates(request), 'candidates', CANDIDATES_MS, undefined)
      return packed === undefined ? [] : unpackTransactions(packed)
    },
    senders: async (hashes) => {
      const packed = await within(pool.senders(packHashes(hashes)), 'senders', SENDERS_MS, undefined)
      return packed === undefined ? hashes.map(() => undefined) : unpackSenders(packed)
    },
    unexecutable: (hashes) => notify('dropUnexecutable', packHashes(hashes)),
    postpone: (hashes) => notify('postpone', packHashes(hashes)),
  }
}
