import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { indexReady } from '../../../../explorer/ingest/indexReady.ts'

const thread = (code: string) => new Worker(code, { eval: true })
const WAITS = "require('node:worker_threads').parentPort.on('message', () => undefined)"

describe("the start of the explorer's index thread", () => {
  it('has a deadline, after which the thread is terminated', async () => {
    const worker = thread(WAITS)
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    await expect(indexReady(worker, 1)).rejects.toHaveProperty('name', 'ThreadStartTimeout')
    await exited
  })

  it('ends with the first message, and the thread continues', async () => {
    const worker = thread(`${WAITS}.postMessage({ ready: true })`)
    await indexReady(worker)
    expect(worker.threadId).toBeGreaterThan(0)
    await worker.terminate()
  })

  it.each([
    ["throw new Error('the tables are wrong')", 'the tables are wrong'],
    ['process.exit(3)', "the explorer's index thread ended unexpectedly (exit code 3)"],
  ])('fails when the thread ends first: %s', async (code, message) => {
    await expect(indexReady(thread(code))).rejects.toThrow(message)
  })
})
