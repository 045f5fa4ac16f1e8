import type { ConsensusWal } from './environment.ts'

interface Outgoing {
  readonly run: () => void
  /** done even after a stop: the log says already that it happened */
  readonly essential: boolean
}

/**
 * What leaves the engine, in order. Nothing does while a signature or a decision is in the log that is not on stable
 * storage: a node that forgot in a crash what it had told others might say the opposite. One sync serves all that piled up.
 */
export class Outbox {
  readonly #log: Pick<ConsensusWal, 'sync'>
  readonly #failed: (error: Error) => void
  #waiting: Outgoing[] = []
  #needsSync = false
  #syncs = 0
  #ready: Outgoing[] = []
  #releasing = false
  #state: 'open' | 'stopped' | 'dead' = 'open'

  /** @param failed the log cannot be written: nothing leaves any more */
  constructor(log: Pick<ConsensusWal, 'sync'>, failed: (error: Error) => void) {
    this.#log = log
    this.#failed = failed
  }

  /** Something was appended to the log that has to be durable before anything leaves. */
  hold(): void {
    this.#needsSync = true
  }

  /** Does `run` at once, or after the log's next sync. */
  push(run: () => void, essential = false): void {
    if (this.#state !== 'open' && !(essential && this.#state === 'stopped')) return
    this.#waiting.push({ run, essential })
    if (!this.#needsSync && this.#syncs === 0) this.#release(this.#take())
  }

  /** Starts the sync that is needed; to be called when an input and all that follows from it is worked off. */
  flush(): void {
    if (!this.#needsSync || this.#state === 'dead') return
    this.#needsSync = false
    const released = this.#take()
    this.#syncs++
    this.#log.sync((error) => {
      this.#syncs--
      if (this.#state === 'dead') return
      if (error !== undefined) return this.#failed(error)
      this.#release(released)
      if (this.#syncs === 0 && !this.#needsSync) this.#release(this.#take())
    })
  }

  /** Messages are dropped from here on; a decision in the log is still handed over. */
  stop(): void {
    if (this.#state === 'open') this.#state = 'stopped'
  }

  /** Nothing leaves from here on. */
  kill(): void {
    this.#state = 'dead'
  }

  #take(): Outgoing[] {
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  /** What `run` causes to leave takes its place behind what is ready already. */
  #release(batch: readonly Outgoing[]): void {
    this.#ready.push(...batch)
    if (this.#releasing) return
    this.#releasing = true
    try {
      for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift()) {
        if (this.#state === 'open' || (next.essential && this.#state === 'stopped')) next.run()
      }
    } finally {
      this.#releasing = false
    }
  }
}
