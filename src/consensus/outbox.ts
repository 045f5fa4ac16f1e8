import type { ConsensusWal } from './environment.ts'

interface Outgoing {
  readonly run: () => void
  /** done even after a stop: the log says that it happened */
  readonly essential: boolean
}

/**
 * What is synced before a vote leaves: everything in the write-ahead log. A node that sent a vote and forgot it in a crash could
 * sign the opposite vote afterwards. The way of a vote, proposal or decision:
 * 1. The signer appends it to the log, in memory (signer.ts, `Decision` in engine.ts), and the engine calls `hold`.
 * 2. `push`: from now on, messages and the execution of a decided block wait in their order; otherwise they leave at once.
 * 3. `flush`, when the engine has worked off all its inputs: one sync (fdatasync) for all that piled up.
 * 4. When the disk has answered, `#release` sends what waited. If it fails, nothing leaves any more.
 */
export class Outbox {
  readonly #wal: Pick<ConsensusWal, 'sync'>
  readonly #failed: (error: Error) => void
  #waiting: Outgoing[] = []
  #needsSync = false
  #syncs = 0
  #ready: Outgoing[] = []
  #releasing = false
  #state: 'open' | 'stopped' | 'dead' = 'open'

  /** @param failed called when the log cannot be written */
  constructor(wal: Pick<ConsensusWal, 'sync'>, failed: (error: Error) => void) {
    this.#wal = wal
    this.#failed = failed
  }

  /** 1. Something was appended to the log that must be on stable storage before anything leaves. */
  hold(): void {
    this.#needsSync = true
  }

  /** 2. Does `run` at once, or after the log's next sync. */
  push(run: () => void, essential = false): void {
    if (this.#state !== 'open' && !(essential && this.#state === 'stopped')) return
    this.#waiting.push({ run, essential })
    if (!this.#needsSync && this.#syncs === 0) this.#release(this.#take())
  }

  /** 3. Starts the sync if one is needed. To be called when all inputs are worked off. */
  flush(): void {
    if (!this.#needsSync || this.#state === 'dead') return
    this.#needsSync = false
    const released = this.#take()
    this.#syncs++
    this.#wal.sync((error) => {
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

  /** 4. Sends a batch. What its functions push meanwhile goes behind the batches that are ready already. */
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
