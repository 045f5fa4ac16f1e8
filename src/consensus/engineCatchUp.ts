import type { ConsensusEnvironment } from './environment.ts'
import type { PeerId } from './input.ts'
import type { RoundStateView } from './roundStateView.ts'

/** Where others stand, as gossip sees it. */
export interface Behind {
  readonly peer: PeerId
  readonly height: number
  /** that more than one peer vouches for */
  readonly networkHeight: number
}

/** This far behind, blocks are synced in ranges instead of one by one. */
export const MAX_LAG = 16

/** `onBehind` is not repeated within this time. */
const REPEAT_MS = 10_000

/** Gets blocks that others have decided, one by one, while this node is slightly behind. */
export class CatchUp {
  readonly #environment: Pick<ConsensusEnvironment, 'fetchDecided' | 'onBehind' | 'monotonicMs'>
  #fetching: { readonly peer: PeerId; readonly height: number } | undefined
  #reportedMs: number | undefined
  /** the last height was decided by a block of a peer: the next one probably will be, too */
  #pulls = false

  constructor(environment: Pick<ConsensusEnvironment, 'fetchDecided' | 'onBehind' | 'monotonicMs'>) {
    this.#environment = environment
  }

  /**
   * Asks for the present height's block if a peer has it. Its votes may be on their way, so without haste (`isSweep`) only a
   * node that lags already asks.
   */
  check(view: Pick<RoundStateView, 'height'>, behind: Behind | undefined, isSweep: boolean): void {
    if (behind === undefined) {
      this.#pulls = false
      return
    }
    const { height } = view
    const { peer, networkHeight } = behind
    if (networkHeight - height >= MAX_LAG) this.#report(height, networkHeight)
    if (!isSweep && !this.#pulls) return
    if (this.#fetching?.peer === peer && this.#fetching.height === height) return
    this.#fetching = { peer, height }
    this.#environment.fetchDecided(peer, height)
  }

  #report(height: number, networkHeight: number): void {
    const nowMs = this.#environment.monotonicMs()
    if (this.#reportedMs !== undefined && nowMs - this.#reportedMs < REPEAT_MS) return
    this.#reportedMs = nowMs
    this.#environment.onBehind(height, networkHeight)
  }

  /** An answer came, or none will. */
  answered(peer: PeerId, height: number): void {
    if (this.#fetching?.peer === peer && this.#fetching.height === height) this.#fetching = undefined
  }

  /** @param byPull the height was decided by a block of a peer */
  decided(byPull: boolean): void {
    this.#pulls = byPull
  }
}
