import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector'

/** What one call of native code stands for: V8 counts it as one step. About 15 ns are a step, as they are a gas. */
const NATIVE_STEPS: ReadonlyMap<string, number> = new Map([
  ['keccak256', 100],
  ['sha256', 100],
  ['ripemd160', 100],
  ['verifySignature', 5_000],
  ['recoverPublicKey', 5_000],
  ['decompressPublicKey', 1_000],
])

/**
 * Counts steps of JavaScript: how often each block of code ran, by V8's precise coverage. That is the work of a run, whatever
 * machine it runs on, and nothing in the code has to count it.
 */
export class StepCounter {
  readonly #session = new Session()

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Steps while `run` runs. */
  count(run: () => void): number {
    this.#take()
    run()
    return this.#steps()
  }

  /** The same of work that waits for nothing but its own promises. */
  async countAsync(run: () => Promise<void>): Promise<number> {
    this.#take()
    await run()
    return this.#steps()
  }

  #steps(): number {
    let steps = 0
    for (const { url, functions } of this.#take()) {
      if (!url.startsWith('file:') || url.includes('/test/')) continue
      for (const { functionName, ranges } of functions) {
        const native = NATIVE_STEPS.get(functionName) ?? 0
        steps += ranges.reduce((sum, { count }) => sum + count, native * ranges[0]!.count)
      }
    }
    return steps
  }

  close(): void {
    this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    let taken: readonly Profiler.ScriptCoverage[] | undefined
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw new Error(`V8 does not count: ${error.message}`)
      taken = answer.result
    })
    // A session of the own thread answers at once.
    return taken!
  }
}
