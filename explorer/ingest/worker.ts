import { parentPort, workerData } from 'node:worker_threads'
import { createLogger } from '../../src/telemetry/logger.ts'
import type { ExplorerConfig } from '../config/config.ts'
import { openDatabase } from '../database/open.ts'
import { followHeads } from '../node/followHeads.ts'
import { createNodeClient } from '../node/nodeClient.ts'
import { takeTurns } from './takeTurns.ts'

/*
 * The thread that writes the index. SQLite's queries run in the thread that makes them, so answers of the API do not wait for it.
 * Its messages: IndexedBlocks when the index has new blocks; whether this process is the one that writes. A message to it stops it.
 */

const port = parentPort!
const config = workerData as Pick<ExplorerConfig, 'nodeUrl' | 'database' | 'log'>
const stop = new AbortController()
port.once('message', () => stop.abort())

const logger = createLogger(config.log, { thread: 'index' })
const database = await openDatabase(config.database)
const heads = followHeads(config.nodeUrl, stop.signal)
port.postMessage({ ready: true })
try {
  await takeTurns({
    database,
    node: createNodeClient(config.nodeUrl, stop.signal),
    logger,
    stop: stop.signal,
    nextHead: heads.next,
    onIndexed: (indexed) => port.postMessage({ indexed }),
    onTurn: (isOurTurn) => port.postMessage({ isOurTurn }),
  })
} catch (error) {
  // What a stop aborts has not failed.
  if (!stop.signal.aborted) throw error
} finally {
  heads.close()
  await database.close()
  port.close()
}
