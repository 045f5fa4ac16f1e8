import type { Clock } from './clock.ts'
import type { ConsensusState } from './consensusState.ts'
import type { Abstention, DoubleSignGuard } from './doubleSignGuard.ts'
import type { Signer } from './signer.ts'
import type { WalOptions } from './wal.ts'

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
