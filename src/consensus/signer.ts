import {
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type UnsignedProposal,
  type UnsignedVote,
  type Vote,
} from '../chain/consensus/types.ts'
import { proposalSignBytes, voteSignBytes } from '../chain/consensus/vote.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { ConsensusSigner, ConsensusWal } from './environment.ts'
import type { SignedEntry } from './walEntry.ts'

/** The signer was asked to sign a message that could be punished as double signing: the caller has a bug, or the log is wrong. */
export class DoubleSignError extends Error {
  override readonly name = 'DoubleSignError'
}

/** The steps of a round in their order; each is signed once. */
export const SIGNED_STEPS = { proposal: 1, prevote: 2, precommit: 3 } as const

/** The newest signed message. */
export interface LastSigned {
  readonly height: number
  readonly round: number
  readonly step: (typeof SIGNED_STEPS)[keyof typeof SIGNED_STEPS]
  readonly signBytes: Uint8Array
  readonly signature: Uint8Array
}

interface SignerOptions {
  readonly key: {
    /** 20 bytes */
    readonly address: Uint8Array
    /** @returns ed25519, 64 bytes */
    readonly sign: (message: Uint8Array) => Uint8Array
  }
  readonly chainId: string
  readonly wal: Pick<ConsensusWal, 'append'>
  /** from the log's replay; undefined when this key has never signed */
  readonly lastSigned: LastSigned | undefined
  /** blocks up to this height are decided: nothing is signed for them, whatever the log contains */
  readonly decidedHeight: number
}

/** The part of a log entry that the signer has to remember. */
export function lastSignedOf(chainId: string, entry: SignedEntry): LastSigned {
  if (entry.kind === 'proposal') {
    const { proposal } = entry
    const { height, round, signature } = proposal
    return { height, round, step: SIGNED_STEPS.proposal, signBytes: proposalSignBytes(chainId, proposal), signature }
  }
  const { vote } = entry
  const { height, round, signature } = vote
  return { height, round, step: voteStep(vote), signBytes: voteSignBytes(chainId, vote), signature }
}

function voteStep(vote: Pick<UnsignedVote, 'type'>): LastSigned['step'] {
  return vote.type === SIGNED_MESSAGE_TYPES.prevote ? SIGNED_STEPS.prevote : SIGNED_STEPS.precommit
}

/**
 * Signs proposals and votes: each (height, round, step) at most once, and never an earlier one than the last (CometBFT
 * privval/file.go). The write-ahead log is its memory. A signature is appended to it at once, and must not leave the process, in a
 * message or in a decided block, before the log's next sync (outbox.ts).
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

  /** 20 bytes */
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

  /** Signs nothing at all (`copyWatch.ts`), or goes on by its other rules. */
  mute(isMuted: boolean): void {
    this.#isMuted = isMuted
  }

  /** Another process has signed this vote with the key: nothing is signed for its step and earlier ones. */
  observe(vote: Vote): void {
    const position = { height: vote.height, round: vote.round, step: voteStep(vote) }
    if (this.#foreign === undefined || comparePositions(position, this.#foreign) > 0) this.#foreign = position
  }

  stageProposal(proposal: UnsignedProposal): Proposal | undefined {
    const { height, round } = proposal
    const signBytes = proposalSignBytes(this.#options.chainId, proposal)
    return this.#stage({ height, round, step: SIGNED_STEPS.proposal, signBytes }, (signature) => {
      const signed = { ...proposal, signature }
      return [signed, { kind: 'proposal', proposal: signed }]
    })
  }

  stageVote(vote: UnsignedVote): Vote | undefined {
    const { height, round } = vote
    const signBytes = voteSignBytes(this.#options.chainId, vote)
    return this.#stage({ height, round, step: voteStep(vote), signBytes }, (signature) => {
      const signed = { ...vote, signature }
      return [signed, { kind: 'vote', vote: signed }]
    })
  }

  #stage<T>(
    request: Omit<LastSigned, 'signature'>,
    complete: (signature: Uint8Array) => [T, SignedEntry],
  ): T | undefined {
    const last = this.#last
    if (request.height <= this.#decidedHeight) {
      throw new DoubleSignError(`will not sign ${describe(request)}: block ${this.#decidedHeight} is decided`)
    }
    if (this.#isMuted || request.height <= this.#abstainsThrough) return undefined
    if (this.#foreign !== undefined && comparePositions(request, this.#foreign) <= 0) return undefined
    // The database is older than the log: these heights are decided already, and their blocks come from peers.
    if (last !== undefined && request.height < last.height) return undefined
    const order = last === undefined ? 1 : comparePositions(request, last)
    if (last !== undefined && order <= 0) {
      if (order === 0 && equalBytes(request.signBytes, last.signBytes)) return complete(last.signature)[0]
      throw new DoubleSignError(`will not sign ${describe(request)}: has signed ${describe(last)}`)
    }
    const signature = this.#options.key.sign(request.signBytes)
    const [signed, entry] = complete(signature)
    this.#options.wal.append(entry)
    this.#last = { ...request, signature }
    return signed
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
