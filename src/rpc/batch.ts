import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorResponse, responseTooLarge, timedOut } from './errorResponse.ts'

/** One item of a batch. */
export interface BatchCall {
  /** JSON text */
  readonly id: string
  /** runs alone, after all items before it and before all after it */
  readonly isOrdered: boolean
  readonly expectsAnswer: boolean
  /** never rejects */
  readonly answer: () => Promise<string | undefined>
}

export interface BatchLimits {
  /** of all answers together */
  readonly maxBytes: number
  /** on the clock of `performance.now` */
  readonly deadlineMs: number
}

/** Items of one batch that run at the same time: enough to keep the view threads busy, few enough to be fair to others. */
const MAX_IN_FLIGHT = 16
/** Milliseconds after which a batch of quick methods lets other connections have a turn. */
const TURN_MS = 5

/**
 * Runs the items of a batch and gives their answers in the order of the requests. Reading methods overlap, others run
 * in turn. What comes after the size limit or the deadline is answered with an error and not run (geth:
 * handler.handleBatch; the answer that crosses the size limit is left out too, so that the limit holds).
 */
export async function runBatch(calls: readonly BatchCall[], { maxBytes, deadlineMs }: BatchLimits): Promise<string[]> {
  const answers: (string | undefined)[] = []
  const inFlight = new Set<Promise<void>>()
  let completedBytes = 0
  let turnStartMs = performance.now()

  const start = (call: BatchCall, index: number): void => {
    const done = call.answer().then((answer) => {
      answers[index] = answer
      completedBytes += answer === undefined ? 0 : Buffer.byteLength(answer)
      inFlight.delete(done)
    })
    inFlight.add(done)
  }

  let started = 0
  for (const call of calls) {
    if (call.isOrdered) await Promise.all(inFlight)
    else while (inFlight.size >= MAX_IN_FLIGHT) await Promise.race(inFlight)
    const nowMs = performance.now()
    if (completedBytes > maxBytes || nowMs >= deadlineMs) break
    start(call, started++)
    if (call.isOrdered) await Promise.all(inFlight)
    if (nowMs - turnStartMs > TURN_MS) {
      await nextTurn()
      turnStartMs = performance.now()
    }
  }
  await Promise.all(inFlight)
  return assemble(calls, answers, started, maxBytes)
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
