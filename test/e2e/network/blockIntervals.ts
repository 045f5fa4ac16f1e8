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
      const { signed_header } = await this.#node.comet<CommitAnswer>(`commit?height=${this.#height}`)
      const timeMs = Date.parse(signed_header.header.time)
      if (this.#lastMs !== undefined) this.#all.push(timeMs - this.#lastMs)
      if (signed_header.commit.round > 0) this.#laterRounds++
      this.#lastMs = timeMs
    }
  }

  /** Counts the interval that is under way too, if it is the longest: without it, a chain that stands still looks as if nothing were wrong. */
  countOpen(nowMs: number): void {
    const openMs = nowMs - (this.#lastMs ?? nowMs)
    if (openMs > this.percentile(100)) this.#all.push(openMs)
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
