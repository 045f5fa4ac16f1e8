import type { ChainReader } from '../../chain/store/chainReader.ts'
import { BoundedCache } from '../../primitives/boundedCache.ts'
import type { ResultText } from './resultText.ts'

/** A request about decided blocks, in a normal form: its answer never changes. */
export interface CacheableRequest {
  /** the first and the last block of the request */
  readonly from: number
  readonly to: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** Cache of the last requested answers about decided blocks. */
export interface AnswerCache {
  /**
   * Returns the answer to a request. Runs the request unless its answer is cached or being made for
   * another client. Undefined: the node does not have a block, or its body.
   */
  find(
    chain: Pick<ChainReader, 'headHeight' | 'oldestBlock'>,
    request: CacheableRequest,
    run: (request: CacheableRequest) => Promise<ResultText>,
  ): ResultText | Promise<ResultText> | undefined
}

/** Memory of an answer in addition to its text. */
const ANSWER_BYTES = 300

/**
 * Creates the cache.
 * @param maxBytes of all answers; an answer that takes more than an eighth is not cached
 */
export function createAnswerCache(maxBytes: number): AnswerCache {
  const answers = new BoundedCache<ResultText>(maxBytes, (key, { length }) => key.length + length + ANSWER_BYTES)
  const underway = new Map<string, Promise<ResultText>>()

  const begin = async (key: string, running: Promise<ResultText>): Promise<ResultText> => {
    try {
      const answer = await running
      if (answer.length <= maxBytes / 8) answers.set(key, answer)
      return answer
    } finally {
      underway.delete(key)
    }
  }

  return {
    find: ({ headHeight, oldestBlock }, request, run) => {
      if (request.to > headHeight || request.from < oldestBlock) return undefined
      const key = `${request.method}${JSON.stringify(request.params)}`
      const answer = answers.get(key)
      if (answer !== undefined) return answer
      const other = underway.get(key)
      // The other client may have left, or its time may be over: then this client runs the request
      // itself.
      if (other !== undefined) return other.catch(() => run(request))
      const own = begin(key, run(request))
      underway.set(key, own)
      return own
    },
  }
}
