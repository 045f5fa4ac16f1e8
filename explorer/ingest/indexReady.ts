import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { START_MS, startedInTime } from '../../src/config/startDeadline.ts'

/**
 * Waits for the first message of the thread that indexes: the tables are there. A thread that is not ready in time is terminated, because it
 * may not read a message that asks it to stop.
 * @throws ThreadStartTimeout; the thread's own error; an Error when it ends without a message
 */
export async function indexReady(worker: Worker, timeoutMs: number = START_MS.explorerIndex): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  const ended = once(worker, 'exit', { signal }).then(([code]) => {
    throw new Error(`the explorer's index thread ended unexpectedly (exit code ${code})`)
  })
  try {
    await startedInTime("explorer's index", Promise.race([once(worker, 'message', { signal }), ended]), timeoutMs)
  } catch (error) {
    await worker.terminate()
    throw error
  } finally {
    ended.catch(() => undefined)
    over.abort()
  }
}
