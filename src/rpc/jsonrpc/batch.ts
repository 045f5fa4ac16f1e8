import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventLoopQuota } from '../transport/eventLoopQuota.ts'
import { type CallScope, monotonicMs } from './callScope.ts'
import { errorResponse, responseTooLarge, timedOut } from './errors.ts'

/** One item of a batch. */
export interface BatchCall {
  /** JSON text */
  readonly id: string
  /**
   * Which calls may run at the same time as this one. `free`: other free calls; `pipelined`: other
   * pipelined calls, which keep the order in which they are started; `alone`: none
   */
  readonly order: 'free' | 'pipelined' | 'alone'
  readonly expectsAnswer: boolean
  /** never rejects */
  readonly answer: () => Promise<string | undefined>
}

/** The one ordered method whose calls may run at the same time: they reach the pool in the order in which they are started. */
const PIPELINED_METHOD = 'eth_sendRawTransaction'

/**
 * Methods that change the node, or the results of later calls in the batch: a batch runs each of
 * them alone, in its turn.
 */
const ORDERED_METHODS: ReadonlySet<string> = new Set([
  PIPELINED_METHOD,
  'eth_sendRawTransactionSync',
  'eth_newFilter',
  'eth_newBlockFilter',
  'eth_newPendingTransactionFilter',
  'eth_getFilterChanges',
  'eth_getFilterLogs',
  'eth_uninstallFilter',
  'eth_subscribe',
  'eth_unsubscribe',
])

/** Returns which calls may run at the same time as a call of `method`. */
export function orderOf(method: string): BatchCall['order'] {
  if (method === PIPELINED_METHOD) return 'pipelined'
  return ORDERED_METHODS.has(method) ? 'alone' : 'free'
}

export interface BatchLimits {
  /** of all answers together */
  readonly maxBytes: number
  readonly scope: Pick<CallScope, 'deadlineMs' | 'signal'>
  /** the thread's quota for pipelined calls; undefined: they run elsewhere */
  readonly quota: EventLoopQuota | undefined
}

/**
 * Free calls of one batch that run at the same time: enough to keep the view threads busy, few
 * enough to leave room for other clients.
 */
const MAX_FREE = 16
const MAX_PIPELINED = 64
/** Milliseconds after which a batch of quick methods lets other connections have a turn. */
const TURN_MS = 5
/** Maximum length of a pipelined call's answer, without its id. */
const PIPELINED_ANSWER_BYTES = 2_048

/**
 * Runs the items of a batch and returns their answers in the order of the requests. Reading methods
 * overlap, others run in turn. Calls after the size limit or the deadline, and calls whose client
 * has left, are not run but answered with an error (geth: handler.handleBatch). The answer that
 * exceeds the size limit is left out too, so that the limit holds.
 */
export async function runBatch(
  calls: readonly BatchCall[],
  { maxBytes, scope, quota }: BatchLimits,
): Promise<string[]> {
  const answers = createAnswerList(maxBytes)
  const running = createRunningCount()
  let bytes = 0
  /** bytes reserved for the answers of the pipelined calls that are running */
  let reservedBytes = 0
  let turnStartMs = monotonicMs()

  const start = (call: BatchCall, index: number): void => {
    running.add()
    void call.answer().then((answer) => {
      answers.put(index, answer)
      bytes += answer === undefined ? 0 : Buffer.byteLength(answer)
      running.remove()
    })
  }

  let started = 0
  let order: BatchCall['order'] = 'free'
  for (const call of calls) {
    const size = call.order === 'pipelined' ? Buffer.byteLength(call.id) + PIPELINED_ANSWER_BYTES : 0
    const isFull = running.count >= MAX_PIPELINED || bytes + reservedBytes + size > maxBytes
    if (call.order !== order || call.order === 'alone' || (call.order === 'pipelined' && isFull)) {
      await running.downTo(0)
      reservedBytes = 0
    } else if (call.order === 'free') {
      await running.downTo(MAX_FREE - 1)
    }
    order = call.order
    if (order === 'pipelined' && quota !== undefined) while (!quota.take()) await nextTurn()
    const nowMs = monotonicMs()
    if (bytes > maxBytes || nowMs >= scope.deadlineMs || scope.signal.aborted) break
    reservedBytes += size
    start(call, started++)
    if (nowMs - turnStartMs > TURN_MS) {
      await nextTurn()
      turnStartMs = monotonicMs()
    }
  }
  await running.downTo(0)
  return assemble(calls, answers, started, maxBytes)
}

/** Counts running calls; one caller at a time may wait until there are fewer. */
function createRunningCount() {
  let count = 0
  let waiting: { readonly limit: number; readonly wake: () => void } | undefined
  return {
    get count() {
      return count
    },
    add: () => {
      count++
    },
    remove: () => {
      count--
      if (waiting === undefined || count > waiting.limit) return
      const { wake } = waiting
      waiting = undefined
      wake()
    },
    downTo: (limit: number): Promise<void> | undefined => {
      if (count <= limit) return undefined
      return new Promise((wake) => {
        waiting = { limit, wake }
      })
    },
  }
}

interface AnswerList {
  put(index: number, answer: string | undefined): void
  /** Returns undefined for a call without an answer, and for calls that are cut off. */
  get(index: number): string | undefined
  /** the first call whose answer exceeded the limit; calls after it are cut off too */
  readonly end: number
}

/**
 * Collects answers of at most `maxBytes`. Calls beyond the limit get no answer: theirs are dropped
 * as they come.
 */
export function createAnswerList(maxBytes: number): AnswerList {
  const answers: (string | undefined)[] = []
  let bytes = 0
  let end = Number.POSITIVE_INFINITY
  return {
    put: (index, answer) => {
      if (index >= end || answer === undefined) return
      answers[index] = answer
      bytes += Buffer.byteLength(answer)
      while (bytes > maxBytes) {
        const last = answers.pop()
        if (last === undefined) continue
        bytes -= Buffer.byteLength(last)
        end = answers.length
      }
    },
    get: (index) => answers[index],
    get end() {
      return end
    },
  }
}

/**
 * Joins the answers in order. Their total size is counted in order too, so that the limit does not
 * depend on which call ended first.
 */
function assemble(calls: readonly BatchCall[], answers: AnswerList, started: number, maxBytes: number): string[] {
  const out: string[] = []
  let bytes = 0
  for (const [index, call] of calls.entries()) {
    if (!call.expectsAnswer) continue
    const answer = index < started ? answers.get(index) : undefined
    if (bytes <= maxBytes && answer !== undefined) bytes += Buffer.byteLength(answer)
    if (bytes > maxBytes || index >= answers.end) out.push(errorResponse(call.id, responseTooLarge()))
    else out.push(answer ?? errorResponse(call.id, timedOut()))
  }
  return out
}
