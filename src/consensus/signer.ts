import { signEd25519 } from '../chain/consensus/ed25519.ts'
import { proposalSignBytes, voteSignBytes } from '../chain/consensus/signBytes.ts'
import {
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type UnsignedProposal,
  type UnsignedVote,
  type Vote,
} from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { ValidatorKey } from './validatorKey.ts'
import type { SignedEntry, WalEntry } from './walEntry.ts'

/** The signer was asked for something that could be punished as double signing. The caller has a bug, or a wrong log. */
export class DoubleSignError extends Error {
  override readonly name = 'DoubleSignError'
}

/** Where in a height a signature belongs; each step is signed once. */
const STEPS = { proposal: 1, prevote: 2, precommit: 3 } as const

/** The newest signed message. */
export interface LastSigned {
  readonly height: number
  readonly round: number
  readonly step: (typeof STEPS)[keyof typeof STEPS]
  readonly signBytes: Uint8Array
  readonly signature: Uint8Array
}

/** The part of the write-ahead log that the signer uses. */
export interface SignerLog {
  append(entry: WalEntry): void
  sync(): Promise<void>
}

export interface SignerOptions {
  readonly key: ValidatorKey
  readonly chainId: string
  readonly log: SignerLog
  /** from the log's replay; undefined when this key never signed */
  readonly lastSigned: LastSigned | undefined
  /** blocks up to this height are decided: nothing is signed for them, whatever the log remembers */
  readonly decidedHeight: number
}

/** What the signer has to remember of an entry that it wrote. */
export function lastSignedOf(chainId: string, entry: SignedEntry): LastSigned {
  if (entry.kind === 'proposal') {
    const { proposal } = entry
    const { height, round, signature } = proposal
    return { height, round, step: STEPS.proposal, signBytes: proposalSignBytes(chainId, proposal), signature }
  }
  const { vote } = entry
  const { height, round, signature } = vote
  return { height, round, step: voteStep(vote), signBytes: voteSignBytes(chainId, vote), signature }
}

function voteStep(vote: Pick<UnsignedVote, 'type'>): LastSigned['step'] {
  return vote.type === SIGNED_MESSAGE_TYPES.prevote ? STEPS.prevote : STEPS.precommit
}

/**
 * Signs proposals and votes, each (height, round, step) at most once and never an earlier one (CometBFT privval/file.go).
 * Its memory is the write-ahead log.
 */
export class Signer {
  readonly #key: ValidatorKey
  readonly #chainId: string
  readonly #log: SignerLog
  readonly #decidedHeight: number
  #last: LastSigned | undefined

  constructor({ key, chainId, log, lastSigned, decidedHeight }: SignerOptions) {
    this.#key = key
    this.#chainId = chainId
    this.#log = log
    this.#last = lastSigned
    this.#decidedHeight = decidedHeight
  }

  /** 20 bytes */
  get address(): Uint8Array {
    return this.#key.address
  }

  /**
   * Signs and resolves when the signature is on stable storage; calls made together share an fdatasync.
   * @throws DoubleSignError; WalError when the disk fails
   */
  async signProposal(proposal: UnsignedProposal): Promise<Proposal> {
    const signed = this.stageProposal(proposal)
    await this.#log.sync()
    return signed
  }

  /** As {@link signProposal}, for a vote. */
  async signVote(vote: UnsignedVote): Promise<Vote> {
    const signed = this.stageVote(vote)
    await this.#log.sync()
    return signed
  }

  /**
   * Signs and appends to the log, without waiting for the disk: the result may go into the same log, but must not leave the
   * process, in a message or through a decided block, before the log's next `sync` resolves.
   * @throws DoubleSignError
   */
  stageProposal(proposal: UnsignedProposal): Proposal {
    const { height, round } = proposal
    const signBytes = proposalSignBytes(this.#chainId, proposal)
    return this.#stage({ height, round, step: STEPS.proposal, signBytes }, (signature) => {
      const signed = { ...proposal, signature }
      return [signed, { kind: 'proposal', proposal: signed }]
    })
  }

  /** As {@link stageProposal}, for a vote. */
  stageVote(vote: UnsignedVote): Vote {
    const { height, round } = vote
    const signBytes = voteSignBytes(this.#chainId, vote)
    return this.#stage({ height, round, step: voteStep(vote), signBytes }, (signature) => {
      const signed = { ...vote, signature }
      return [signed, { kind: 'vote', vote: signed }]
    })
  }

  #stage<T>(request: Omit<LastSigned, 'signature'>, complete: (signature: Uint8Array) => [T, SignedEntry]): T {
    const last = this.#last
    if (request.height <= this.#decidedHeight) {
      throw new DoubleSignError(`will not sign ${describe(request)}: block ${this.#decidedHeight} is decided`)
    }
    const order = last === undefined ? 1 : compare(request, last)
    if (last !== undefined && order <= 0) {
      if (order === 0 && equalBytes(request.signBytes, last.signBytes)) return complete(last.signature)[0]
      throw new DoubleSignError(`will not sign ${describe(request)}: has signed ${describe(last)}`)
    }
    const signature = signEd25519(this.#key, request.signBytes)
    const [signed, entry] = complete(signature)
    this.#log.append(entry)
    this.#last = { ...request, signature }
    return signed
  }
}

type Position = Pick<LastSigned, 'height' | 'round' | 'step'>

function compare(a: Position, b: Position): number {
  return a.height - b.height || a.round - b.round || a.step - b.step
}

function describe({ height, round, step }: Position): string {
  const name = Object.entries(STEPS).find(([, value]) => value === step)![0]
  return `a ${name} for height ${height}, round ${round}`
}
