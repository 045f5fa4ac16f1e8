import type { Clock } from '../../consensus/clock.ts'
import type { ConsensusKey, PendingSignature, RemoteSignature, SigningRequest } from '../../consensus/consensusKey.ts'
import { bytesKey, bytesToHex, EMPTY_BYTES, equalBytes } from '../../primitives/bytes.ts'
import { ed25519Address } from '../../primitives/ed25519.ts'
import type { SignerMetrics } from '../../telemetry/metrics.ts'
import {
  decodeAnswer,
  encodePing,
  encodePubKeyRequest,
  encodeSignRequest,
  MessageReader,
  PrivvalError,
  type SignerAnswer,
} from './messages.ts'

/** Milliseconds after which a vote counts as lost, and another signer is asked for the next one. */
export const ANSWER_MS = 100
/** A connection whose oldest request is not answered after this many milliseconds is closed. */
export const SILENCE_MS = 5_000
/** So often an idle signer is pinged: CometBFT's hangs up after 5 seconds without a question. */
const PING_MS = 3_000
/** Questions that one signer may have to answer: those of more than a block. A further one is not asked. */
const MAX_QUESTIONS = 8
/** Questions that were refused, which are not asked again: the newest ones. */
const MAX_CLOSED = 64

/** A connection that may be used: its owner has checked who is at its other end. */
export interface SignerLink {
  /** the connection's key, 32 bytes; empty if the connection has no key */
  readonly identity: Uint8Array
  /** for the log */
  readonly name: string
  send(bytes: Uint8Array): void
  close(): void
}

interface RemoteKeyOptions {
  readonly chainId: string
  /** the consensus key that signers must have; undefined until the first signer sends it */
  readonly publicKey: Uint8Array | undefined
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>
  readonly metrics: SignerMetrics
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

interface Question {
  readonly kind: SignerAnswer['kind']
  /** key of the sign bytes; undefined for other questions */
  readonly bytes: string | undefined
  answered: (answer: SignerAnswer) => void
  isLate: boolean
  readonly cancel: () => void
}

/**
 * The validator's key in remote signers that have dialled in (CometBFT 0.38, privval). One signer is
 * asked at a time. Another one is asked only for a step that no signer was asked about, since a silent
 * signer may have signed. A request may be repeated, in the same bytes, to the signer with the same
 * connection key; signers whose connections have no key count as one.
 */
export class RemoteKey implements ConsensusKey {
  readonly #options: RemoteKeyOptions
  readonly #signers: RemoteSigner[] = []
  /** sign bytes of questions that were refused */
  readonly #closed = new Set<string>()
  readonly #known = Promise.withResolvers<Uint8Array>()
  #publicKey: Uint8Array | undefined
  #onAvailable: () => void = () => undefined
  #loggedMs: number | undefined

  constructor(options: RemoteKeyOptions) {
    this.#options = options
    this.#publicKey = options.publicKey
    if (options.publicKey !== undefined) this.#known.resolve(options.publicKey)
    this.#countSigners()
    for (const reason of ['disconnected', 'timeout', 'refused', 'wrong']) options.metrics.lost.inc({ reason }, 0)
  }

  /** @throws Error when no signer has said it yet: see {@link whenKnown} */
  get publicKey(): Uint8Array {
    if (this.#publicKey === undefined) throw new Error('no signer has connected yet')
    return this.#publicKey
  }

  get address(): Uint8Array {
    return ed25519Address(this.publicKey)
  }

  /** Resolves with the public key when a signer has said it. */
  whenKnown(): Promise<Uint8Array> {
    return this.#known.promise
  }

  get signerCount(): number {
    return this.#signers.length
  }

  /** @param run called when a signer can be asked that could not before */
  onAvailable(run: () => void): void {
    this.#onAvailable = run
  }

  sign(request: SigningRequest, askedBefore?: Uint8Array): PendingSignature | undefined {
    const bytes = bytesKey(request.signBytes)
    if (this.#closed.has(bytes)) return undefined
    const signer =
      this.#signers.find((one) => one.isAsked(bytes)) ??
      (askedBefore === undefined ? this.#choose() : this.#signers.find(hasIdentity(askedBefore)))
    if (signer === undefined) {
      this.#options.metrics.lost.inc({ reason: 'disconnected' })
      return undefined
    }
    return { signer: signer.link.identity, send: (done) => this.#ask(signer, request, bytes, done) }
  }

  /** Called when a signer has connected: it is asked for its public key first. */
  connected(link: SignerLink): RemoteSigner {
    const { clock, log, chainId } = this.#options
    const signer: RemoteSigner = new RemoteSigner(link, clock, {
      late: () => this.#options.metrics.lost.inc({ reason: 'timeout' }),
      broken: (reason) => {
        log.warn({ signer: link.name, reason }, 'the connection of a remote signer is closed')
        this.disconnected(signer)
        link.close()
      },
    })
    signer.ask('publicKey', encodePubKeyRequest(chainId), undefined, (answer) => this.#identified(signer, answer))
    return signer
  }

  /** Called when the connection has ended; its requests stay unanswered. */
  disconnected(signer: RemoteSigner): void {
    signer.end()
    const index = this.#signers.indexOf(signer)
    if (index < 0) return
    this.#signers.splice(index, 1)
    const left = this.#signers.length
    this.#countSigners()
    const fields = { signer: signer.link.name, left }
    if (left > 0) this.#options.log.warn(fields, 'a remote signer is gone; another one is asked from now on')
    else this.#options.log.error(fields, 'the remote signer is gone: this validator signs nothing until one connects')
  }

  /** Closes all connections. */
  close(): void {
    for (const signer of this.#signers.splice(0)) {
      signer.end()
      signer.link.close()
    }
    this.#countSigners()
  }

  /** Counts an answer of a remote signer that does not fit the request. */
  wrongAnswer(reason: string): void {
    this.#options.metrics.lost.inc({ reason: 'wrong' })
    this.#options.log.error({ reason }, 'the remote signer sent a wrong answer, which is ignored')
  }

  #countSigners(): void {
    this.#options.metrics.connected.set({ key: 'remote' }, this.#signers.length)
  }

  #identified(signer: RemoteSigner, answer: SignerAnswer): void {
    const { log } = this.#options
    const { name } = signer.link
    const reason = this.#reasonAgainst(answer)
    if (answer.kind !== 'publicKey' || reason !== undefined) {
      log.error({ signer: name, reason }, 'a remote signer is not used')
      signer.end()
      signer.link.close()
      return
    }
    this.#publicKey = answer.publicKey
    this.#known.resolve(answer.publicKey)
    // A connection that was lost without a word may still be there.
    const former = this.#signers.find(
      ({ link }) => link.identity.length > 0 && equalBytes(link.identity, signer.link.identity),
    )
    if (former !== undefined) {
      this.disconnected(former)
      former.link.close()
    }
    this.#signers.push(signer)
    signer.keepAlive()
    this.#countSigners()
    const address = bytesToHex(this.address).slice(2).toUpperCase()
    log.info({ signer: name, validator: address, signers: this.#signers.length }, 'a remote signer has connected')
    this.#onAvailable()
  }

  /** Returns why a signer cannot sign for this validator. */
  #reasonAgainst(answer: SignerAnswer): string | undefined {
    if (answer.kind === 'refusal') return `it refuses to send its key for ${this.#options.chainId}: ${answer.reason}`
    const known = this.#publicKey
    if (answer.kind !== 'publicKey' || known === undefined || equalBytes(known, answer.publicKey)) return undefined
    return `it has the consensus key ${base64(answer.publicKey)}, but this validator's is ${base64(known)}`
  }

  /** Returns the first signer that answers in time; while no signer does, the first. */
  #choose(): RemoteSigner | undefined {
    return this.#signers.find((signer) => !signer.isLate) ?? this.#signers[0]
  }

  /** Asks the signer, unless it is being asked the same already: the answer then goes to the latest caller. */
  #ask(signer: RemoteSigner, request: SigningRequest, bytes: string, done: (answer: RemoteSignature) => void): void {
    if (!this.#signers.includes(signer)) return
    const { clock, metrics, chainId } = this.#options
    const sinceMs = clock.monotonicMs()
    const answered = (answer: SignerAnswer): void => {
      metrics.seconds.observe((clock.monotonicMs() - sinceMs) / 1000)
      if (answer.kind === 'signature') done(answer)
      else if (answer.kind === 'refusal') this.#refused(signer, request, bytes, answer.reason)
    }
    if (signer.answersTo(bytes, answered)) return
    if (!signer.ask('signature', encodeSignRequest(chainId, request), bytes, answered)) {
      metrics.lost.inc({ reason: 'timeout' })
    }
  }

  /** Closes a refused request: no signer is asked again. A signer may refuse every vote, so at most one line per second is logged. */
  #refused(signer: RemoteSigner, request: SigningRequest, bytes: string, reason: string): void {
    const { clock, metrics, log } = this.#options
    metrics.lost.inc({ reason: 'refused' })
    this.#closed.add(bytes)
    const [oldest] = this.#closed
    if (this.#closed.size > MAX_CLOSED) this.#closed.delete(oldest!)
    const nowMs = clock.monotonicMs()
    if (this.#loggedMs !== undefined && nowMs - this.#loggedMs < 1000) return
    this.#loggedMs = nowMs
    const { height, round } = request.kind === 'vote' ? request.vote : request.proposal
    log.error(
      { signer: signer.link.name, height, round, kind: request.kind, reason },
      'the remote signer refuses to sign',
    )
  }
}

/** One connected signer. It answers in the order of the questions. */
export class RemoteSigner {
  readonly link: SignerLink
  readonly #clock: RemoteKeyOptions['clock']
  readonly #report: { late(): void; broken(reason: string): void }
  readonly #reader = new MessageReader()
  readonly #questions: Question[] = []
  #cancelPing: (() => void) | undefined
  #hasEnded = false

  constructor(
    link: SignerLink,
    clock: RemoteKeyOptions['clock'],
    report: { late(): void; broken(reason: string): void },
  ) {
    this.link = link
    this.#clock = clock
    this.#report = report
  }

  /** Whether a request is not answered in time. */
  get isLate(): boolean {
    return this.#questions.some(({ isLate }) => isLate)
  }

  isAsked(bytes: string): boolean {
    return this.#questions.some((question) => question.bytes === bytes)
  }

  /** Redirects the answer to this request. @returns false when there is no such request */
  answersTo(bytes: string, answered: Question['answered']): boolean {
    const question = this.#questions.find((one) => one.bytes === bytes)
    if (question === undefined) return false
    question.answered = answered
    return true
  }

  /** @returns false when it has too many questions to answer already */
  ask(
    kind: Question['kind'],
    message: Uint8Array,
    bytes: string | undefined,
    answered: (answer: SignerAnswer) => void,
  ): boolean {
    if (this.#hasEnded || this.#questions.length >= MAX_QUESTIONS) return false
    const cancels = [
      this.#clock.setTimer(SILENCE_MS, () => this.#report.broken('it does not answer')),
      this.#clock.setTimer(ANSWER_MS, () => {
        question.isLate = true
        if (bytes !== undefined) this.#report.late()
      }),
    ]
    const cancel = (): void => {
      for (const each of cancels) each()
    }
    const question: Question = {
      kind,
      bytes,
      answered,
      isLate: false,
      cancel,
    }
    this.#questions.push(question)
    this.link.send(message)
    return true
  }

  /** Called with bytes from the signer. */
  receive(bytes: Uint8Array): void {
    if (this.#hasEnded) return
    try {
      for (const message of this.#reader.read(bytes)) {
        this.#answer(decodeAnswer(message))
        if (this.#hasEnded) return
      }
    } catch (error) {
      if (!(error instanceof PrivvalError)) throw error
      this.#report.broken(error.message)
    }
  }

  /** Pings it when there is nothing to sign. */
  keepAlive(): void {
    if (this.#hasEnded) return
    this.#cancelPing = this.#clock.setTimer(PING_MS, () => {
      if (this.#questions.length === 0) this.ask('ping', encodePing(), undefined, () => undefined)
      this.keepAlive()
    })
  }

  end(): void {
    this.#hasEnded = true
    this.#cancelPing?.()
    for (const { cancel } of this.#questions.splice(0)) cancel()
  }

  #answer(answer: SignerAnswer): void {
    const question = this.#questions.shift()
    if (question === undefined) throw new PrivvalError('it sent an answer without a request')
    question.cancel()
    if (answer.kind !== 'refusal' && answer.kind !== question.kind) {
      throw new PrivvalError(`it answered with ${answer.kind} instead of ${question.kind}`)
    }
    question.answered(answer)
  }
}

/** @param identity empty: any signer without a key */
function hasIdentity(identity: Uint8Array): (signer: RemoteSigner) => boolean {
  return ({ link }) => equalBytes(link.identity, identity)
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

/** The identity of a connection without a key. */
export const NO_IDENTITY = EMPTY_BYTES
