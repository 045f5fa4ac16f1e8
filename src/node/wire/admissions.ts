import type { MessagePort } from 'node:worker_threads'
import { decodeTransaction } from '../../chain/block/transaction.ts'
import { type PackedInput, packTransactions, unpackTransactions } from '../../mempool/packedMessages.ts'
import type { Admission, PooledTransaction, TxPort } from '../../mempool/types.ts'
import type { Hash } from '../../primitives/hash.ts'
import { createRateLimit, type RateLimit } from '../../rpc/transport/rateLimit.ts'
import { ThreadStopped } from './port.ts'

/** undefined: admitted; a refusal as its reason alone, or with its error; `failure`: the pool threw */
type Outcome = string | undefined | Refused | { readonly failure: string } | typeof NEEDS_AUTHORITIES

type Refused = Pick<Required<Extract<Admission, { readonly accepted: false }>>, 'reason' | 'error'>

/** The pool would take the transaction, if it knew the signers of its authorizations. */
const NEEDS_AUTHORITIES = 0

/** The outcome for each transaction of a message, in order; or their number when all were admitted. */
type AdmissionAnswer = number | readonly Outcome[]

/** Transactions, made by `packTransactions`; or one transaction, and the signers of its authorizations. */
type AdmissionMessage = Uint8Array | readonly [packed: Uint8Array, authorities: Uint8Array]

/** Recovers the signers of a transaction's EIP-7702 authorizations, made by `packAuthorities`. */
export type RecoverAuthorities = (raw: Uint8Array) => Promise<Uint8Array>

type Offered = PackedInput & { readonly hash: Uint8Array }

/** The asking side of one port: each message has one answer, in order. */
interface Asker {
  ask(message: AdmissionMessage, count: number): Promise<readonly Outcome[]>
}

function connectAsker(port: MessagePort): Asker {
  const waiting: { readonly count: number; readonly answer: PromiseWithResolvers<readonly Outcome[]> }[] = []
  let isClosed = false
  port.on('message', (answer: AdmissionAnswer) => {
    const { count, answer: asked } = waiting.shift()!
    asked.resolve(typeof answer === 'number' ? new Array<Outcome>(count).fill(undefined) : answer)
  })
  port.on('close', () => {
    isClosed = true
    for (const { answer } of waiting) answer.reject(new ThreadStopped())
  })
  return {
    ask: (message, count) => {
      if (isClosed) return Promise.reject(new ThreadStopped())
      const answer = Promise.withResolvers<readonly Outcome[]>()
      waiting.push({ count, answer })
      const packed = message instanceof Uint8Array ? message : message[0]
      port.postMessage(message, [packed.buffer as ArrayBuffer])
      return answer.promise
    },
  }
}

/** Offers a transaction again, with the signers of its authorizations. */
async function offerWithAuthorities(asker: Asker, recover: RecoverAuthorities, transaction: Offered): Promise<Outcome> {
  const authorities = await recover(rawBytes(transaction.raw))
  const [outcome] = await asker.ask([packTransactions([transaction]), authorities], 1)
  return outcome
}

function rawBytes(raw: PackedInput['raw']): Uint8Array {
  return typeof raw === 'string' ? Buffer.from(raw, 'latin1') : raw
}

function admissionOf(outcome: Outcome, hash: Hash): Admission {
  if (outcome === undefined) return { accepted: true, hash }
  if (typeof outcome === 'string') return { accepted: false, reason: outcome }
  if (outcome === NEEDS_AUTHORITIES) throw new Error('the pool has been given the authorities')
  if ('reason' in outcome) return { accepted: false, ...outcome }
  throw new Error(outcome.failure)
}

/**
 * Authorizations whose signers one thread recovers for a client: 1,000 take 50 ms of a view thread. The pool remembers the signers of the
 * newest transactions, so an ordinary client uses one for each authorization that it sends.
 */
const RECOVERIES = { perSecond: 1_000, burstSeconds: 10 } as const

/** EIP-7702 */
const SET_CODE_TYPE = 4

/** Counts {@link RECOVERIES} by client. */
export type RecoveryBudget = Pick<RateLimit, 'admit' | 'charge'>

/** @param now milliseconds, monotonic */
export function createRecoveryBudget(now?: () => number): RecoveryBudget {
  return createRateLimit({ ...RECOVERIES, ...(now && { now }) })
}

/**
 * Returns the pool's `add` at the other end of `port`. The transactions of one turn of the event
 * loop are sent in one message, in order, and answered in one. A client whose budget of recoveries
 * is spent has a transaction with authorizations refused.
 */
export function connectAdmissions(
  port: MessagePort,
  recover: RecoverAuthorities,
  budget: RecoveryBudget,
): TxPort['add'] {
  const asker = connectAsker(port)
  let next: { readonly transaction: Offered; readonly outcome: PromiseWithResolvers<Outcome> }[] = []
  const send = async (): Promise<void> => {
    const sent = next
    next = []
    try {
      const outcomes = await asker.ask(packTransactions(sent.map(({ transaction }) => transaction)), sent.length)
      for (const [index, { outcome }] of sent.entries()) outcome.resolve(outcomes[index])
    } catch (error) {
      for (const { outcome } of sent) outcome.reject(error)
    }
  }
  return async (raw, sender, hash, client) => {
    // Before the pool is asked: for some seconds it leaves the recovery to the first thread that asks.
    const seconds = raw[0] === SET_CODE_TYPE ? budget.admit(client, 0) : 0
    if (seconds > 0) return { accepted: false, reason: `too many authorizations: try again in ${seconds} s` }
    const transaction = { raw, sender, hash }
    const outcome = Promise.withResolvers<Outcome>()
    next.push({ transaction, outcome })
    if (next.length === 1) setImmediate(send)
    const first = await outcome.promise
    if (first !== NEEDS_AUTHORITIES) return admissionOf(first, hash)
    budget.charge(client, decodeTransaction(raw).authorizationList.length - 1)
    return admissionOf(await offerWithAuthorities(asker, recover, transaction), hash)
  }
}

/** Connects in the same way, for many transactions at once. Resolves to how many were admitted. */
export function connectBatchAdmissions(
  port: MessagePort,
  recover: RecoverAuthorities,
): (transactions: readonly Offered[]) => Promise<number> {
  const asker = connectAsker(port)
  return async (transactions) => {
    const outcomes = await asker.ask(packTransactions(transactions), transactions.length)
    let admitted = 0
    for (const [index, first] of outcomes.entries()) {
      // One after the other: a batch of them takes no more than one view thread.
      const last =
        first === NEEDS_AUTHORITIES ? await offerWithAuthorities(asker, recover, transactions[index]!) : first
      if (last === undefined) admitted++
    }
    return admitted
  }
}

/** Milliseconds for which transactions are admitted before the thread's other work has its turn. */
const SLICE_MS = 1
/** Milliseconds between two checks for urgent work: a check takes as long as a part of an admission. */
const LOOK_MS = 0.1

interface AdmissionServerOptions {
  /** called when {@link LOOK_MS} have passed, between two transactions: serves what must not wait */
  readonly before: () => void
  /** takes what `admit` throws; the transaction is refused with it */
  readonly onError: (transaction: PooledTransaction, error: unknown) => void
  /** takes the signers of a transaction's authorizations before the transaction is admitted */
  readonly learn: (hash: Hash, authorities: Uint8Array) => void
  /** milliseconds, monotonic */
  readonly now: () => number
  /** runs the work in a later turn of the event loop */
  readonly defer: (work: () => void) => void
}

type Admit = (transaction: PooledTransaction) => Admission

/** A message that is being answered. */
interface Task {
  readonly transactions: readonly PooledTransaction[]
  readonly outcomes: Outcome[]
}

/** The messages of one port that wait for an answer, oldest first. */
interface Line {
  readonly port: MessagePort
  readonly admit: Admit
  readonly messages: AdmissionMessage[]
  task: Task | undefined
}

/**
 * Answers {@link connectAdmissions} and {@link connectBatchAdmissions}: transactions of all ports in turn, one of each, in slices of a
 * millisecond. However much clients and peers send, the thread's other messages wait for one transaction only.
 */
export class AdmissionServer {
  readonly #options: AdmissionServerOptions
  /** those with work; the first is next */
  #busy: Line[] = []
  #isDue = false

  constructor(options: AdmissionServerOptions) {
    this.#options = options
  }

  /** Serves one port. */
  serve(port: MessagePort, admit: Admit): void {
    const line: Line = { port, admit, messages: [], task: undefined }
    port.on('message', (message: AdmissionMessage) => {
      line.messages.push(message)
      if (line.messages.length === 1 && line.task === undefined) this.#busy.push(line)
      this.#schedule()
    })
    port.on('close', () => {
      this.#busy = this.#busy.filter((other) => other !== line)
    })
  }

  #schedule(): void {
    if (this.#isDue || this.#busy.length === 0) return
    this.#isDue = true
    this.#options.defer(() => {
      this.#isDue = false
      this.#slice()
      this.#schedule()
    })
  }

  #slice(): void {
    const { now, before } = this.#options
    let nowMs = now()
    const endMs = nowMs + SLICE_MS
    let lookMs = nowMs
    do {
      if (nowMs >= lookMs) {
        before()
        lookMs = nowMs + LOOK_MS
      }
      const line = this.#busy.shift()
      if (line === undefined) return
      if (this.#step(line)) this.#busy.push(line)
      nowMs = now()
    } while (nowMs < endMs)
  }

  /** Admits one transaction of a port. @returns whether there are more */
  #step(line: Line): boolean {
    const task = line.task ?? this.#begin(line.messages.shift()!)
    const { transactions, outcomes } = task
    const transaction = transactions[outcomes.length]
    if (transaction !== undefined) outcomes.push(this.#outcomeOf(line.admit, transaction))
    if (outcomes.length < transactions.length) {
      line.task = task
      return true
    }
    line.task = undefined
    const isAllAdmitted = outcomes.every((outcome) => outcome === undefined)
    line.port.postMessage((isAllAdmitted ? outcomes.length : outcomes) satisfies AdmissionAnswer)
    return line.messages.length > 0
  }

  #begin(message: AdmissionMessage): Task {
    if (message instanceof Uint8Array) return { transactions: unpackTransactions(message), outcomes: [] }
    const [packed, authorities] = message
    const transactions = unpackTransactions(packed)
    for (const { hash } of transactions) this.#options.learn(hash, authorities)
    return { transactions, outcomes: [] }
  }

  #outcomeOf(admit: Admit, transaction: PooledTransaction): Outcome {
    try {
      const admission = admit(transaction)
      if (admission.accepted) return undefined
      if (admission.needsAuthorities === true) return NEEDS_AUTHORITIES
      const { reason, error } = admission
      return error === undefined ? reason : { reason, error }
    } catch (error) {
      this.#options.onError(transaction, error)
      // The thread that sent the transaction gets the error, as for every failed call; the other transactions of the message continue.
      return { failure: error instanceof Error ? error.message : String(error) }
    }
  }
}
