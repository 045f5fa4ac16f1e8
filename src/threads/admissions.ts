import type { MessagePort } from 'node:worker_threads'
import { type PackedInput, packTransactions, unpackTransactions } from '../mempool/packedMessages.ts'
import type { Admission, PooledTransaction, TxPort } from '../mempool/types.ts'
import { ThreadStopped } from './port.ts'

/** undefined: admitted; a refusal as its reason alone, or with its error; `failure`: the pool threw */
type Outcome = string | undefined | Required<Refused> | { readonly failure: string }

type Refused = Omit<Extract<Admission, { readonly accepted: false }>, 'accepted'>

/** The outcome for each transaction of a message, in order; or their number when all were admitted. */
type AdmissionAnswer = number | readonly Outcome[]

interface Waiting {
  readonly transaction: PackedInput & { readonly hash: Uint8Array }
  readonly resolve: (admission: Admission) => void
  readonly reject: (error: Error) => void
}

/**
 * The pool's `add` at the other end of `port`. The transactions of one turn of the event loop are sent in one message, in order, and
 * answered in one.
 */
export function connectAdmissions(port: MessagePort): TxPort['add'] {
  let next: Waiting[] = []
  /** messages that are not answered yet */
  const sent: Waiting[][] = []
  let isClosed = false
  const send = (): void => {
    const packed = packTransactions(next.map(({ transaction }) => transaction))
    port.postMessage(packed, [packed.buffer])
    sent.push(next)
    next = []
  }
  port.on('message', (answer: AdmissionAnswer) => {
    for (const [index, { transaction, resolve, reject }] of sent.shift()!.entries()) {
      const outcome = typeof answer === 'number' ? undefined : answer[index]
      if (outcome === undefined) resolve({ accepted: true, hash: transaction.hash })
      else if (typeof outcome === 'string') resolve({ accepted: false, reason: outcome })
      else if ('reason' in outcome) resolve({ accepted: false, ...outcome })
      else reject(new Error(outcome.failure))
    }
  })
  port.on('close', () => {
    isClosed = true
    for (const { reject } of [...sent.flat(), ...next]) reject(new ThreadStopped())
    next = []
  })
  return (raw, sender, hash) =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new ThreadStopped())
      next.push({ transaction: { raw, sender, hash }, resolve, reject })
      if (next.length === 1) setImmediate(send)
    })
}

/** The same for many transactions at once, made by `packTransactions`; the buffer is transferred. Resolves to how many were admitted. */
export function connectBatchAdmissions(port: MessagePort): (packed: Uint8Array<ArrayBuffer>) => Promise<number> {
  const waiting: PromiseWithResolvers<number>[] = []
  let isClosed = false
  port.on('message', (answer: AdmissionAnswer) => {
    const isAdmitted = (outcome: Outcome): boolean => outcome === undefined
    waiting.shift()!.resolve(typeof answer === 'number' ? answer : answer.filter(isAdmitted).length)
  })
  port.on('close', () => {
    isClosed = true
    for (const { reject } of waiting) reject(new ThreadStopped())
  })
  return (packed) => {
    if (isClosed) return Promise.reject(new ThreadStopped())
    const answer = Promise.withResolvers<number>()
    waiting.push(answer)
    port.postMessage(packed, [packed.buffer])
    return answer.promise
  }
}

/**
 * Answers {@link connectAdmissions} and {@link connectBatchAdmissions}.
 * @param onError takes what `admit` throws; the transaction is refused with it
 */
export function serveAdmissions(
  port: MessagePort,
  admit: (transaction: PooledTransaction) => Admission,
  onError: (transaction: PooledTransaction, error: unknown) => void,
): void {
  port.on('message', (packed: Uint8Array) => {
    const outcomes = unpackTransactions(packed).map((transaction) => outcomeOf(admit, transaction, onError))
    const isAllAdmitted = outcomes.every((outcome) => outcome === undefined)
    port.postMessage((isAllAdmitted ? outcomes.length : outcomes) satisfies AdmissionAnswer)
  })
}

function outcomeOf(
  admit: (transaction: PooledTransaction) => Admission,
  transaction: PooledTransaction,
  onError: (transaction: PooledTransaction, error: unknown) => void,
): Outcome {
  try {
    const admission = admit(transaction)
    if (admission.accepted) return undefined
    const { reason, error } = admission
    return error === undefined ? reason : { reason, error }
  } catch (error) {
    onError(transaction, error)
    // The thread that sent the transaction gets the error, as for every failed call; the other transactions of the message continue.
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}
