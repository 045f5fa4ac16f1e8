import {
  BLOCK_ID_FLAGS,
  type Commit,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
  type Vote,
} from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { Clock } from './clock.ts'
import type { ConsensusState } from './consensusState.ts'
import { hasOwnEntry, type Recovery } from './recovery.ts'
import { comparePositions, SIGNED_STEPS, type Signer } from './signer.ts'
import type { WalOptions } from './wal.ts'

/** Why the signer has to keep still for a while, and up to which height. */
export interface Abstention {
  readonly throughHeight: number
  /**
   * it may end when the height is not decided for a long time: the network may be waiting for this validator; otherwise it ends
   * when consensus begins at the height with the log's entries of it
   */
  readonly mayEnd: boolean
  readonly why: string
}

/** Whether the validator's precommit, for the block or nil, is in the commit. */
export function hasSigned(commit: Commit, address: Uint8Array): boolean {
  return commit.signatures.some(
    ({ flag, validatorAddress }) => flag !== BLOCK_ID_FLAGS.absent && equalBytes(validatorAddress, address),
  )
}

/**
 * Looks for signatures of this node's key that its log has no memory of: then the directory is an old copy, or the log was
 * deleted, and the key may have signed for the open height already. Whoever signed could not sign for the height after
 * before that one was decided, so once it is decided here the key is safe again.
 */
export class DoubleSignGuard {
  readonly #address: Uint8Array
  readonly #recovery: Recovery
  /** the log was begun beside a database that had blocks already */
  #isLogNew: boolean
  /** the chain holds a signature that the log lacks */
  #hasSeenUnknown = false

  constructor(address: Uint8Array, recovery: Recovery, isLogNew: boolean) {
    this.#address = address
    this.#recovery = recovery
    this.#isLogNew = isLogNew
  }

  /** A commit of the chain; its signatures were verified. */
  see(commit: Commit): void {
    const last = this.#recovery.lastSigned
    const { height, round } = commit
    const isKnown = last !== undefined && comparePositions(last, { height, round, step: SIGNED_STEPS.precommit }) >= 0
    if (!isKnown && hasSigned(commit, this.#address)) this.#hasSeenUnknown = true
  }

  /** To be asked when consensus begins after `state`; undefined: nothing stands against signing. */
  check(state: ConsensusState): Abstention | undefined {
    const height = state.lastHeight + 1
    const last = this.#recovery.lastSigned
    // At the height itself the replay of its entries says what may be signed; reached otherwise it would begin without them.
    if (
      last !== undefined &&
      (last.height > height || (last.height === height && !hasOwnEntry(this.#recovery, height)))
    ) {
      const why = 'the log remembers signatures for later heights than the database has'
      return { throughHeight: last.height, mayEnd: false, why }
    }
    const isUnknown = this.#hasSeenUnknown
    const isLogNew = this.#isLogNew && last === undefined && isValidator(state.validators, this.#address)
    // Once is enough: what this process signs from here on it remembers.
    this.#isLogNew = false
    this.#hasSeenUnknown = false
    if (isUnknown) {
      const why = 'the chain holds signatures of this key that the log does not know: the directory is an old copy'
      return { throughHeight: height, mayEnd: true, why }
    }
    if (isLogNew) {
      const why = 'the log does not know what this key has signed: it was begun anew beside an older database'
      return { throughHeight: height, mayEnd: true, why }
    }
    return undefined
  }
}

function isValidator({ validators }: ValidatorSet, address: Uint8Array): boolean {
  return validators.some((validator) => equalBytes(validator.address, address))
}

/** A validator that cannot know what it has signed waits so long for its own old votes to come back, or for a decision. */
const OBSERVE_MS = 60_000

interface Observation {
  readonly abstention: Abstention
  /** of the time that the engine is on; 0: over */
  leftMs: number
}

/** Keeps the signer still where the guard says so, and lets it sign again. */
export class DoubleSignMonitor {
  readonly #guard: DoubleSignGuard
  readonly #signer: Pick<Signer, 'abstainThrough'>
  readonly #clock: Pick<Clock, 'setTimer' | 'monotonicMs'>
  readonly #warn: WalOptions['warn']
  /** until its height is decided; a stop and a start of the engine change nothing about it */
  #observation: Observation | undefined
  #timer: { readonly cancel: () => void; readonly sinceMs: number } | undefined

  constructor(
    guard: DoubleSignGuard,
    signer: Pick<Signer, 'abstainThrough'>,
    clock: Pick<Clock, 'setTimer' | 'monotonicMs'>,
    warn: WalOptions['warn'],
  ) {
    this.#guard = guard
    this.#signer = signer
    this.#clock = clock
    this.#warn = warn
  }

  /** The validator keeps still: it learns from its own old votes that others send back. */
  get isObserving(): boolean {
    return this.#observation !== undefined && this.#observation.leftMs > 0
  }

  /**
   * The engine is about to begin the height after `state`.
   * @param resume the signer signs again: what it left out in the present round can be made up for
   */
  begin(state: ConsensusState, resume: () => void): void {
    // What waits for the replay of a later height is over when that height begins.
    if (this.#observation?.abstention.mayEnd !== true) this.#observation = this.#examine(state)
    const observation = this.#observation
    this.#signer.abstainThrough(this.isObserving ? observation!.abstention.throughHeight : 0)
    if (observation === undefined || observation.leftMs === 0 || !observation.abstention.mayEnd) return
    const cancel = this.#clock.setTimer(observation.leftMs, () => {
      observation.leftMs = 0
      this.#timer = undefined
      this.#warn('nothing was decided for a minute: this validator signs again', fieldsOf(observation.abstention))
      this.#signer.abstainThrough(0)
      resume()
    })
    this.#timer = { cancel, sinceMs: this.#clock.monotonicMs() }
  }

  /** The engine is off: what it did not hear does not count. */
  pause(): void {
    if (this.#timer === undefined) return
    const passedMs = this.#clock.monotonicMs() - this.#timer.sinceMs
    this.#timer.cancel()
    this.#timer = undefined
    if (this.#observation !== undefined) this.#observation.leftMs = Math.max(1, this.#observation.leftMs - passedMs)
  }

  decided(height: number): void {
    if (this.#observation === undefined || height < this.#observation.abstention.throughHeight) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#observation = undefined
  }

  #examine(state: ConsensusState): Observation | undefined {
    const abstention = this.#guard.check(state)
    if (abstention === undefined) return undefined
    const fields = fieldsOf(abstention)
    if (abstention.mayEnd && state.validators.validators.length === 1) {
      this.#warn(
        'this validator may sign twice for a height: it is the only one, so nobody can tell it what it signed',
        fields,
      )
      return undefined
    }
    this.#warn('this validator signs nothing until a height is decided that it may have signed already', fields)
    return { abstention, leftMs: OBSERVE_MS }
  }
}

function fieldsOf({ throughHeight, why }: Abstention): Readonly<Record<string, unknown>> {
  return { height: throughHeight, why }
}

/** The line is not repeated within this time. */
const REPEAT_MS = 60_000

/**
 * What to do about votes with this node's key that it did not sign: the operator has to know at once, and is the only one
 * who can tell which of the two processes is the right one.
 * @param count called for each
 */
export function createKeyAlarm(
  clock: Pick<Clock, 'monotonicMs'>,
  log: { error(fields: object, message: string): void },
  count: () => void,
): (vote: Vote) => void {
  let shownMs: number | undefined
  return ({ height, round, type }) => {
    count()
    const nowMs = clock.monotonicMs()
    if (shownMs !== undefined && nowMs - shownMs < REPEAT_MS) return
    shownMs = nowMs
    log.error(
      { height, round, type: type === SIGNED_MESSAGE_TYPES.prevote ? 'prevote' : 'precommit' },
      "ANOTHER PROCESS SIGNS WITH THIS VALIDATOR'S KEY: stop one of them now, or the validator will be punished for signing twice",
    )
  }
}
