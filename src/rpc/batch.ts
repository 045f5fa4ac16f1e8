import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorResponse, responseTooLarge, timedOut } from './errors.ts'
import type { EventLoopQuota } from './eventLoopQuota.ts'

/** One item of a batch. */
export interface BatchCall {
  /** JSON text */
  readonly id: string
  /**
   * What it may overlap with. `free`: other free calls; `pipelined`: others of its kind, which keep their order as long as
   * they are started in order; `alone`: nothing
   */
  readonly order: 'free' | 'pipelined' | 'alone'
  readonly expectsAnswer: boolean
  /** never rejects */
  readonly answer: () => Promise<string | undefined>
}

export interface BatchLimits {
  /** of all answers together */
  readonly maxBytes: number
  /** on the clock of `performance.now` */
  readonly deadlineMs: number
  /** of the thread, for pipelined calls; undefined: they run elsewhere */
  readonly turn: EventLoopQuota | undefined
}

/** Free calls of one batch that run at the same time: enough to keep the view threads busy, few enough to be fair to others. */
const MAX_FREE = 16
const MAX_PIPELINED = 64
/** Milliseconds after which a batch of quick methods lets other connections have a turn. */
const TURN_MS = 5
/** No answer of a pipelined call is longer, its id apart. */
const PIPELINED_ANSWER_BYTES = 2_048

/**
 * Runs the items of a batch and gives their answers in the order of the requests. Reading methods overlap, others run
 * in turn. What comes after the size limit or the deadline is answered with an error and not run (geth:
 * handler.handleBatch; the answer that crosses the size limit is left out too, so that the limit holds).
 */
export async function runBatch(
  calls: readonly BatchCall[],
  { maxBytes, deadlineMs, turn }: BatchLimits,
): Promise<string[]> {
  const answers: (string | undefined)[] = []
  const running = createRunningCount()
  let bytes = 0
  /** what the pipelined calls under way may add to `bytes` */
  let reservedBytes = 0
  let turnStartMs = performance.now()

  const start = (call: BatchCall, index: number): void => {
    running.add()
    void call.answer().then((answer) => {
      answers[index] = answer
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
    if (order === 'pipelined' && turn !== undefined) while (!turn.take()) await nextTurn()
    const nowMs = performance.now()
    if (bytes > maxBytes || nowMs >= deadlineMs) break
    reservedBytes += size
    start(call, started++)
    if (nowMs - turnStartMs > TURN_MS) {
      await nextTurn()
      turnStartMs = performance.now()
    }
  }
  await running.downTo(0)
  return assemble(calls, answers, started, maxBytes)
}

/** Counts what is under way; one at a time may wait for it to become less. */
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

/** The answers in order; the total that decides is counted in order too, so that it does not depend on who was quick. */
function assemble(
  calls: readonly BatchCall[],
  answers: readonly (string | undefined)[],
  started: number,
  maxBytes: number,
): string[] {
  const out: string[] = []
  let bytes = 0
  for (const [index, call] of calls.entries()) {
    if (!call.expectsAnswer) continue
    const answer = index < started ? answers[index] : undefined
    if (bytes <= maxBytes && answer !== undefined) bytes += Buffer.byteLength(answer)
    if (bytes > maxBytes) out.push(errorResponse(call.id, responseTooLarge()))
    else out.push(answer ?? errorResponse(call.id, timedOut()))
  }
  return out
}
