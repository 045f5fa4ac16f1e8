import type { EngineChain } from './consensusState.ts'
import type { ConsensusEnvironment } from './environment.ts'
import type { Timeout } from './inputsAndEffects.ts'
import type { RoundStateView } from './roundStateView.ts'

/** One timer for each step: a new one replaces the old one, and a new height replaces all. */
export class StepTimers {
  readonly #environment: Pick<ConsensusEnvironment, 'setTimer' | 'nowMs' | 'monotonicMs'>
  readonly #expired: (timeout: Timeout) => void
  readonly #pace: BlockPacer
  readonly #cancel = new Map<Timeout['step'], () => void>()

  constructor(
    chain: EngineChain,
    environment: Pick<ConsensusEnvironment, 'setTimer' | 'nowMs' | 'monotonicMs'>,
    expired: (timeout: Timeout) => void,
  ) {
    this.#environment = environment
    this.#expired = expired
    this.#pace = new BlockPacer(chain, environment)
  }

  /**
   * Starts the wait before round 0, which maintains the average block interval ({@link
   * BlockPacer}).
   * @param isBehind others have decided this height already
   */
  scheduleHeight(timeout: Timeout, delayMs: number, view: RoundStateView, isBehind: boolean): void {
    this.clear()
    this.schedule(timeout, delayMs + this.#pace.delayMs(view, isBehind))
  }

  schedule(timeout: Timeout, delayMs: number): void {
    const { step, height } = timeout
    this.#cancel.get(step)?.()
    const cancel = this.#environment.setTimer(delayMs, () => {
      // The clock may still call a cancelled timer: this must not end the timer that replaced it.
      if (this.#cancel.get(step) !== cancel) return
      this.#cancel.delete(step)
      const untilGenesisMs = this.#pace.untilGenesisMs(height)
      if (step === 'newHeight' && untilGenesisMs > 0) this.schedule(timeout, untilGenesisMs)
      else this.#expired(timeout)
    })
    this.#cancel.set(step, cancel)
  }

  clear(): void {
    for (const cancel of this.#cancel.values()) cancel()
    this.#cancel.clear()
  }
}

/** A schedule that is late by more than this starts again (the machine slept, the disk stalled, validators were offline). */
const MAX_LAG_MS = 10_000

/** Leaves time for late precommits: a validator is rewarded for a block only if its precommit is in the next block. */
const MIN_GAP_MS = 10

/** A long wait for the genesis time is split into waits of this length, because the clock may be set meanwhile. */
const MAX_WAIT_MS = 60_000

/** Computes how long a height waits before its first round, so that blocks come at the chain's interval on average. */
class BlockPacer {
  readonly #chain: EngineChain
  readonly #environment: Pick<ConsensusEnvironment, 'nowMs' | 'monotonicMs'>
  #anchor: PaceAnchor | undefined

  constructor(chain: EngineChain, environment: Pick<ConsensusEnvironment, 'nowMs' | 'monotonicMs'>) {
    this.#chain = chain
    this.#environment = environment
  }

  /**
   * Milliseconds to wait for the genesis time, at most {@link MAX_WAIT_MS}; 0 after it. No block's time may be before the genesis
   * time.
   */
  untilGenesisMs(height: number): number {
    if (height > 1) return 0
    const waitMs = this.#chain.genesisTimeMs + 1 - this.#environment.nowMs()
    return Math.min(Math.max(waitMs, 0), MAX_WAIT_MS)
  }

  /** @param isBehind others have decided this height already */
  delayMs(view: Pick<RoundStateView, 'height' | 'validators' | 'lastPrecommits'>, isBehind: boolean): number {
    if (isBehind) return 0
    const { height } = view
    const { intervalMs } = this.#chain
    const isAlone = view.validators.validators.length === 1
    const rules = { intervalMs, maxLagMs: MAX_LAG_MS, followsOthers: !isAlone }
    const { delayMs, anchor } = paceHeight(this.#anchor, height, this.#environment.monotonicMs(), rules)
    this.#anchor = anchor
    const paced = isAlone ? delayMs : Math.max(delayMs, MIN_GAP_MS)
    return Math.max(paced, this.untilGenesisMs(height))
  }
}

/** The start of the schedule of blocks. */
export interface PaceAnchor {
  readonly height: number
  /** monotonic milliseconds at which that height began */
  readonly atMs: number
}

interface PaceRules {
  /** wanted average time between blocks */
  readonly intervalMs: number
  /** a chain that is late by more than this does not catch up: the schedule starts again */
  readonly maxLagMs: number
  /** there are other proposers: their schedules and this one adapt to each other */
  readonly followsOthers: boolean
}

/** A late schedule is shifted by this share of its lag at each height, so that it approaches those of other validators. */
const FOLLOWED_SHARE = 1 / 8

/**
 * Returns when to begin `height`. The schedule is anchor + interval × number of heights since then,
 * so a late block is followed by shorter waits and the average is the interval. Each validator has
 * its own schedule, and they adapt to each other: a validator whose schedule is later than the
 * blocks waits no longer than one interval, and one whose schedule is earlier shifts it. Otherwise
 * some validators would always propose at once and others always late.
 * @returns milliseconds to wait from `nowMs` on, and the anchor for the next call
 */
export function paceHeight(
  anchor: PaceAnchor | undefined,
  height: number,
  nowMs: number,
  { intervalMs, maxLagMs, followsOthers }: PaceRules,
): { readonly delayMs: number; readonly anchor: PaceAnchor } {
  if (anchor === undefined) return { delayMs: 0, anchor: { height, atMs: nowMs } }
  const dueMs = anchor.atMs + intervalMs * (height - anchor.height)
  const lagMs = nowMs - dueMs
  if (lagMs > maxLagMs) return { delayMs: 0, anchor: { height, atMs: nowMs } }
  if (lagMs < -intervalMs) return { delayMs: intervalMs, anchor: { height, atMs: nowMs + intervalMs } }
  if (lagMs < 0) return { delayMs: dueMs - nowMs, anchor }
  if (lagMs === 0 || !followsOthers) return { delayMs: 0, anchor }
  return { delayMs: 0, anchor: { height: anchor.height, atMs: anchor.atMs + lagMs * FOLLOWED_SHARE } }
}
