import { parentPort, workerData } from 'node:worker_threads'
import { readStateHead } from '../../../src/state/head.ts'
import { createStateCaches, openStateAt } from '../../../src/state/view.ts'
import { Database } from '../../../src/storage/database.ts'
import { describeState } from './randomChain.ts'

/** A thread that reports the state at the last ten heights, each time from a fresh snapshot, until it is told to stop. */
const database = await Database.open(workerData.directory, { readOnly: true })
const caches = createStateCaches(10_000, 10_000)
let stopped = false
parentPort!.once('message', () => {
  stopped = true
})
while (!stopped) {
  const snapshot = database.snapshot()
  const head = readStateHead(snapshot)!
  const states: unknown[] = []
  const from = Math.max(0, head.height - 9)
  for (let height = from; height <= head.height; height++) {
    states.push(describeState(openStateAt(snapshot, caches, head, height)))
  }
  parentPort!.postMessage({ from, states })
  await snapshot.close()
  await new Promise((resolve) => setImmediate(resolve))
}
await database.close()
