import type { z } from 'zod'
import { NAMESPACES } from './namespaces.ts'
import {
  account,
  addressRanges,
  choice,
  choices,
  coinAmount,
  directory,
  duration,
  hash,
  headerList,
  heights,
  host,
  hostAndPort,
  hostNames,
  httpUrl,
  integer,
  nodeId,
  nodeIds,
  origins,
  peerList,
  port,
  pruningMode,
  publicKeys,
  share,
  signerAddress,
  text,
  type ValueKind,
  yesOrNo,
} from './valueKind.ts'

export type VariableGroup =
  | 'Network'
  | 'Genesis'
  | 'Peers'
  | 'JSON-RPC'
  | 'Execution and storage'
  | 'Operation'
  | 'Explorer'

/** One configuration variable: an environment variable, a line of `.env` and a flag of the same name. */
export interface Variable<T = unknown, D extends string | undefined = string | undefined> {
  /** as in the environment; `--rpc-port` is the flag of RPC_PORT */
  readonly name: string
  readonly group: VariableGroup
  readonly kind: ValueKind<T>
  /** its value when it is not set; undefined: it then has no value */
  readonly fallback: D
  /** its value never appears in messages or logs */
  readonly secret: boolean
  /** a sentence or two, for the documents */
  readonly about: string
}

/** Makes one line of a table of variables. */
export function variable<T, const D extends string | undefined>(
  name: string,
  group: VariableGroup,
  kind: ValueKind<T>,
  fallback: D,
  about: string,
  secret = false,
): Variable<T, D> {
  return { name, group, kind, fallback, secret, about }
}

/** Every variable, by the key it has in {@link Settings}. The documents are generated from this table. */
// biome-ignore format: one variable per line reads as a table
export const VARIABLES = {
  network: variable('NETWORK', 'Network', choice(['mainnet', 'testnet', 'devnet']), 'mainnet', 'Network kind. It supplies the defaults of CHAIN_ID and EVM_CHAIN_ID: `coin_7628-1` and 7628 on mainnet, `coin_76287-1` and 76287 on testnet and devnet.'),
  chainId: variable('CHAIN_ID', 'Network', text(50), undefined, 'Native chain ID, `<name>_<EVM chain ID>-<revision>`. By default that of NETWORK.'),
  evmChainId: variable('EVM_CHAIN_ID', 'Network', integer(1, 4_503_599_627_370_476), undefined, 'EVM chain ID; it must be the number in CHAIN_ID. By default that of CHAIN_ID or NETWORK. The upper bound is the largest that MetaMask accepts.'),
  moniker: variable('MONIKER', 'Network', text(70), 'coind', 'Display name of the node, and of the validator in a genesis that the node creates.'),
  homedir: variable('HOMEDIR', 'Network', directory, '~/.coind', 'Data directory: configuration, keys, database and write-ahead log.'),

  genesisWallet: variable('GENESIS_WALLET', 'Genesis', account, undefined, 'Address that receives the whole initial supply, 1 billion COIN, when the node creates a genesis. Required then.'),
  selfDelegationAcoin: variable('GENESIS_SELF_DELEGATION', 'Genesis', coinAmount(1n, 1_000_000_000_000n), '1000000', 'COIN that the sole validator of a new genesis delegates to itself, minted on top of the initial supply. Under 0.1 % of the initial supply (1,000,000 COIN) the node warns: a few small holders could then outvote the validator.'),
  genesisHash: variable('GENESIS_HASH', 'Genesis', hash, undefined, 'Hash that the genesis must have (`coind genesis hash` prints it). The node does not start with another genesis. A node that joins should have the hash from a trusted source: without it, the server at SEED_NODE_URL decides which network the node joins.'),
  isJoining: variable('JOIN_NETWORK', 'Genesis', yesOrNo, 'false', 'Whether to join an existing network instead of creating a genesis. Without a genesis file, the node takes the genesis from SEED_NODE_URL, and stays connected to the peer SEED_NODE_ID at SEED_PEER_HOST. If there is a genesis file, the node uses that.'),
  forceSnapshotRestore: variable('FORCE_SNAPSHOT_RESTORE', 'Genesis', yesOrNo, 'false', 'Whether to replace the database with the snapshot at SNAPSHOT_MANIFEST_URL, once for each new value. Keys, genesis and the signer\'s memory stay. It must be unset where a genesis is created.'),
  snapshotManifestUrl: variable('SNAPSHOT_MANIFEST_URL', 'Genesis', httpUrl, undefined, 'Address of a snapshot: of its `manifest.json`, or of the directory. A node without a database starts from it. The node verifies the snapshot, whichever server it comes from. It must be unset where a genesis is created.', true),
  blocksManifestUrl: variable('BLOCKS_MANIFEST_URL', 'Genesis', httpUrl, undefined, 'Address of blocks that `coind export --directory` wrote: of their `manifest.json`, or of the directory. When its newest block is more than an hour old at the start, the node executes the blocks there that it lacks, and verifies them like blocks of peers. Peers supply the rest.', true),
  syncMode: variable('SYNC_MODE', 'Genesis', choice(['auto', 'blocks', 'snapshot']), 'auto', 'How a joining node without a database gets the chain. `auto`: the newest snapshot that its peers offer and that verifies; without one, all blocks. `snapshot`: only a snapshot. `blocks`: it executes all blocks, as a node with PRUNING=archive also does with `auto`.'),
  trustHeight: variable('TRUST_HEIGHT', 'Genesis', integer(1, 9_007_199_254_740_991, 'a height'), undefined, 'Height of a block that the operator trusts: the headers of a snapshot are verified from there instead of from the genesis validators. Set it together with TRUST_HASH. It is needed where the genesis is older than TRUST_PERIOD.'),
  trustHash: variable('TRUST_HASH', 'Genesis', hash, undefined, 'Hash of the consensus header at TRUST_HEIGHT, as `/rpc/commit?height=…` of a trusted node shows it (`result.signed_header.commit.block_id.hash`).'),
  trustPeriodMs: variable('TRUST_PERIOD', 'Genesis', duration, undefined, 'How long the signatures of validators are trusted. It must be shorter than the network\'s unbonding time, after which they have nothing at stake. By default two thirds of the unbonding time in the genesis.'),

  p2pHost: variable('P2P_HOST', 'Peers', host, '0.0.0.0', 'Address that the peer-to-peer port listens on.'),
  p2pPort: variable('P2P_PORT', 'Peers', port, '26656', 'Peer-to-peer port.'),
  externalP2pAddress: variable('EXTERNAL_P2P_ADDRESS', 'Peers', hostAndPort, undefined, 'Peer address that the node announces. By default the address that peers see, with P2P_PORT.'),
  persistentPeers: variable('PERSISTENT_PEERS', 'Peers', peerList, '', 'Peers that the node stays connected to.'),
  unconditionalPeerIds: variable('UNCONDITIONAL_PEER_IDS', 'Peers', nodeIds, '', 'Node IDs of peers that are accepted however many peers there are. Unlike PERSISTENT_PEERS, the node does not dial them for that.'),
  privatePeerIds: variable('PRIVATE_PEER_IDS', 'Peers', nodeIds, '', 'Node IDs of peers that the node does not reveal, such as the validators behind a sentry: they are not in the address book, in answers to peers, or in `net_info`.'),
  pex: variable('PEX', 'Peers', yesOrNo, 'true', 'Whether the node exchanges addresses with peers. With `false` it neither asks for, sends nor learns addresses, announces none of its own, dials only PERSISTENT_PEERS and SEEDS, and shows only PERSISTENT_PEERS and UNCONDITIONAL_PEER_IDS that it is a validator. Meant for a validator behind sentries.'),
  seeds: variable('SEEDS', 'Peers', peerList, '', 'Seed nodes, which the node asks for addresses while it knows too few. It does not stay connected to them.'),
  seedMode: variable('SEED_MODE', 'Peers', yesOrNo, 'false', 'Whether the node is a seed: it visits all addresses that it knows, answers requests with addresses that work, and hangs up. It stays connected only to PERSISTENT_PEERS.'),
  addrBookStrict: variable('ADDR_BOOK_STRICT', 'Peers', yesOrNo, undefined, 'Whether the address book takes only addresses that can be reached from the Internet. By default `true`; on a devnet `false`, which every network of private addresses needs.'),
  maxPeers: variable('MAX_PEERS', 'Peers', integer(1, 500), '64', 'Largest number of connected peers. PERSISTENT_PEERS, UNCONDITIONAL_PEER_IDS and validators are accepted beyond it.'),
  seedNodeUrl: variable('SEED_NODE_URL', 'Peers', httpUrl, undefined, 'RPC address of the seed node: a joining node without a genesis file takes the genesis from `/rpc/genesis` there.'),
  seedNodeId: variable('SEED_NODE_ID', 'Peers', nodeId, undefined, 'Node ID of the seed node, as its `/rpc/status` shows it (`result.node_info.id`), for joining.'),
  seedPeerHost: variable('SEED_PEER_HOST', 'Peers', hostAndPort, undefined, 'Peer address of the seed node, for joining.'),

  rpcHost: variable('RPC_HOST', 'JSON-RPC', host, '0.0.0.0', 'Address that the RPC port listens on.'),
  rpcPort: variable('RPC_PORT', 'JSON-RPC', port, '8080', 'Port of JSON-RPC over HTTP and WebSocket, `/rpc/status` and `/health`.'),
  publicRpcUrl: variable('PUBLIC_RPC_URL', 'JSON-RPC', httpUrl, undefined, 'Public RPC address that the node announces, in `/rpc/status` and in the heartbeat.'),
  rpcThreads: variable('RPC_THREADS', 'JSON-RPC', integer(1, 8), undefined, 'Threads that serve sockets. More than one needs a platform where threads can share a port (Linux). By default one per four processors, from 1 to 4.'),
  viewThreads: variable('VIEW_THREADS', 'JSON-RPC', integer(1, 8), undefined, 'Threads that run longer calls, estimates, traces, proofs and log scans, and recover senders when socket threads are busy. With two or more, the first does only quick work, so that no call delays a transaction. By default 2 on up to 4 processors, one more for each three beyond them, at most 6.'),
  rpcRateLimit: variable('RPC_RATE_LIMIT', 'JSON-RPC', integer(0, 1_000_000), '500', 'Requests per second that one client may make; those of ten seconds may come at once. It may open as many connections per second, those of two seconds at once; further ones are closed. A client is an IPv4 address or the /64 of an IPv6 address. Each call of a batch and each WebSocket message is a request, and each further 64 KiB of a body or message is one more. Clients on the same machine (127.0.0.0/8 and ::1) have no limit unless a header says that a proxy forwarded the request; 0 turns it off, and `coind devnet` has 0. Each of RPC_THREADS counts separately.'),
  trustedProxies: variable('TRUSTED_PROXIES', 'JSON-RPC', addressRanges, '', 'Reverse proxies in front of the RPC port. On a connection from one of them, the client is the last address in `X-Forwarded-For` that is not listed here; on any other connection, it is the address of the connection. List every proxy that clients come through: otherwise all of them count as one client. A proxy on the same machine must add the header: a request that it forwards without one looks like that of a local program, which has no limits.'),
  rpcCorsOrigins: variable('RPC_CORS_ORIGINS', 'JSON-RPC', origins, '*', 'Web origins that browsers may call from: `*` for all, `none` for none, or a list separated by commas.'),
  rpcNamespaces: variable('RPC_NAMESPACES', 'JSON-RPC', choices(NAMESPACES), 'debug,eth,net,txpool,web3', 'Namespaces of JSON-RPC that RPC_PORT serves; without `eth` no wallet works. `trace` shows the calls of transactions in Parity\'s form, which indexers ask for; `testing` builds blocks, on a devnet only.'),
  rpcJsTracers: variable('RPC_JS_TRACERS', 'JSON-RPC', yesOrNo, 'false', 'Whether clients of RPC_PORT may send tracers written in JavaScript to `debug_trace…`. They run in a sandbox with limits of time and memory. Clients of PRIVATE_RPC_PORT always may.'),
  rpcTraceDepth: variable('RPC_TRACE_DEPTH', 'JSON-RPC', integer(0, 1_000_000_000), '0', 'How many blocks below the newest clients of RPC_PORT may trace (`debug_trace…`, `trace_…`, and other methods that execute their transactions again); 0: all blocks whose state is retained.'),
  rpcHeavyCalls: variable('RPC_HEAVY_CALLS', 'JSON-RPC', integer(1, 256), '8', 'Calls, estimates, traces, proofs and log scans that run at a time in each of VIEW_THREADS; one client may have three quarters of them. Further ones wait, and clients take turns.'),
  rpcTraces: variable('RPC_TRACES', 'JSON-RPC', integer(1, 64), '2', 'How many of RPC_HEAVY_CALLS may be traces. A trace may take a hundred megabytes of memory or more.'),
  grpcPort: variable('GRPC_PORT', 'JSON-RPC', port, undefined, 'Port of gRPC (HTTP/2 without TLS) on RPC_HOST, with server reflection and all services that REST answers; 9090 is usual. By default there is no such port. gRPC-Web, for browsers, is always on RPC_PORT.'),
  privateRpcPort: variable('PRIVATE_RPC_PORT', 'JSON-RPC', port, undefined, 'Port of a second JSON-RPC listener, for the operator and programs next to the node: no rate limit, tracers in JavaScript, and the namespaces in PRIVATE_RPC_NAMESPACES. It refuses requests of web pages (any Origin) and those with a host name that PRIVATE_RPC_VHOSTS does not list. By default it is off.'),
  privateRpcHost: variable('PRIVATE_RPC_HOST', 'JSON-RPC', host, '127.0.0.1', 'Address that PRIVATE_RPC_PORT listens on. An address outside the loopback interface needs RPC_JWT_SECRET_FILE.'),
  privateRpcNamespaces: variable('PRIVATE_RPC_NAMESPACES', 'JSON-RPC', choices(NAMESPACES), undefined, 'Namespaces that PRIVATE_RPC_PORT serves. By default those in RPC_NAMESPACES and `trace`.'),
  privateRpcVhosts: variable('PRIVATE_RPC_VHOSTS', 'JSON-RPC', hostNames, 'localhost', 'Host names by which clients may call PRIVATE_RPC_PORT (the `Host` of a request), so that no web page reaches it by its own name (DNS rebinding). IP addresses are always allowed.'),
  rpcJwtSecretFile: variable('RPC_JWT_SECRET_FILE', 'JSON-RPC', directory, undefined, 'File with 32 bytes as 64 hex digits (`openssl rand -hex 32`). With it, each request to PRIVATE_RPC_PORT needs a token signed with them (`Authorization: Bearer …`, HS256 with the time `iat`), as for the Engine API of Ethereum nodes.'),
  rpcGasCap: variable('RPC_GAS_CAP', 'JSON-RPC', integer(21_000, 10_000_000_000), '50000000', 'Gas that one `eth_call`, estimate or simulation of a native transaction may use.'),
  rpcEvmTimeoutMs: variable('RPC_EVM_TIMEOUT_MS', 'JSON-RPC', integer(10, 600_000), '5000', 'Milliseconds that one call, estimate, trace, log scan or native query may run, including work in precompiles and native modules. The node abandons any request 30 seconds after its arrival.'),
  rpcLogBlockRange: variable('RPC_LOG_BLOCK_RANGE', 'JSON-RPC', integer(1, 1_000_000_000), '10000', 'Blocks that one `eth_getLogs` may span.'),
  rpcLogResults: variable('RPC_LOG_RESULTS', 'JSON-RPC', integer(1, 10_000_000), '10000', 'Largest number of logs in one answer.'),
  rpcTxFeeCapAcoin: variable('RPC_TX_FEE_CAP', 'JSON-RPC', coinAmount(0n, 1_000_000_000n), '1', 'COIN: the highest fee of a transaction that `eth_sendRawTransaction` accepts; 0 for no limit.'),
  rpcAllowUnprotectedTxs: variable('RPC_ALLOW_UNPROTECTED_TXS', 'JSON-RPC', yesOrNo, 'false', 'Whether the node takes transactions without a chain ID (before EIP-155) from clients and peers, where the genesis allows them (`allow_unprotected_txs`). They create some contracts at the same address on all chains. A transaction that an account signs for another chain can be repeated here. This variable does not change which blocks are valid.'),
  rpcBatchLimit: variable('RPC_BATCH_LIMIT', 'JSON-RPC', integer(1, 100_000), '1000', 'Requests in one batch.'),
  rpcResponseLimit: variable('RPC_RESPONSE_LIMIT', 'JSON-RPC', integer(1_000, 1_000_000_000), '25000000', 'Bytes of one answer, or of all answers to one batch.'),
  rpcRequestLimit: variable('RPC_REQUEST_LIMIT', 'JSON-RPC', integer(1_000, 1_000_000_000), '5242880', 'Bytes of one HTTP request body or WebSocket message.'),

  pruning: variable('PRUNING', 'Execution and storage', pruningMode, '50000', '`archive` keeps the state of every block; a number keeps that many blocks of state (50,000 are 5.5 hours).'),
  blockHistory: variable('BLOCK_HISTORY', 'Execution and storage', integer(0, 1_000_000_000), '0', 'Blocks that are retained with their transactions, receipts and indexes; 0 retains all. With a number, the node drops headers too once neither evidence nor light clients need them.'),
  indexTraces: variable('INDEX_TRACES', 'Execution and storage', yesOrNo, 'false', 'Whether new blocks enter an index of callers and called addresses, so that `trace_filter` executes again only blocks that have the addresses it searches for. Blocks from before it was on are searched one by one. Needs PRUNING=archive and BLOCK_HISTORY=0.'),
  index: variable('INDEX', 'Execution and storage', choice(['all', 'off']), 'all', 'Whether new blocks enter the indexes of logs and of native events. With `off` the database grows less, `eth_getLogs` reads the bloom filter of every block in its range, and searches by events are refused. Transactions can always be found by their hashes.'),
  snapshotInterval: variable('SNAPSHOT_INTERVAL', 'Execution and storage', integer(0, 1_000_000_000), '0', 'Blocks from one snapshot of the state to the next; 0 makes no snapshots. The node makes them in the background in `HOMEDIR/snapshots`, and other nodes can start from them. It needs PRUNING of 100 or more and BLOCK_HISTORY of 2000 or more, or 0.'),
  snapshotKeep: variable('SNAPSHOT_KEEP', 'Execution and storage', integer(1, 1_000), '2', 'How many of the newest snapshots stay in `HOMEDIR/snapshots`. When the node makes another one, it deletes older ones, except up to two that a peer is fetching.'),
  poolJournal: variable('POOL_JOURNAL', 'Execution and storage', yesOrNo, 'true', 'Whether transactions that this node accepted from clients stay in the pool across a restart: the node writes them to `HOMEDIR/pool.journal`, at most 96 MiB. With `false` that file is neither read nor written.'),
  evmEngine: variable('EVM_ENGINE', 'Execution and storage', choice(['wasm', 'reference']), 'wasm', 'The engine that runs EVM code: `wasm`, the fast one, or `reference`, a slow one to compare it with.'),
  executionThreads: variable('EXECUTION_THREADS', 'Execution and storage', integer(1, 16), '1', 'Threads that execute the transactions of a block. With two or more, the others execute transactions before the executor reaches them, and it adopts the results that prove right. Blocks and results are the same with any number. The node measures whether this pays for the calls of each contract, and executes alone where it does not. It helps where blocks are full of long contract calls and the machine has processors to spare (`node bench/parallel.ts` shows it). Each further thread takes about 10 MB of memory, 20 MB once it has executed contract calls, and up to 16 MiB more for the results of a full block.'),
  evmShadow: variable('EVM_SHADOW', 'Execution and storage', yesOrNo, 'false', 'Whether the other engine executes each block, too. When the engines differ, the node stops with a report and stores nothing from that block. Blocks then take as long as on both engines together, so fewer transactions fit into one.'),
  skipUpgrades: variable('UNSAFE_SKIP_UPGRADES', 'Execution and storage', heights, '', 'Heights at which the node skips a planned upgrade: it drops the plan and continues with this version. This is unsafe because it changes a rule of the chain. Validators with more than two thirds of the power must have the same heights here, and so must every node that executes those blocks later.'),

  privValidatorLaddr: variable('PRIV_VALIDATOR_LADDR', 'Operation', signerAddress, undefined, 'Address at which remote signers (TMKMS and others that speak CometBFT 0.38\'s privval protocol) connect: `tcp://host:port` or `unix:///path`. With it the node has no consensus key of its own.'),
  privValidatorSignerKeys: variable('PRIV_VALIDATOR_SIGNER_KEYS', 'Operation', publicKeys, undefined, 'Public keys of the connections of remote signers that may connect over TCP: ed25519, in base64 or hex. Without them any program that reaches the port could be the signer, so PRIV_VALIDATOR_LADDR must then be an address of the loopback interface.'),

  logLevel: variable('LOG_LEVEL', 'Operation', choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), 'info', 'The least important messages that are logged.'),
  logFormat: variable('LOG_FORMAT', 'Operation', choice(['auto', 'human', 'json']), 'auto', '`auto` is `human` in a terminal and `json` elsewhere.'),
  metricsPort: variable('METRICS_PORT', 'Operation', integer(0, 65_535, 'a port'), '9464', 'Port of `GET /metrics` (Prometheus); 0 turns it off.'),
  metricsHost: variable('METRICS_HOST', 'Operation', host, '127.0.0.1', 'Address that METRICS_PORT listens on. Metrics need no password: let only your own network reach the port.'),
  otlpEndpoint: variable('OTEL_EXPORTER_OTLP_ENDPOINT', 'Operation', httpUrl, undefined, 'OpenTelemetry collector that receives traces of blocks and transactions, by OTLP over HTTP with protobuf at `…/v1/traces`. By default there are no traces.', true),
  otlpHeaders: variable('OTEL_EXPORTER_OTLP_HEADERS', 'Operation', headerList, '', 'Headers of requests to that collector.', true),
  otelServiceName: variable('OTEL_SERVICE_NAME', 'Operation', text(100), 'coind', 'The name by which that collector knows this node; attributes of its spans distinguish nodes.'),
  tracedShare: variable('OTEL_TRACES_SAMPLER_ARG', 'Operation', share, '0.01', 'The share of transactions that are traced, chosen by their hashes, so that nodes with the same value trace the same ones. All blocks are traced.'),
  heartbeatUrl: variable('EXPLORER_HEARTBEAT_URL', 'Operation', httpUrl, undefined, 'Explorer address that the node reports to every 30 seconds, `…/api/network/heartbeat`.', true),
} as const

type Table = typeof VARIABLES

/** Variables by the keys that their values have in {@link SettingsOf}. */
export type VariableTable = Readonly<Record<string, Variable>>

/** The values of a table's variables as they were read, before defaults that depend on other variables. */
export type SettingsOf<T extends VariableTable> = {
  readonly [K in keyof T]: T[K] extends Variable<infer V, infer D> ? (D extends string ? V : V | undefined) : never
}

/** The values of the node's variables. */
export type Settings = SettingsOf<Table>

/**
 * Returns the schema of one variable: it reads the text, or the default; without a default the
 * variable may be absent.
 */
export function variableSchema(entry: Variable): z.ZodType<unknown, string | undefined> {
  return entry.fallback === undefined ? entry.kind.schema.optional() : entry.kind.schema.prefault(entry.fallback)
}

/** Returns the flag of a variable, such as `--rpc-port` for RPC_PORT. */
export function flagOf(entry: Pick<Variable, 'name'>): string {
  return `--${entry.name.toLowerCase().replaceAll('_', '-')}`
}
