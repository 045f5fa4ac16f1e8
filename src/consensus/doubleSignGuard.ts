import {
  BLOCK_ID_FLAGS,
  type Commit,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
  type Vote,
} from '../chain/comet/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { Clock } from './clock.ts'
import type { ConsensusState } from './consensusState.ts'
import { hasOwnEntry, type Recovery } from './recovery.ts'
import { comparePositions, SIGNED_STEPS, type Signer } from './signer.ts'
import type { WalOptions } from './wal.ts'

/** Why the signer must not sign for a while, and up to which height. */
interface Abstention {
  readonly throughHeight: number
  /**
   * true: it also ends when nothing is decided for a minute, because the network may be waiting for this validator; false: it ends
   * when consensus begins at that height, with a replay of the log's entries
   */
  readonly endsByTimeout: boolean
  readonly why: string
}

/**
 * Looks for signatures of this node's keys that are missing in its log. If there is one, the directory is an old copy, or the log was
 * deleted, and the key may already have signed for the open height. It cannot have signed for the next height before the open one was
 * decided, so after that decision it is safe to sign again.
 */
export class DoubleSignGuard {
  readonly #addresses: readonly Uint8Array[]
  readonly #recovery: Recovery
  /** the log was new when the database had blocks already */
  #isLogNew: boolean
  /** the chain holds a signature that the log lacks */
  #foundUnknown = false

  /** @param addresses of all keys of this node's validator: the log has the signatures of each */
  constructor(addresses: readonly Uint8Array[], recovery: Recovery, isLogNew: boolean) {
    this.#addresses = addresses
    this.#recovery = recovery
    this.#isLogNew = isLogNew
  }

  /** Looks for this key's signature in a commit of the chain; the commit was verified. */
  inspect(commit: Commit): void {
    const last = this.#recovery.lastSigned
    const { height, round } = commit
    const isKnown = last !== undefined && comparePositions(last, { height, round, step: SIGNED_STEPS.precommit }) >= 0
    if (!isKnown && hasSigned(commit, this.#addresses)) this.#foundUnknown = true
  }

  /** Whether to abstain when consensus begins after `state`; undefined: the signer may sign. */
  check(state: ConsensusState): Abstention | undefined {
    const height = state.lastHeight + 1
    const last = this.#recovery.lastSigned
    // At the height of the last signature, the replay of the log's entries shows what may be signed, if the log has them.
    if (
      last !== undefined &&
      (last.height > height || (last.height === height && !hasOwnEntry(this.#recovery, height)))
    ) {
      const why = 'the log remembers signatures for later heights than the database has'
      return { throughHeight: last.height, endsByTimeout: false, why }
    }
    const isUnknown = this.#foundUnknown
    const isLogNew = this.#isLogNew && last === undefined && hasKeyIn(state.validators, this.#addresses)
    // Only once: from now on this process knows what it has signed.
    this.#isLogNew = false
    this.#foundUnknown = false
    if (isUnknown) {
      const why = 'the chain holds signatures of this key that the log does not know: the directory is an old copy'
      return { throughHeight: height, endsByTimeout: true, why }
    }
    if (isLogNew) {
      const why = 'the log does not know what this key has signed: it was created anew next to an older database'
      return { throughHeight: height, endsByTimeout: true, why }
    }
    return undefined
  }
}

/** Whether a precommit of the validator's keys, for the block or nil, is in the commit. */
export function hasSigned(commit: Commit, addresses: readonly Uint8Array[]): boolean {
  return commit.signatures.some(
    ({ flag, validatorAddress }) =>
      flag !== BLOCK_ID_FLAGS.absent && addresses.some((address) => equalBytes(validatorAddress, address)),
  )
}

/** Whether one of the keys is in the set. */
export function hasKeyIn({ validators }: Pick<ValidatorSet, 'validators'>, addresses: readonly Uint8Array[]): boolean {
  return validators.some((validator) => addresses.some((address) => equalBytes(validator.address, address)))
}

/** A validator that cannot know what it has signed waits this long: for its own old votes from peers, or for a decision. */
const OBSERVE_MS = 60_000

interface Observation {
  readonly abstention: Abstention
  /** remaining time, which counts only while the engine is on; 0: over */
  leftMs: number
}

/** Makes the signer abstain when the guard requires it, and sign again when the height is decided or the time is over. */
export class DoubleSignMonitor {
  readonly #guard: DoubleSignGuard
  readonly #signer: Pick<Signer, 'abstainThrough'>
  readonly #clock: Pick<Clock, 'setTimer' | 'monotonicMs'>
  readonly #warn: WalOptions['warn']
  /** retained until its height is decided, also when the engine is stopped and started meanwhile */
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

  /** Whether the signer abstains and learns from its own old votes, which peers send to it. */
  get isObserving(): boolean {
    return this.#observation !== undefined && this.#observation.leftMs > 0
  }

  /**
   * Called when the engine is about to begin the height after `state`.
   * @param resume called when the signer may sign again; then it can sign the unsigned messages of
   * the current round
   */
  begin(state: ConsensusState, resume: () => void): void {
    // An abstention that waits for the replay of a height is examined again at each start.
    if (this.#observation?.abstention.endsByTimeout !== true) this.#observation = this.#examine(state)
    const observation = this.#observation
    this.#signer.abstainThrough(this.isObserving ? observation!.abstention.throughHeight : 0)
    if (observation === undefined || observation.leftMs === 0 || !observation.abstention.endsByTimeout) return
    const cancel = this.#clock.setTimer(observation.leftMs, () => {
      observation.leftMs = 0
      this.#timer = undefined
      this.#warn('nothing was decided for a minute: this validator signs again', fieldsOf(observation.abstention))
      this.#signer.abstainThrough(0)
      resume()
    })
    this.#timer = { cancel, sinceMs: this.#clock.monotonicMs() }
  }

  /** The engine is off: the time does not count, because the node receives no votes. */
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
    if (abstention.endsByTimeout && state.validators.validators.length === 1) {
      this.#warn(
        'this validator may sign twice for a height: it is the only validator, so no peer can tell it what it signed',
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

/** Minimum time between two such log lines. */
const REPEAT_MS = 60_000

/**
 * Logs an error for votes with this node's key that this process did not sign. Only the operator can know which of the two processes
 * is the right one.
 * @param count called for each such vote
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
