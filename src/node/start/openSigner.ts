import { mkdirSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { listenAs, signerListener } from '../../config/listeners.ts'
import { systemClock } from '../../consensus/clock.ts'
import { formatPublicKey, loadPublicKey } from '../../consensus/validatorKey.ts'
import type { DataPaths } from '../../datadir/dataDirectory.ts'
import type { NodeKey } from '../../p2p/nodeKey.ts'
import { RemoteKey } from '../../p2p/privval/remoteKey.ts'
import { SignerListener } from '../../p2p/privval/signerListener.ts'
import { writeFileDurably } from '../../storage/writeFileDurably.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createSignerMetrics } from '../../telemetry/metrics.ts'

/** How often a start that waits for the first signer says so. */
const REMIND_MS = 10_000

/** Remote signers that dial in, for as long as the home is open. */
export interface SignerPort {
  readonly key: RemoteKey
  readonly metrics: ReturnType<typeof createSignerMetrics>
  close(): void
}

/**
 * Listens at PRIV_VALIDATOR_LADDR, and waits for a signer's public key if no signer has ever connected. The key is stored in
 * a file, so that later starts follow the network at once, whether a signer is connected or not.
 * @throws ListenError when the address cannot be used; the signal's reason
 */
export async function openSignerPort(
  signer: NonNullable<Config['signer']>,
  { chainId }: Pick<Config, 'chainId'>,
  paths: DataPaths,
  nodeKey: NodeKey,
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<SignerPort> {
  const known = loadPublicKey(paths.signerPublicKey)
  const metrics = createSignerMetrics()
  const key = new RemoteKey({ chainId, publicKey: known, clock: systemClock, metrics, log })
  const listener = new SignerListener({
    ...signer,
    nodeKey,
    remoteKey: key,
    onFailure: (error) => log.error({ error }, 'the port for remote signers has failed: no signer can connect'),
    log,
  })
  const close = (): void => {
    listener.close()
    key.close()
  }
  try {
    await listenAs(signerListener(signer.address), () => listener.open())
    log.info({ address: signer.text }, 'listening for remote signers (PRIV_VALIDATOR_LADDR)')
    if (known === undefined) saveSignerPublicKey(paths, await firstKey(key, signer.text, log, signal))
  } catch (error) {
    close()
    throw error
  }
  return { key, metrics, close }
}

async function firstKey(
  key: RemoteKey,
  address: string,
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const remind = (): void =>
    log.warn(
      { address },
      'waiting for the first connection of a remote signer, whose key decides which validator this node is: start the signer',
    )
  remind()
  const timer = setInterval(remind, REMIND_MS)
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal!.reason)
  signal?.addEventListener('abort', abort)
  try {
    signal?.throwIfAborted()
    return await Promise.race([key.whenKnown(), aborted.promise])
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function saveSignerPublicKey(paths: DataPaths, publicKey: Uint8Array): void {
  mkdirSync(paths.config, { recursive: true, mode: 0o700 })
  writeFileDurably(paths.signerPublicKey, JSON.stringify(formatPublicKey(publicKey), undefined, 2), 0o644)
}
