import { percentile } from '../../../bench/measure/percentile.ts'
import type { NetworkNode } from './localNetwork.ts'

interface CommitAnswer {
  readonly signed_header: { readonly header: { readonly time: string }; readonly commit: { readonly round: number } }
}

/** The intervals between the blocks of a network, by the times in their headers, and how many needed more than one round. */
export class BlockIntervals {
  readonly #node: NetworkNode
  readonly #all: number[] = []
  #height: number
  #lastMs: number | undefined
  #laterRounds = 0

  /** @param from height of the first block that counts */
  constructor(node: NetworkNode, from: number) {
    this.#node = node
    this.#height = from
  }

  get count(): number {
    return this.#all.length
  }

  /** Reads the blocks that the node has by now. */
  async follow(): Promise<void> {
    for (const head = await this.#node.height(); this.#height < head; this.#height++) {
      const { timeMs, round } = await this.#blockAt(this.#height)
      if (this.#lastMs !== undefined) this.#all.push(timeMs - this.#lastMs)
      if (round > 0) this.#laterRounds++
      this.#lastMs = timeMs
    }
  }

  /** Counts the head's interval, and the one under way if it is the longest: without them, a chain that stands still looks well. */
  async countOpen(): Promise<void> {
    const head = await this.#node.height()
    const { timeMs } = await this.#blockAt(head)
    // `follow` has read the block before the head.
    if (this.#lastMs !== undefined && head === this.#height) this.#all.push(timeMs - this.#lastMs)
    const openMs = Date.now() - timeMs
    if (this.#all.length === 0 || openMs > this.percentile(100)) this.#all.push(openMs)
  }

  async #blockAt(height: number): Promise<{ readonly timeMs: number; readonly round: number }> {
    const { signed_header } = await this.#node.comet<CommitAnswer>(`commit?height=${height}`)
    return { timeMs: Date.parse(signed_header.header.time), round: signed_header.commit.round }
  }

  /** Milliseconds below which `percent` of the intervals are; NaN without blocks. */
  percentile(percent: number): number {
    return percentile(
      this.#all.toSorted((a, b) => a - b),
      percent,
    )
  }

  summary(): string {
    const mean = this.#all.reduce((sum, ms) => sum + ms, 0) / this.#all.length
    const at = (percent: number): number => this.percentile(percent)
    return `${this.count} blocks, interval mean ${mean.toFixed(1)} ms, p50 ${at(50)}, p95 ${at(95)}, p99 ${at(99)}, longest ${at(100)}, later rounds ${this.#laterRounds}`
  }
}
