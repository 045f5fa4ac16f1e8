import { parentPort, workerData } from 'node:worker_threads'
import { createSpeculationWorker } from '../../src/execution/parallel/speculationWorker.ts'
import type { StateReader } from '../../src/state/reader.ts'
import { createTestEngine } from '../testEngines.ts'
import { readPreState } from './runStateTest.ts'
import { blockHashOf, type SpeculatorMessage, type StateTestSpeculatorData } from './stateTestBlocks.ts'

/** The thread that executes beside `stateTestBlocks.ts`: a speculator on the state of a test instead of a database. */
const { memory, index } = workerData as StateTestSpeculatorData
let state: StateReader = readPreState({ pre: {} })
const take = createSpeculationWorker({
  memory,
  index,
  openParent: () => ({ state, chain: { hash: blockHashOf }, close: () => undefined }),
  engine: await createTestEngine('wasm'),
  precompiles: new Map(),
  now: () => performance.now(),
})
parentPort!.on('message', (message: SpeculatorMessage) => {
  if ('pre' in message) state = readPreState(message)
  else void take(message.offer)
})
parentPort!.postMessage('ready')
