import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { checkListeners, listenAs, listener } from '../src/config/listeners.ts'
import { toChecksumAddress } from '../src/primitives/address.ts'
import { explorerEntry } from '../src/primitives/location.ts'
import { createLogger, type Logger } from '../src/telemetry/logger.ts'
import type { ExplorerConfig } from './config/config.ts'
import type { IndexedBlocks } from './database/indexedBlocks.ts'
import { openReader } from './database/open.ts'
import { openServices } from './database/services.ts'
import { loadFaucetKey } from './faucet/faucetKey.ts'
import { startFaucet } from './faucet/startFaucet.ts'
import { indexReady } from './ingest/indexReady.ts'
import { startProber } from './network/prober.ts'
import { createNodeClient } from './node/nodeClient.ts'
import { createServer } from './server/createServer.ts'
import { openCompilers } from './verify/compilers.ts'
import { createVerifier } from './verify/verifier.ts'

/** How long a stop waits for answers that are under way. */
const CLOSE_MS = 2_000
/** Most bytes of solc's answer: bytecode, interfaces and comments of all contracts in the sources. */
const MAX_COMPILER_OUTPUT = 32 * 1024 * 1024

/** An explorer that serves its port. */
export interface RunningExplorer {
  /** http://host:port/ as this machine can reach it */
  readonly url: string
  /** resolves after `stop`; rejects when a part failed, after the rest was stopped */
  readonly ended: Promise<void>
  stop(): void
}

/**
 * Starts an explorer: the thread that indexes, then the server that answers from the index.
 * @throws what prevents it: ListenError for its port or address, a wrong database
 */
export async function startExplorer(config: ExplorerConfig): Promise<RunningExplorer> {
  const logger = createLogger(config.log)
  const place = listener('EXPLORER', config.host, config.port)
  await checkListeners([place])
  const { nodeUrl, database, log, faucetKeyFile } = config
  const faucetKey = faucetKeyFile === undefined ? undefined : loadFaucetKey(faucetKeyFile)
  const compilers = await openCompilers({
    list: config.compilers,
    cache: config.compilerCache,
    mirror: config.compilerMirror,
  })
  const worker = new Worker(explorerEntry('explorerIndex'), { workerData: { nodeUrl, database, log } })
  const failed = once(worker, 'error').then(([error]) => {
    throw error
  })
  const exited = once(worker, 'exit')
  // Both reject when the thread fails, and their waiters handle that.
  for (const end of [failed, exited]) end.catch(() => undefined)
  const listeners = new Set<(indexed: IndexedBlocks) => void>()
  let isOurTurn = false
  // From the start: the thread sends once whether this process writes.
  worker.on('message', (message: { readonly indexed?: IndexedBlocks; readonly isOurTurn?: boolean }) => {
    isOurTurn = message.isOurTurn ?? isOurTurn
    if (message.indexed !== undefined) for (const listener of listeners) listener(message.indexed)
  })
  const ending = new AbortController()
  const parts: (() => Promise<unknown>)[] = []
  // In the reverse order: each may need those before it.
  const endParts = async (): Promise<void> => {
    ending.abort()
    for (const end of parts.toReversed()) await end()
  }
  let server: Awaited<ReturnType<typeof createServer>>
  let shared: Pick<Parameters<typeof createServer>[0], 'queries' | 'services' | 'node'> & { readonly logger: Logger }
  try {
    await indexReady(worker)
    const reader = openReader(database)
    parts.push(reader.close)
    const services = await openServices(database)
    parts.push(() => services.destroy())
    shared = { queries: reader.queries, services, node: createNodeClient(config.nodeUrl, ending.signal), logger }
    const limits = {
      timeMs: config.compileTimeout,
      memoryMib: config.compileMemoryMib,
      outputBytes: MAX_COMPILER_OUTPUT,
    }
    const verifier = createVerifier({ ...shared, compilers, limits })
    parts.push(verifier.close)
    server = await createServer({ ...shared, config, verifier, faucetAddress: faucetKey?.address, listeners })
    parts.push(() => closeServer(server))
    await listenAs(place, () => server.listen({ host: config.host, port: config.port }))
  } catch (error) {
    worker.postMessage('stop')
    await Promise.allSettled([exited])
    await endParts()
    throw error
  }
  const shown = config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host
  const url = `http://${shown.includes(':') ? `[${shown}]` : shown}:${config.port}/`
  logger.info({ url }, 'explorer is up')
  parts.push(startProber({ ...shared, allowsPrivate: config.probePrivate }).stop)
  if (faucetKey !== undefined) {
    parts.push(startFaucet({ ...shared, key: faucetKey, isOurTurn: () => isOurTurn }).stop)
    logger.info({ address: toChecksumAddress(faucetKey.address) }, 'account of the faucet')
  }
  const ended = Promise.race([exited, failed]).finally(endParts)
  return { url, ended: ended.then(() => undefined), stop: () => worker.postMessage('stop') }
}

/** Answers that are under way get a moment. A client that does not read them must not delay the stop. */
async function closeServer(server: Awaited<ReturnType<typeof createServer>>): Promise<void> {
  const late = setTimeout(() => server.server.closeAllConnections(), CLOSE_MS)
  await server.close()
  clearTimeout(late)
}
