import type { MessagePort } from 'node:worker_threads'
import { type PackedInput, packTransactions, unpackTransactions } from '../mempool/packedTransactions.ts'
import type { Admission, PooledTransaction, TxPort } from '../mempool/types.ts'

/** Why each transaction of a message was refused, in order; undefined for an admitted one. A number: all of them were admitted. */
type AdmissionAnswer = number | readonly (string | undefined)[]

interface Waiting {
  readonly transaction: PackedInput & { readonly hash: Uint8Array }
  readonly resolve: (admission: Admission) => void
  readonly reject: (error: Error) => void
}

/**
 * The pool's `add` at the other end of `port`. What comes up in one turn of the event loop goes in one message and is answered
 * in one: the pool admits in order.
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
    for (const [index, { transaction, resolve }] of sent.shift()!.entries()) {
      const reason = typeof answer === 'number' ? undefined : answer[index]
      resolve(reason === undefined ? { accepted: true, hash: transaction.hash } : { accepted: false, reason })
    }
  })
  port.on('close', () => {
    isClosed = true
    for (const { reject } of [...sent.flat(), ...next]) reject(threadStopped())
    next = []
  })
  return (raw, sender, hash) =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(threadStopped())
      next.push({ transaction: { raw, sender, hash }, resolve, reject })
      if (next.length === 1) setImmediate(send)
    })
}

/** Answers {@link connectAdmissions}. */
export function serveAdmissions(port: MessagePort, admit: (transaction: PooledTransaction) => Admission): void {
  port.on('message', (packed: Uint8Array) => {
    const transactions = unpackTransactions(packed)
    const reasons = transactions.map((transaction) => {
      const admission = admit(transaction)
      return admission.accepted ? undefined : admission.reason
    })
    const isAllAdmitted = reasons.every((reason) => reason === undefined)
    port.postMessage((isAllAdmitted ? reasons.length : reasons) satisfies AdmissionAnswer)
  })
}

function threadStopped(): Error {
  return new Error('the thread has stopped')
}
