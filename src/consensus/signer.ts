import {
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type UnsignedProposal,
  type UnsignedVote,
  type Vote,
} from '../chain/comet/types.ts'
import { proposalSignBytes, voteSignBytes } from '../chain/comet/vote.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { type VerifySignature, verifyEd25519 } from '../primitives/ed25519.ts'
import type { ConsensusKey, PendingSignature, RemoteSignature } from './consensusKey.ts'
import type { AskedSignature, ConsensusSigner, ConsensusWal } from './environment.ts'
import type { SignedEntry, SignerEntry } from './walEntry.ts'

/** The signer was asked to sign a message that could be punished as double signing: the caller has a bug, or the log is wrong. */
export class DoubleSignError extends Error {
  override readonly name = 'DoubleSignError'
}

/** The steps of a round in their order; each is signed once. */
export const SIGNED_STEPS = { proposal: 1, prevote: 2, precommit: 3 } as const

/** The newest message that was signed, or that a remote signer was asked to sign. */
export interface LastSigned {
  readonly height: number
  readonly round: number
  readonly step: (typeof SIGNED_STEPS)[keyof typeof SIGNED_STEPS]
  readonly signBytes: Uint8Array
  /** undefined: a remote signer was asked, and the log has no answer */
  readonly signature: Uint8Array | undefined
  /** the question, as long as the log has no answer: only the same may be asked again, of the same signer */
  readonly asked?: { readonly timestampMs: number; readonly signer: Uint8Array }
}

interface SignerOptions {
  readonly key: ConsensusKey
  readonly chainId: string
  readonly wal: Pick<ConsensusWal, 'append'>
  /** from the log's replay; undefined when this key has never signed */
  readonly lastSigned: LastSigned | undefined
  /** blocks up to this height are decided: nothing is signed for them, whatever the log contains */
  readonly decidedHeight: number
  /** by default that of ed25519; simulations use another scheme */
  readonly verify?: VerifySignature
  /** Called with the reason when a remote signer's answer does not match the request. */
  readonly onWrongAnswer?: (reason: string) => void
}

/** Returns the part of a log entry that the signer has to remember. */
export function lastSignedOf(chainId: string, entry: SignerEntry): LastSigned {
  if (entry.kind === 'asked') {
    const { request, signer } = entry
    const message = request.kind === 'proposal' ? request.proposal : request.vote
    const { timestampMs } = message
    return {
      ...positionOf(entry),
      signBytes: signBytesOf(chainId, request),
      signature: undefined,
      asked: { timestampMs, signer },
    }
  }
  const { signature } = entry.kind === 'proposal' ? entry.proposal : entry.vote
  return { ...positionOf(entry), signBytes: signBytesOf(chainId, entry), signature }
}

/** Of two entries, in the log's order, the one that the signer has to remember. A remote signer may answer late. */
export function newerEntry(former: SignerEntry | undefined, entry: SignerEntry): SignerEntry {
  return former !== undefined && comparePositions(positionOf(entry), positionOf(former)) < 0 ? former : entry
}

/** A message before or after it was signed. */
type Message =
  | { readonly kind: 'proposal'; readonly proposal: UnsignedProposal }
  | { readonly kind: 'vote'; readonly vote: UnsignedVote }

function positionOf(entry: SignerEntry | Message): Position {
  const message = entry.kind === 'asked' ? entry.request : entry
  if (message.kind === 'vote') {
    const { height, round } = message.vote
    return { height, round, step: voteStep(message.vote) }
  }
  const { height, round } = message.proposal
  return { height, round, step: SIGNED_STEPS.proposal }
}

function signBytesOf(chainId: string, message: Message): Uint8Array {
  return message.kind === 'proposal'
    ? proposalSignBytes(chainId, message.proposal)
    : voteSignBytes(chainId, message.vote)
}

/** Returns the same message with another time. */
function atTime<T extends Message>(message: T, timestampMs: number): T {
  return message.kind === 'proposal'
    ? { ...message, proposal: { ...message.proposal, timestampMs } }
    : { ...message, vote: { ...message.vote, timestampMs } }
}

function voteStep(vote: Pick<UnsignedVote, 'type'>): LastSigned['step'] {
  return vote.type === SIGNED_MESSAGE_TYPES.prevote ? SIGNED_STEPS.prevote : SIGNED_STEPS.precommit
}

/**
 * Signs proposals and votes: each (height, round, step) at most once, and never an earlier one than the last (CometBFT
 * privval/file.go), whatever key the height has. The write-ahead log is its memory. A signature is appended to it at once, and must not
 * leave the process, in a message or in a decided block, before the log's next sync (outbox.ts).
 *
 * A remote signer answers later. The request is appended first, and must be on stable storage
 * before it is sent: whether or not an answer comes, no other message is ever requested for that
 * step. The same request may be repeated, with the same bytes and to the same signer.
 */
export class Signer implements ConsensusSigner {
  readonly #options: SignerOptions
  #decidedHeight: number
  #last: LastSigned | undefined
  /** the newest known vote that another process signed with this key */
  #foreign: Position | undefined
  #abstainsThrough = 0
  #isMuted = false

  constructor(options: SignerOptions) {
    this.#options = options
    this.#last = options.lastSigned
    this.#decidedHeight = options.decidedHeight
  }

  /** 20 bytes; the current height's address, where there are several keys */
  get address(): Uint8Array {
    return this.#options.key.address
  }

  /** Whether the log has a signature for this vote's step, or a later one: then this process signed it. */
  knows(vote: Vote): boolean {
    const { height, round } = vote
    return this.#last !== undefined && comparePositions({ height, round, step: voteStep(vote) }, this.#last) <= 0
  }

  /** From now on nothing is signed for heights up to this one. */
  decided(height: number): void {
    this.#decidedHeight = Math.max(this.#decidedHeight, height)
  }

  /** Signs nothing for heights up to this one (0: no limit), because an earlier process may have signed for them. */
  abstainThrough(height: number): void {
    this.#abstainsThrough = height
  }

  /** Makes the signer sign nothing at all (`copyWatch.ts`), or continue by its other rules. */
  mute(isMuted: boolean): void {
    this.#isMuted = isMuted
  }

  /**
   * Takes a vote that another process has signed with the key: nothing is signed for its step and
   * earlier ones.
   */
  observe(vote: Vote): void {
    const position = { height: vote.height, round: vote.round, step: voteStep(vote) }
    if (this.#foreign === undefined || comparePositions(position, this.#foreign) > 0) this.#foreign = position
  }

  stageProposal(proposal: UnsignedProposal): Proposal | AskedSignature<Proposal> | undefined {
    return this.#stage({ kind: 'proposal', proposal }, ({ proposal: unsigned }, signature) => {
      const signed = { ...unsigned, signature }
      return [signed, { kind: 'proposal', proposal: signed }]
    })
  }

  stageVote(vote: UnsignedVote): Vote | AskedSignature<Vote> | undefined {
    return this.#stage({ kind: 'vote', vote }, ({ vote: unsigned }, signature) => {
      const signed = { ...unsigned, signature }
      return [signed, { kind: 'vote', vote: signed }]
    })
  }

  #stage<M extends Message, T>(
    message: M,
    complete: (message: M, signature: Uint8Array) => [T, SignedEntry],
  ): T | AskedSignature<T> | undefined {
    const last = this.#last
    const position = positionOf(message)
    if (position.height <= this.#decidedHeight) {
      throw new DoubleSignError(`will not sign ${describe(position)}: block ${this.#decidedHeight} is decided`)
    }
    if (!this.#maySign(position)) return undefined
    // The database is older than the log: these heights are decided already, and their blocks come from peers.
    if (last !== undefined && position.height < last.height) return undefined
    const order = last === undefined ? 1 : comparePositions(position, last)
    const again = order === 0 ? this.#again(message, last!) : undefined
    if (order <= 0 && again === undefined) {
      throw new DoubleSignError(`will not sign ${describe(position)}: has signed ${describe(last!)}`)
    }
    const { chainId, key } = this.#options
    const wanted = again ?? message
    const signBytes = signBytesOf(chainId, wanted)
    if (again !== undefined && last!.signature !== undefined) return complete(wanted, last!.signature)[0]
    const answer = key.sign({ ...wanted, signBytes }, again && last!.asked?.signer)
    if (answer === undefined) return undefined
    if (answer instanceof Uint8Array) {
      const [signed, entry] = complete(wanted, answer)
      this.#options.wal.append(entry)
      this.#last = { ...position, signBytes, signature: answer }
      return signed
    }
    if (again === undefined) this.#logQuestion(wanted, answer)
    return {
      send: (done) => answer.send((signed) => done(() => this.#answered(wanted, signed, complete))),
    }
  }

  /**
   * Returns the message as it was signed or asked for before, when it is the same; undefined: it is
   * another one.
   */
  #again<M extends Message>(message: M, last: LastSigned): M | undefined {
    const former = last.asked === undefined ? message : atTime(message, last.asked.timestampMs)
    return equalBytes(signBytesOf(this.#options.chainId, former), last.signBytes) ? former : undefined
  }

  #maySign(position: Position): boolean {
    if (this.#isMuted || position.height <= this.#abstainsThrough) return false
    return this.#foreign === undefined || comparePositions(position, this.#foreign) > 0
  }

  #isWanted({ height, step }: Position): boolean {
    return height > this.#decidedHeight || (height === this.#decidedHeight && step === SIGNED_STEPS.precommit)
  }

  #logQuestion(request: Message, { signer }: PendingSignature): void {
    const entry: SignerEntry = { kind: 'asked', request, signer }
    this.#options.wal.append(entry)
    this.#last = lastSignedOf(this.#options.chainId, entry)
  }

  /**
   * Takes a remote signer's answer, maybe a late one: the message was right when it was asked for,
   * and a message that arrives late still belongs to its round. It is used as long as it may be
   * useful: for the height decided last, a precommit is, since it gets into the next block's
   * commit.
   * @returns undefined when it is not used
   */
  #answered<M extends Message, T>(
    message: M,
    { timestampMs, signature }: RemoteSignature,
    complete: (message: M, signature: Uint8Array) => [T, SignedEntry],
  ): T | undefined {
    const { chainId, key, wal, verify = verifyEd25519, onWrongAnswer } = this.#options
    const position = positionOf(message)
    if (!this.#isWanted(position) || !this.#maySign(position)) return undefined
    // A signer that has signed a vote before returns it with the earlier time. A proposal has the
    // time of its block.
    const signed = message.kind === 'vote' ? atTime(message, timestampMs) : message
    const signBytes = signBytesOf(chainId, signed)
    const { publicKey } = key.at?.(position.height) ?? key
    if (!verify(publicKey, signBytes, signature)) {
      onWrongAnswer?.(`the signature of ${describe(position)} is wrong`)
      return undefined
    }
    const [result, entry] = complete(signed, signature)
    wal.append(entry)
    if (this.#last === undefined || comparePositions(position, this.#last) >= 0) {
      this.#last = { ...position, signBytes, signature }
    }
    return result
  }
}

type Position = Pick<LastSigned, 'height' | 'round' | 'step'>

/** Negative: `a` comes before `b`. */
export function comparePositions(a: Position, b: Position): number {
  return a.height - b.height || a.round - b.round || a.step - b.step
}

function describe({ height, round, step }: Position): string {
  const name = Object.entries(SIGNED_STEPS).find(([, value]) => value === step)![0]
  return `a ${name} for height ${height}, round ${round}`
}
