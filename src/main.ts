import type { InitReport, RunningNode, StartOptions, SuperviseCommand } from './cli/ports.ts'
import type { Config } from './config/config.ts'
import { checkListeners, nodeListeners } from './config/listeners.ts'
import { dataPaths } from './datadir/dataDirectory.ts'
import { openHome } from './node/start/openHome.ts'
import { bytesToHex } from './primitives/bytes.ts'
import { createStartServer, type StartServer } from './rpc/transport/startServer.ts'
import { createLogger } from './telemetry/logger.ts'

/**
 * Starts the node in the configured data directory; resolves when it serves its ports.
 * @throws ListenError when one of the ports cannot be had; the reason of the options' signal when that is aborted before. Everything that
 * was begun has been undone then
 */
export async function startNode(config: Config, options: StartOptions): Promise<RunningNode> {
  const logger = createLogger(config.log)
  const { signal = new AbortController().signal, allowsOlder = false, onThreadsLeft = () => undefined } = options
  let server: StartServer | undefined
  const startServer = { close: async () => server?.close() }
  // Behind the lock, so that a second node in the same directory names the first one and not its ports.
  const onLocked = async (): Promise<void> => {
    await checkListeners(nodeListeners(config))
    const onError = (error: Error): void => logger.warn({ error }, 'the port of the RPC cannot be opened')
    server = createStartServer({ ...config.rpc, onError })
  }
  try {
    const home = await openHome(config, options, logger, onLocked)
    const { runNode } = await import('./node/roles/main/runNode.ts')
    return await runNode(config, home, logger, { signal, allowsOlder, onThreadsLeft, startServer })
  } catch (error) {
    if (error === signal.reason) logger.info('node has stopped')
    throw error
  } finally {
    await startServer.close()
  }
}

/**
 * Runs the node as a process of its own until it is stopped, and changes its version at upgrades.
 * @throws ConfigError; VersionRefused when the version that has to go on cannot be installed; NodeEnded with the node's exit code
 */
export async function supervise({ homedir, log, sha256, ...command }: SuperviseCommand): Promise<void> {
  const { parseGivenChecksums } = await import('./operator/supervise/checksums.ts')
  const { superviseNode } = await import('./operator/supervise/superviseNode.ts')
  const logger = createLogger(log).child({ part: 'supervise' })
  await superviseNode({ ...command, paths: dataPaths(homedir), checksums: parseGivenChecksums(sha256), logger })
}

/** Prepares the data directory without starting anything. */
export async function initNode(config: Config, options: StartOptions): Promise<InitReport> {
  const home = await openHome(config, options, createLogger(config.log))
  home.signerPort?.close()
  await home.lock.release()
  return {
    isFresh: home.init.isFresh,
    genesisPath: home.paths.genesis,
    genesisHash: bytesToHex(home.init.genesisHash).slice(2),
    chainId: home.chain.chainId,
    nodeId: home.nodeKey.id,
    warnings: home.init.warnings,
  }
}

/** The node ID that peers and /rpc/status show; the key is created when it is absent. */
export async function showNodeId(config: Config): Promise<string> {
  const { loadOrCreateNodeKey } = await import('./p2p/nodeKey.ts')
  return loadOrCreateNodeKey(dataPaths(config.homedir).nodeKey).id
}
