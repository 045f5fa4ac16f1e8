import type { EngineChain } from './consensusState.ts'
import type { ConsensusEnvironment } from './environment.ts'
import type { Timeout } from './inputsAndEffects.ts'
import type { RoundStateView } from './roundStateView.ts'

/** One timer for each step; a new one takes the place of the old, and a new height of all. */
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
   * The wait before round 0, which is the pace of blocks.
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
      // A clock that does not honour a cancellation must not cancel its successor's.
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

/** A schedule that is this far behind begins anew (the machine slept, the disk stalled, validators were away). */
const MAX_LAG_MS = 10_000

/** For late precommits, which earn their validators the reward of the block. */
const MIN_GAP_MS = 10

/** Longer waits for the genesis are cut into such pieces, so that a clock that is set meanwhile is noticed. */
const MAX_WAIT_MS = 60_000

/** How long a height waits before its first round. */
export class BlockPacer {
  readonly #chain: EngineChain
  readonly #environment: Pick<ConsensusEnvironment, 'nowMs' | 'monotonicMs'>
  #anchor: PaceAnchor | undefined

  constructor(chain: EngineChain, environment: Pick<ConsensusEnvironment, 'nowMs' | 'monotonicMs'>) {
    this.#chain = chain
    this.#environment = environment
  }

  /** Milliseconds until the genesis time is past, or a part of them; 0 afterwards. No block's time may be before it. */
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

/** A moment that the schedule of blocks counts from. */
export interface PaceAnchor {
  readonly height: number
  /** monotonic milliseconds at which that height was begun */
  readonly atMs: number
}

export interface PaceRules {
  /** aim for the average distance between blocks */
  readonly intervalMs: number
  /** a chain that is further behind its schedule than this does not catch up: the schedule begins anew */
  readonly maxLagMs: number
  /** others propose too: their schedules and this one draw near to each other */
  readonly followsOthers: boolean
}

/** Share of its lag that a schedule gives up at each height, so that it meets those of other validators. */
const FOLLOWED_SHARE = 1 / 8

/**
 * When to begin `height`: the schedule is anchor + interval × heights since, so that a late block is made up for and the
 * average, not the gap, is the interval. Each validator has a schedule of its own, and they draw near to each other: who is
 * behind the others waits no longer than the interval, and who is ahead of them gives way. Otherwise some would propose right
 * after the block before and others late, for good.
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
