import type { ConsensusWal } from './environment.ts'

interface Outgoing {
  readonly run: () => void
  /** done also after a stop, because the log has it already */
  readonly essential: boolean
}

/**
 * Delays messages until everything in the write-ahead log is synced. Otherwise a node could send a vote, lose it in a crash, and sign
 * a conflicting vote afterwards. The steps for a vote, proposal or decision:
 * 1. The signer appends it to the log, in memory (signer.ts, `Decision` in engine.ts), and the engine calls `hold`.
 * 2. `push`: after `hold`, messages and the execution of a decided block wait in their order; otherwise they are done at once.
 * 3. `flush`, when the engine has handled all its inputs: one sync (fdatasync) for everything that waits.
 * 4. When the sync is complete, `#release` sends the waiting messages. If it fails, nothing more is
 *    sent.
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

  /** 1. Something was appended to the log that must be on stable storage before anything is sent. */
  hold(): void {
    this.#needsSync = true
  }

  /** 2. Calls `run` at once, or after the log's next sync. */
  push(run: () => void, essential = false): void {
    if (this.#state !== 'open' && !(essential && this.#state === 'stopped')) return
    this.#waiting.push({ run, essential })
    if (!this.#needsSync && this.#syncs === 0) this.#release(this.#take())
  }

  /** 3. Starts the sync if one is needed. To be called when all inputs are handled. */
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

  /** From now on messages are dropped; a decision in the log is still executed. */
  stop(): void {
    if (this.#state === 'open') this.#state = 'stopped'
  }

  /** From now on nothing is sent or executed. */
  kill(): void {
    this.#state = 'dead'
  }

  #take(): Outgoing[] {
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  /** 4. Sends a batch. Messages that its functions push meanwhile come after the batches that are ready already. */
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
