import type { ChainReader } from '../../chain/store/store.ts'
import { BoundedCache } from '../../primitives/boundedCache.ts'
import type { ResultText } from './resultText.ts'

/** A request about decided blocks, written as all that say the same: its answer never changes. */
export interface SettledRequest {
  /** the first and the last block that it is about */
  readonly from: number
  readonly to: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** The answers about decided blocks that clients asked for last. */
export interface KeptAnswers {
  /**
   * The answer to a request; runs it unless its answer is kept or is being made for somebody else. Undefined: a block, or its body, is not
   * there.
   */
  find(
    chain: Pick<ChainReader, 'headHeight' | 'oldestBlock'>,
    request: SettledRequest,
    run: (request: SettledRequest) => Promise<ResultText>,
  ): ResultText | Promise<ResultText> | undefined
}

/** What an answer takes beside its text. */
const ANSWER_BYTES = 300

/** @param maxBytes of all answers; none that takes more than an eighth of them is kept */
export function createKeptAnswers(maxBytes: number): KeptAnswers {
  const kept = new BoundedCache<ResultText>(maxBytes, (key, { length }) => key.length + length + ANSWER_BYTES)
  const underway = new Map<string, Promise<ResultText>>()

  const keep = (key: string, answer: ResultText): void => {
    if (answer.length <= maxBytes / 8) kept.set(key, answer)
  }
  const begin = async (key: string, running: Promise<ResultText>): Promise<ResultText> => {
    try {
      const answer = await running
      keep(key, answer)
      return answer
    } finally {
      underway.delete(key)
    }
  }

  return {
    find: ({ headHeight, oldestBlock }, request, run) => {
      if (request.to > headHeight || request.from < oldestBlock) return undefined
      const key = `${request.method}${JSON.stringify(request.params)}`
      const answer = kept.get(key)
      if (answer !== undefined) return answer
      const other = underway.get(key)
      // The other client may have left, or its time may be over: then this one asks itself.
      if (other !== undefined) return other.catch(() => run(request))
      const own = begin(key, run(request))
      underway.set(key, own)
      return own
    },
  }
}
