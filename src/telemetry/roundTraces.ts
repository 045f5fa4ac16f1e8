import { epochMs, type Tracer } from './spans.ts'

/** Where consensus is in a height. */
interface Position {
  readonly height: number
  readonly round: number
  /** CometBFT's name */
  readonly step: string
}

/** The main thread's part of blocks' traces: the steps of each round, and the whole height as their root. */
export class RoundTraces {
  readonly #tracer: Tracer
  #present: (Position & { readonly startMs: number }) | undefined
  #heightMs = 0

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /** Consensus is in another step than before. */
  entered(position: Position): void {
    const nowMs = epochMs()
    const left = this.#present
    if (left?.height !== position.height) this.#heightMs = nowMs
    if (left !== undefined) {
      const attributes = { 'coind.height': left.height, 'coind.round': left.round }
      this.#tracer.block(left.height, `consensus.${left.step}`, { startMs: left.startMs, endMs: nowMs, attributes })
    }
    this.#present = { ...position, startMs: nowMs }
  }

  /** The block is decided and executed: its height is over. */
  decided(height: number, attributes: Readonly<Record<string, string | number | boolean>>): void {
    const present = this.#present
    // In block sync there are no rounds.
    if (present?.height !== height) return
    this.#tracer.block(height, 'block', {
      startMs: this.#heightMs,
      isRoot: true,
      attributes: { 'coind.height': height, ...attributes },
    })
  }
}
