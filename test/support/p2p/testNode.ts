import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { FetchedBlock } from '../../../src/consensus/transport.ts'
import type { OlderBlocksSource } from '../../../src/p2p/headerExchange.ts'
import { createValidatorProof } from '../../../src/p2p/hello.ts'
import type { LightBlockReader } from '../../../src/p2p/lightExchange.ts'
import { peerCounts } from '../../../src/p2p/limits.ts'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import { Network, type NetworkEvents, type NetworkOptions } from '../../../src/p2p/peerNetwork.ts'
import type { PeerPolicy, PersistentPeer } from '../../../src/p2p/peerPolicy.ts'
import type { Session } from '../../../src/p2p/session.ts'
import { type Ed25519Key, ed25519Key } from '../../../src/primitives/ed25519.ts'
import { NO_SNAPSHOTS, type SnapshotSource } from '../../../src/snapshot/offeredSnapshots.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'

export const GENESIS_HASH = new Uint8Array(32).fill(7)

/** A log line that a node wrote. */
interface LogLine {
  readonly msg: string
  readonly [field: string]: unknown
}

/** A node's network on a port of its own on loopback, with a record of the events that it reported. */
export interface TestNode {
  readonly network: Network
  readonly key: Ed25519Key
  readonly registry: Registry
  readonly sessions: Map<string, Session>
  readonly messages: { readonly from: string; readonly body: Uint8Array }[]
  readonly transactions: Uint8Array[]
  readonly evidence: Uint8Array[]
  readonly log: LogLine[]
  /** bugs that it came upon */
  readonly defects: Error[]
  readonly directory: string
  /** milliseconds that its clock is ahead */
  clockMs: number
  /** what its clock shows when it stands still: its budgets then do not grow, however slow the machine is */
  frozenMs: number | undefined
  /** how others name it */
  readonly peer: PersistentPeer
  close(): Promise<void>
}

export interface TestNodeOptions
  extends Partial<Pick<NetworkOptions, 'chainId' | 'genesisHash' | 'counts' | 'externalAddress'>> {
  readonly key?: Ed25519Key
  readonly persistentPeers?: readonly PersistentPeer[]
  readonly policy?: Partial<PeerPolicy>
  readonly validatorKey?: Ed25519Key
  readonly directory?: string
  readonly port?: number
  readonly height?: number
  readonly base?: number
  readonly blocks?: (height: number) => FetchedBlock
  readonly snapshots?: SnapshotSource
  readonly lightBlocks?: LightBlockReader
  readonly olderBlocks?: OlderBlocksSource
  readonly events?: Partial<NetworkEvents>
  /** its clock, in place of one that goes */
  readonly now?: () => number
}

const running = new Set<TestNode>()

/** That of a node without settings, which takes addresses of its own machine. */
export function policyWith(policy: Partial<PeerPolicy>): PeerPolicy {
  return {
    persistent: [],
    seeds: [],
    isSeed: false,
    exchangesPeers: true,
    privateIds: new Set(),
    unconditionalIds: new Set(),
    isBookStrict: false,
    ...policy,
  }
}

export function randomKey(): Ed25519Key {
  return ed25519Key(new Uint8Array(randomBytes(32)))
}

/**
 * A key for a node that dials these peers: of two nodes, the one with the higher ID gives the other one a second or two to dial first
 * (`PeerManager`), for which no test should wait. A node that dials nobody gets a high ID, so that others find a lower one.
 */
function dialerKey(peers: readonly PersistentPeer[]): Ed25519Key {
  const keys = Array.from({ length: 16 }, randomKey)
  const idOf = ({ publicKey }: Ed25519Key): string => nodeId(publicKey)
  if (peers.length === 0) return keys.reduce((high, key) => (idOf(key) > idOf(high) ? key : high))
  return keys.find((key) => peers.every(({ id }) => idOf(key) < id)) ?? keys[0]!
}

export async function startNode(options: TestNodeOptions = {}): Promise<TestNode> {
  const {
    key = dialerKey(options.persistentPeers ?? []),
    genesisHash = GENESIS_HASH,
    height = 10,
    base = 1,
    validatorKey,
  } = options
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'coind-p2p-'))
  const registry = new Registry()
  const sessions = new Map<string, Session>()
  const log: LogLine[] = []
  const defects: Error[] = []
  const messages: { from: string; body: Uint8Array }[] = []
  const transactions: Uint8Array[] = []
  const evidence: Uint8Array[] = []
  const events: NetworkEvents = {
    joined: (session) => sessions.set(session.id, session),
    left: (session) => sessions.delete(session.id),
    message: (session, body) => messages.push({ from: session.id, body }),
    evidence: async (_, bytes) => {
      evidence.push(bytes)
      return 'accept'
    },
    transactions: async (batch) => {
      transactions.push(...batch.map(({ raw }) => raw))
      return { admitted: batch.length, refused: 0, invalid: [], unknown: [] }
    },
    ...options.events,
  }
  let node: TestNode | undefined
  const network = await Network.start(
    {
      seed: key.seed,
      chainId: options.chainId ?? 'coin_7-1',
      genesisHash,
      moniker: 'test',
      version: '1.2.3',
      listen: { host: '127.0.0.1', port: options.port ?? 0 },
      externalAddress: options.externalAddress,
      rpcAddress: 'https://rpc.example',
      validator: validatorKey && createValidatorProof(validatorKey, key.publicKey, genesisHash),
      policy: policyWith({ persistent: options.persistentPeers ?? [], ...options.policy }),
      counts: options.counts ?? peerCounts(64),
      addressBookPath: join(directory, 'addrbook.json'),
      blocks: () => ({
        base,
        height,
        read: (at) => (at < base || at > height ? undefined : options.blocks?.(at)),
        close: async () => undefined,
      }),
      snapshots: options.snapshots ?? NO_SNAPSHOTS,
      lightBlocks: options.lightBlocks ?? (() => undefined),
      olderBlocks:
        options.olderBlocks ??
        (() => ({ read: () => undefined, below: () => undefined, close: async () => undefined })),
      height: () => height,
      unhandled: () => 0,
      onDefect: (error) => defects.push(error),
      metrics: createNetworkMetrics(registry),
      log: pino({ level: 'debug', base: {} }, { write: (line) => log.push(JSON.parse(line) as LogLine) }),
      now: options.now ?? (() => node?.frozenMs ?? performance.now() + (node?.clockMs ?? 0)),
    },
    events,
  )
  const started: TestNode = {
    clockMs: 0,
    frozenMs: undefined,
    network,
    key,
    registry,
    sessions,
    messages,
    transactions,
    evidence,
    log,
    defects,
    directory,
    peer: { id: network.id, address: network.listenAddress },
    close: async () => {
      if (!running.delete(started)) return
      await network.close()
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true })
    },
  }
  node = started
  running.add(started)
  return started
}

/** For `afterEach`. */
export async function closeNodes(): Promise<void> {
  await Promise.all([...running].map((node) => node.close()))
}

/** Waits until `check` holds. */
export async function until(what: string, check: () => boolean, timeoutMs = 60_000): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!check()) {
    if (performance.now() > end) throw new Error(`not in time: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Two nodes that are connected; the second has dialled the first. */
export async function connectedPair(
  first: TestNodeOptions = {},
  second: TestNodeOptions = {},
): Promise<readonly [TestNode, TestNode]> {
  const a = await startNode(first)
  const b = await startNode({ ...second, persistentPeers: [a.peer] })
  await until('the nodes are connected', () => a.sessions.has(b.network.id) && b.sessions.has(a.network.id))
  return [a, b]
}

/** The value of a counter with these labels. */
export async function counter(node: TestNode, name: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const metric = await node.registry.getSingleMetric(name)?.get()
  const found = metric?.values.find((value) =>
    Object.entries(labels).every(([key, text]) => value.labels[key] === text),
  )
  return found?.value ?? 0
}
