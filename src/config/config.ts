import { isIPv4 } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import { type ChainIds, resolveChainIds } from './chainIds.ts'
import { ConfigError } from './configError.ts'
import { NAMESPACES, type Namespace } from './namespaces.ts'
import { type ConfigSources, readSettings } from './settings.ts'
import { defaultThreadCounts } from './threadCounts.ts'
import type { AddressRange, PeerAddress, SignerAddress } from './valueKind.ts'
import { type Settings, VARIABLES } from './variables.ts'

/** Everything that the operator configures, checked and frozen. */
export interface Config extends ChainIds {
  readonly network: Settings['network']
  readonly moniker: string
  /** absolute path of the data directory */
  readonly homedir: string
  readonly genesis: GenesisConfig
  readonly joining: JoiningConfig
  readonly rpc: RpcConfig
  readonly p2p: P2pConfig
  /** loopback; 0 = off */
  /** port 0: off */
  readonly metrics: { readonly host: string; readonly port: number }
  /** blocks whose state is retained, or all of them */
  readonly pruning: 'archive' | number
  /** blocks that are retained; 0 = all */
  readonly blockHistory: number
  /** whether blocks are found by their logs and events */
  readonly index: Settings['index']
  /** whether new blocks enter the index of callers and called addresses */
  readonly indexTraces: boolean
  readonly snapshots: SnapshotsConfig
  /** whether accepted transactions of clients stay across a restart */
  readonly poolJournal: boolean
  readonly evmEngine: Settings['evmEngine']
  /** threads that execute the transactions of a block */
  readonly executionThreads: number
  readonly evmShadow: boolean
  /** heights at which a planned upgrade is not made */
  readonly skipUpgrades: readonly number[]
  /** undefined: the consensus key is in the data directory */
  readonly signer: SignerConfig | undefined
  readonly log: LogConfig
  /** undefined: there are no traces */
  readonly tracing: TracingConfig | undefined
  readonly heartbeatUrl: string | undefined
}

/** Traces for a collector of OpenTelemetry. */
export interface TracingConfig {
  /** base address of OTLP over HTTP */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  /** of transactions, from 0 to 1 */
  readonly share: number
}

/** Contents of a genesis that this node creates, and the hash of the one that it accepts. */
interface GenesisConfig {
  readonly wallet: Address | undefined
  readonly selfDelegationAcoin: bigint
  readonly hash: Hash | undefined
}

/** A block that the operator trusts: TRUST_HEIGHT and TRUST_HASH. */
export interface TrustPoint {
  readonly height: number
  /** of its consensus header */
  readonly hash: Hash
}

interface JoiningConfig {
  readonly isJoining: boolean
  readonly syncMode: Settings['syncMode']
  readonly trustPoint: TrustPoint | undefined
  /** undefined: two thirds of the unbonding time */
  readonly trustPeriodMs: number | undefined
  readonly forceSnapshotRestore: boolean
  readonly snapshotManifestUrl: string | undefined
  readonly blocksManifestUrl: string | undefined
  readonly seedNodeUrl: string | undefined
  /** set together with seedPeerHost, or neither is */
  readonly seedNodeId: string | undefined
  readonly seedPeerHost: string | undefined
}

interface RpcConfig {
  readonly host: string
  readonly port: number
  /** undefined: there is only gRPC for browsers, on `port` */
  readonly grpcPort: number | undefined
  readonly publicUrl: string | undefined
  /** threads that serve sockets */
  readonly socketThreads: number
  readonly viewThreads: number
  /** requests per second of one client; 0 = no limit */
  readonly rateLimit: number
  /** whose X-Forwarded-For is believed */
  readonly trustedProxies: readonly AddressRange[]
  /** `*` alone allows every origin */
  readonly corsOrigins: readonly string[]
  readonly limits: RpcLimits
  readonly namespaces: readonly Namespace[]
  readonly rights: CallRights
  readonly heavyCalls: HeavyCallLimits
  /** undefined: there is no such listener */
  readonly privateListener: PrivateListenerConfig | undefined
}

/** Rights of a request, by the listener through which it came. */
export interface CallRights {
  /** whether tracers written in JavaScript may run */
  readonly jsTracers: boolean
  /** how many blocks below the head may be executed again for traces; Infinity: all whose state is retained */
  readonly traceDepth: number
}

/** Heavy calls that run at the same time in a view thread: of all clients, of one, and of those the traces. */
export interface HeavyCallLimits {
  readonly all: number
  readonly client: number
  readonly traces: number
}

/** The JSON-RPC listener for the operator. */
export interface PrivateListenerConfig {
  readonly host: string
  readonly port: number
  readonly namespaces: readonly Namespace[]
  /** in lower case; IP addresses are always allowed */
  readonly hostNames: readonly string[]
  /** undefined: requests need no token */
  readonly jwtSecretFile: string | undefined
}

interface SnapshotsConfig {
  /** blocks from one snapshot to the next; 0 = none are made */
  readonly interval: number
  /** how many stay */
  readonly keep: number
}

export interface RpcLimits {
  /** gas that eth_call and estimates may use */
  readonly callGas: bigint
  /** milliseconds that one call, estimate or block trace may run */
  readonly callTimeoutMs: number
  /** blocks that one eth_getLogs may span */
  readonly logBlockRange: number
  /** largest number of logs in one answer */
  readonly logResults: number
  /** acoin: the highest fee that eth_sendRawTransaction lets through; 0 = no cap */
  readonly feeCapAcoin: bigint
  /** whether clients and peers may send transactions without a chain ID, where the genesis allows those */
  readonly acceptsUnprotected: boolean
  readonly batchItems: number
  readonly responseBytes: number
  readonly requestBytes: number
}

interface P2pConfig {
  readonly host: string
  readonly port: number
  /** host:port that peers should dial */
  readonly externalAddress: string | undefined
  /** PERSISTENT_PEERS, and the seed of a node that joins */
  readonly persistentPeers: readonly PeerAddress[]
  /** PEX */
  readonly exchangesPeers: boolean
  readonly seeds: readonly PeerAddress[]
  readonly isSeed: boolean
  /** node IDs; so are the next ones */
  readonly privatePeerIds: readonly string[]
  readonly unconditionalPeerIds: readonly string[]
  /** ADDR_BOOK_STRICT */
  readonly isBookStrict: boolean
  readonly maxPeers: number
}

/** Remote signers. */
interface SignerConfig {
  readonly address: SignerAddress
  /** as it was given, for the log */
  readonly text: string
  /** keys of connections that may sign; undefined: any, from this machine */
  readonly allowedKeys: readonly Uint8Array[] | undefined
}

export interface LogConfig {
  readonly level: Settings['logLevel']
  readonly format: Settings['logFormat']
}

/**
 * Loads the configuration from flags, environment and `.env` (in this order of precedence).
 * @param homeDirectory of the user, for a HOMEDIR that starts with `~/`
 * @throws ConfigError with one line for the operator
 */
export function loadConfig(sources: ConfigSources, homeDirectory: string): Config {
  const settings = readSettings(VARIABLES, sources)
  checkPorts(settings)
  checkSnapshots(settings)
  checkTraceIndex(settings)
  checkSeedMode(settings)
  const seedPeer = seedPeerOf(settings)
  return deepFreeze({
    ...resolveChainIds(settings),
    network: settings.network,
    moniker: settings.moniker,
    homedir: resolve(settings.homedir.replace(/^~(?=$|\/)/, () => homeDirectory)),
    genesis: {
      wallet: settings.genesisWallet,
      selfDelegationAcoin: settings.selfDelegationAcoin,
      hash: settings.genesisHash,
    },
    joining: {
      isJoining: settings.isJoining,
      // A seed stays with no peer that could give it a snapshot.
      syncMode: settings.seedMode && settings.syncMode === 'auto' ? 'blocks' : settings.syncMode,
      trustPoint: trustPointOf(settings),
      trustPeriodMs: settings.trustPeriodMs,
      forceSnapshotRestore: settings.forceSnapshotRestore,
      snapshotManifestUrl: settings.snapshotManifestUrl,
      blocksManifestUrl: settings.blocksManifestUrl,
      seedNodeUrl: settings.seedNodeUrl,
      seedNodeId: settings.seedNodeId,
      seedPeerHost: settings.seedPeerHost,
    },
    rpc: rpcConfig(settings),
    p2p: {
      host: settings.p2pHost,
      port: settings.p2pPort,
      externalAddress: settings.externalP2pAddress,
      persistentPeers: withSeed(settings.persistentPeers, settings.isJoining ? seedPeer : undefined),
      exchangesPeers: settings.pex,
      seeds: settings.seeds,
      isSeed: settings.seedMode,
      privatePeerIds: settings.privatePeerIds,
      unconditionalPeerIds: settings.unconditionalPeerIds,
      isBookStrict: settings.addrBookStrict ?? settings.network !== 'devnet',
      maxPeers: settings.maxPeers,
    },
    metrics: { host: settings.metricsHost, port: settings.metricsPort },
    pruning: settings.pruning,
    blockHistory: settings.blockHistory,
    index: settings.index,
    indexTraces: settings.indexTraces,
    snapshots: { interval: settings.snapshotInterval, keep: settings.snapshotKeep },
    poolJournal: settings.poolJournal,
    evmEngine: settings.evmEngine,
    executionThreads: settings.executionThreads,
    evmShadow: settings.evmShadow,
    skipUpgrades: settings.skipUpgrades,
    signer: signerConfig(settings),
    log: { level: settings.logLevel, format: settings.logFormat },
    tracing: tracingConfig(settings),
    heartbeatUrl: settings.heartbeatUrl,
  })
}

function tracingConfig(settings: Settings): TracingConfig | undefined {
  const { otlpEndpoint: endpoint, otlpHeaders: headers, otelServiceName: serviceName, tracedShare: share } = settings
  return endpoint === undefined ? undefined : { endpoint, headers, serviceName, share }
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** @throws ConfigError when any program on the network could be the signer */
function signerConfig({ privValidatorLaddr, privValidatorSignerKeys }: Settings): SignerConfig | undefined {
  const address = privValidatorLaddr
  if (address === undefined) {
    if (privValidatorSignerKeys === undefined) return undefined
    throw new ConfigError('PRIV_VALIDATOR_SIGNER_KEYS is set, but PRIV_VALIDATOR_LADDR is not: set both, or neither')
  }
  if (address.kind === 'unix') {
    if (privValidatorSignerKeys !== undefined) {
      throw new ConfigError(
        'PRIV_VALIDATOR_SIGNER_KEYS is set, but PRIV_VALIDATOR_LADDR is a Unix socket, whose connections have no keys: unset it',
      )
    }
    return { address, text: `unix://${address.path}`, allowedKeys: undefined }
  }
  const { host, port } = address
  const text = `tcp://${host.includes(':') ? `[${host}]` : host}:${port}`
  if (privValidatorSignerKeys === undefined && !isLoopbackHost(host)) {
    throw new ConfigError(
      `PRIV_VALIDATOR_LADDR is ${text}: any program that reaches it could sign for this validator; set PRIV_VALIDATOR_SIGNER_KEYS, or listen on 127.0.0.1`,
    )
  }
  return { address, text, allowedKeys: privValidatorSignerKeys }
}

function rpcConfig(settings: Settings): RpcConfig {
  const threads = defaultThreadCounts(availableParallelism(), process.platform === 'linux')
  return {
    host: settings.rpcHost,
    port: settings.rpcPort,
    grpcPort: settings.grpcPort,
    publicUrl: settings.publicRpcUrl,
    socketThreads: settings.rpcThreads ?? threads.socketThreads,
    viewThreads: settings.viewThreads ?? threads.viewThreads,
    rateLimit: settings.rpcRateLimit,
    trustedProxies: settings.trustedProxies,
    corsOrigins: settings.rpcCorsOrigins,
    limits: {
      callGas: BigInt(settings.rpcGasCap),
      callTimeoutMs: settings.rpcEvmTimeoutMs,
      logBlockRange: settings.rpcLogBlockRange,
      logResults: settings.rpcLogResults,
      feeCapAcoin: settings.rpcTxFeeCapAcoin,
      acceptsUnprotected: settings.rpcAllowUnprotectedTxs,
      batchItems: settings.rpcBatchLimit,
      responseBytes: settings.rpcResponseLimit,
      requestBytes: settings.rpcRequestLimit,
    },
    namespaces: namespacesOf(settings),
    rights: {
      jsTracers: settings.rpcJsTracers,
      traceDepth: settings.rpcTraceDepth === 0 ? Number.POSITIVE_INFINITY : settings.rpcTraceDepth,
    },
    heavyCalls: {
      all: settings.rpcHeavyCalls,
      client: Math.ceil((settings.rpcHeavyCalls * 3) / 4),
      traces: settings.rpcTraces,
    },
    privateListener: privateListenerConfig(settings),
  }
}

/** @throws ConfigError for methods that only a network for tests may have */
function namespacesOf({ network, rpcNamespaces, privateRpcNamespaces = [] }: Settings): readonly Namespace[] {
  if (network !== 'devnet' && [...rpcNamespaces, ...privateRpcNamespaces].includes('testing')) {
    throw new ConfigError(
      `NETWORK is ${network}: RPC_NAMESPACES and PRIVATE_RPC_NAMESPACES may have testing only on a devnet`,
    )
  }
  return rpcNamespaces
}

/** @throws ConfigError for an address that others reach, without a secret */
function privateListenerConfig(settings: Settings): PrivateListenerConfig | undefined {
  const { privateRpcPort: port, privateRpcHost: host, rpcNamespaces, rpcJwtSecretFile: jwtSecretFile } = settings
  if (port === undefined) return undefined
  if (!isLoopbackHost(host) && jwtSecretFile === undefined) {
    throw new ConfigError(
      `PRIVATE_RPC_HOST is ${host}, which other machines may reach: set RPC_JWT_SECRET_FILE, or unset PRIVATE_RPC_HOST`,
    )
  }
  const namespaces =
    settings.privateRpcNamespaces ?? NAMESPACES.filter((name) => name === 'trace' || rpcNamespaces.includes(name))
  return { host, port, namespaces, hostNames: settings.privateRpcVhosts, jwtSecretFile }
}

/** @throws ConfigError when only one of ID and address is set */
function seedPeerOf({ seedNodeId: id, seedPeerHost: address }: Settings): PeerAddress | undefined {
  if (id !== undefined && address !== undefined) return { id, address }
  if (id === undefined && address === undefined) return undefined
  const [set, unset] = id === undefined ? ['SEED_PEER_HOST', 'SEED_NODE_ID'] : ['SEED_NODE_ID', 'SEED_PEER_HOST']
  throw new ConfigError(`${unset} is not set: it must be set together with ${set}`)
}

/** @throws ConfigError when only one of height and hash is set */
function trustPointOf({ trustHeight: height, trustHash: hash }: Settings): TrustPoint | undefined {
  if (height !== undefined && hash !== undefined) return { height, hash }
  if (height === undefined && hash === undefined) return undefined
  const [set, unset] = height === undefined ? ['TRUST_HASH', 'TRUST_HEIGHT'] : ['TRUST_HEIGHT', 'TRUST_HASH']
  throw new ConfigError(`${unset} is not set: it must be set together with ${set}`)
}

/** @throws ConfigError when PERSISTENT_PEERS has the seed node with another address */
function withSeed(peers: readonly PeerAddress[], seed: PeerAddress | undefined): readonly PeerAddress[] {
  if (seed === undefined) return peers
  const same = peers.find(({ id }) => id === seed.id)
  if (same === undefined) return [...peers, { ...seed }]
  if (same.address === seed.address) return peers
  throw new ConfigError(
    `SEED_PEER_HOST is ${seed.address}, but PERSISTENT_PEERS has ${same.address} for SEED_NODE_ID: give both the same address`,
  )
}

/** @throws ConfigError for a seed that would not answer */
function checkSeedMode({ seedMode, pex }: Pick<Settings, 'seedMode' | 'pex'>): void {
  if (seedMode && !pex) throw new ConfigError('PEX is false, but SEED_MODE=true exchanges addresses: set PEX=true')
}

function checkPorts(
  settings: Pick<
    Settings,
    'rpcPort' | 'p2pPort' | 'metricsPort' | 'privateRpcPort' | 'grpcPort' | 'privValidatorLaddr'
  >,
): void {
  const ports: [name: string, port: number][] = [
    ['RPC_PORT', settings.rpcPort],
    ['P2P_PORT', settings.p2pPort],
    ['METRICS_PORT', settings.metricsPort],
  ]
  if (settings.privateRpcPort !== undefined) ports.push(['PRIVATE_RPC_PORT', settings.privateRpcPort])
  if (settings.grpcPort !== undefined) ports.push(['GRPC_PORT', settings.grpcPort])
  const { privValidatorLaddr: signers } = settings
  if (signers?.kind === 'tcp') ports.push(['PRIV_VALIDATOR_LADDR', signers.port])
  for (const [index, [name, port]] of ports.entries()) {
    const other = ports.slice(0, index).find((entry) => entry[1] === port)
    if (other !== undefined)
      throw new ConfigError(`${name} is ${port}: ${other[0]} has that port, too; choose another one`)
  }
}

/**
 * Checks what trace_filter needs: it executes the blocks again that it finds by the index, and so
 * needs them and the state before each.
 */
function checkTraceIndex({
  indexTraces,
  pruning,
  blockHistory,
}: Pick<Settings, 'indexTraces' | 'pruning' | 'blockHistory'>): void {
  if (!indexTraces) return
  if (pruning !== 'archive') throw new ConfigError(`PRUNING is ${pruning}: INDEX_TRACES needs PRUNING=archive`)
  if (blockHistory !== 0) throw new ConfigError(`BLOCK_HISTORY is ${blockHistory}: INDEX_TRACES needs BLOCK_HISTORY=0`)
}

/** A snapshot is made some blocks after its height, and holds 1,024 blocks: state and blocks must still be there, also on a slow disk. */
const LEAST_FOR_SNAPSHOTS = { pruning: 100, blockHistory: 2000 } as const

function checkSnapshots({
  snapshotInterval,
  pruning,
  blockHistory,
}: Pick<Settings, 'snapshotInterval' | 'pruning' | 'blockHistory'>): void {
  if (snapshotInterval === 0) return
  if (pruning !== 'archive' && pruning < LEAST_FOR_SNAPSHOTS.pruning) {
    throw new ConfigError(
      `PRUNING is ${pruning}: with SNAPSHOT_INTERVAL it must be archive or at least ${LEAST_FOR_SNAPSHOTS.pruning}`,
    )
  }
  if (blockHistory !== 0 && blockHistory < LEAST_FOR_SNAPSHOTS.blockHistory) {
    throw new ConfigError(
      `BLOCK_HISTORY is ${blockHistory}: with SNAPSHOT_INTERVAL it must be 0 or at least ${LEAST_FOR_SNAPSHOTS.blockHistory}`,
    )
  }
}

/** Freezes `value` and everything in it, except byte arrays, which JavaScript cannot freeze. */
function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !ArrayBuffer.isView(part)) deepFreeze(part)
  }
  return Object.freeze(value)
}
