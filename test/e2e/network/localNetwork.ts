import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FundedAccount } from '../../../src/chain/genesis/createGenesis.ts'
import type { Genesis } from '../../../src/chain/genesis/genesisSchema.ts'
import { createTestnet, PORTS_A_NODE, type TestnetNode } from '../../../src/cli/createTestnet.ts'
import { DEVNET_ACCOUNTS, DEVNET_BALANCE_ACOIN } from '../../../src/cli/devnetAccounts.ts'
import { parseAddress } from '../../../src/primitives/address.ts'
import { JsonRpcError, rpc, rpcBatch } from '../rpc.ts'
import { startNode, type TestNode } from '../startNode.ts'

export interface NetworkOptions {
  readonly validators: number
  /** nodes with the same genesis and no vote */
  readonly fullNodes?: number
  readonly environment?: Readonly<Record<string, string>>
  /** that of a usual chain by default */
  readonly blockIntervalMs?: number
  /** other parameters of the native modules, in place */
  readonly changeGenesis?: (genesis: Genesis) => void
  /** accounts with coins beside the development accounts */
  readonly fundedAccounts?: readonly FundedAccount[]
  /** where each node runs, by its number; all in this process's network by default */
  readonly placeOf?: (index: number) => NodeHost
  /** what runs a node, by its number, asked at each start; see `NodeOptions.launcher` */
  readonly launcherOf?: (index: number) => readonly string[] | undefined
  /** what a node runs by, by its number; `start` by default */
  readonly commandOf?: (index: number) => 'start' | 'supervise'
  /** the peer address of each node as the others are told it, given the one that it listens on */
  readonly announcedAddress?: (index: number, address: string) => Promise<string>
}

/** For networks whose pace a test is not about: blocks twice as fast, and nodes with one thread of each kind, which start sooner. */
export const QUICK = {
  blockIntervalMs: 200,
  environment: { RPC_THREADS: '1', VIEW_THREADS: '1' },
} as const satisfies Partial<NetworkOptions>

/** A place in another network. */
export interface NodeHost {
  /** IP address there */
  readonly address: string
  /** see `NodeOptions.within` of startNode.ts */
  readonly within: readonly string[]
}

/** A node of a local network, running or not. */
export interface NetworkNode extends TestnetNode {
  readonly rpcPort: number
  /** @throws Error when it does not run */
  readonly running: TestNode
  isRunning(): boolean
  /** Resolves when it serves. */
  start(variables?: Readonly<Record<string, string>>): Promise<void>
  /** Ends it with this signal; gives the exit code. */
  kill(signal: NodeJS.Signals): Promise<number | null>
  height(): Promise<number>
  /** Ethereum hash of a block; undefined when the node does not have it yet */
  blockHash(height: number): Promise<string | undefined>
  /** JSON of GET /rpc/<path> */
  comet<T>(path: string): Promise<T>
}

export interface LocalNetwork {
  readonly directory: string
  readonly chainId: string
  /** 64 hex digits */
  readonly genesisHash: string
  readonly nodes: readonly NetworkNode[]
  readonly validators: readonly NetworkNode[]
  /** variables of a node that joins later */
  readonly seed: NetworkNode
  /** Starts all nodes at the same time. */
  start(): Promise<void>
  /** Ends all that run and removes their data. */
  stop(): Promise<void>
}

const CHAIN_ID = 'coin_76287-1'
const LOOPBACK = '127.0.0.1'
/** What does not serve after this time hangs, also where all nodes start at once on a busy machine. */
const START_TIMEOUT_MS = 150_000
const FIRST_PORT = 20_000
/** Asking takes processor time of the node that is asked. */
const HEIGHT_POLL_MS = 200
/** Below the ports that the system gives to outgoing connections. */
const PORT_SPAN = 12_000

/** Writes the homes of a network on free ports of this machine; development accounts are funded. Nothing runs yet. */
export async function makeNetwork(options: NetworkOptions): Promise<LocalNetwork> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-network-'))
  const count = options.validators + (options.fullNodes ?? 0)
  const testnet = createTestnet({
    directory: join(directory, 'nodes'),
    chainId: CHAIN_ID,
    validators: options.validators,
    fullNodes: options.fullNodes ?? 0,
    placement: { kind: 'machine', startingPort: await freePortRange(count * PORTS_A_NODE) },
    wallet: parseAddress('0x00000000000000000000000000000000000000aa'),
    selfDelegationAcoin: 10n ** 24n,
    genesisTimeMs: Date.now(),
    changeGenesis: (genesis) => {
      const { blockIntervalMs, changeGenesis } = options
      if (blockIntervalMs !== undefined) genesis.app_state.timing.params.block_interval_ms = String(blockIntervalMs)
      changeGenesis?.(genesis)
    },
    fundedAccounts: [
      ...DEVNET_ACCOUNTS.map(({ address }) => ({ address, balanceAcoin: DEVNET_BALANCE_ACOIN })),
      ...(options.fundedAccounts ?? []),
    ],
    randomBytes,
  })
  const placed = await placeNodes(testnet.nodes, options)
  const nodes = placed.map((node, index) => networkNode(node, index, options))
  return {
    directory,
    chainId: CHAIN_ID,
    genesisHash: testnet.genesisHash,
    nodes,
    validators: nodes.slice(0, options.validators),
    seed: nodes[0]!,
    start: async () => {
      await Promise.all(nodes.map((node) => node.start()))
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.isRunning() && node.kill('SIGKILL')))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Rewrites the addresses that the nodes were made with. */
async function placeNodes(
  nodes: readonly TestnetNode[],
  { placeOf, announcedAddress }: NetworkOptions,
): Promise<readonly TestnetNode[]> {
  const announced = await Promise.all(
    nodes.map((node, index) => {
      const address = node.peerAddress.replace(LOOPBACK, placeOf?.(index).address ?? LOOPBACK)
      return announcedAddress?.(index, address) ?? address
    }),
  )
  return nodes.map((node, index) => {
    const host = placeOf?.(index).address ?? LOOPBACK
    const peers = announced.map((address, at) => `${nodes[at]!.nodeId}@${address}`).filter((_, at) => at !== index)
    return {
      ...node,
      rpcUrl: node.rpcUrl.replace(LOOPBACK, host),
      peerAddress: announced[index]!,
      variables: {
        ...node.variables,
        RPC_HOST: host,
        P2P_HOST: host,
        EXTERNAL_P2P_ADDRESS: announced[index]!,
        PERSISTENT_PEERS: peers.join(','),
      },
    }
  })
}

function networkNode(node: TestnetNode, index: number, options: NetworkOptions): NetworkNode {
  const within = options.placeOf?.(index)?.within ?? []
  const { hostname, port } = new URL(node.rpcUrl)
  const rpcPort = Number(port)
  const url = `${node.rpcUrl}/`
  let running: TestNode | undefined
  const isRunning = (): boolean => {
    const child = running?.process
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }
  const runningNode = (): TestNode => {
    if (running === undefined) throw new Error(`${node.name} was not started`)
    return running
  }
  return {
    ...node,
    rpcPort,
    get running() {
      return runningNode()
    },
    isRunning,
    start: async (variables = {}) => {
      const launcher = options.launcherOf?.(index)
      running = await startNode({
        command: options.commandOf?.(index) ?? 'start',
        homedir: node.home,
        rpcPort,
        host: hostname,
        within,
        ...(launcher && { launcher }),
        timeoutMs: START_TIMEOUT_MS,
        environment: { ...node.variables, ...options.environment, ...variables },
      })
    },
    kill: (signal) => runningNode().kill(signal),
    height: async () => Number(await rpc<string>(url, 'eth_blockNumber')),
    blockHash: async (height) => {
      const block = await rpc<{ readonly hash: string } | null>(
        url,
        'eth_getBlockByNumber',
        `0x${height.toString(16)}`,
        false,
      )
      return block?.hash
    },
    comet: async <T>(path: string) => {
      const answer = (await (await fetch(`${url}rpc/${path}`)).json()) as {
        readonly result?: T
        readonly error?: { readonly code: number; readonly message: string; readonly data?: string }
      }
      if (answer.result === undefined) {
        const { code = 0, message = '', data = '' } = answer.error ?? {}
        throw new JsonRpcError(path, { code, message: `${message} ${data}` })
      }
      return answer.result
    },
  }
}

/** Waits until the node has a block of this height. */
export async function waitForHeight(node: NetworkNode, height: number, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const reached = await node.height()
    if (reached >= height) return
    if (performance.now() > deadline) {
      throw new Error(`${node.name} is at ${reached} and not at ${height}:\n${lastLines(node.running.output())}`)
    }
    await new Promise((resolve) => setTimeout(resolve, HEIGHT_POLL_MS))
  }
}

/**
 * Waits until no node has had a new block for `quietMs`; a height that was already in progress may still be decided before. Returns their
 * heights.
 */
export async function waitForHalt(
  nodes: readonly NetworkNode[],
  quietMs = 3_000,
  timeoutMs = 60_000,
): Promise<readonly number[]> {
  const deadline = performance.now() + timeoutMs
  let heights: readonly number[] = []
  for (let sinceMs = performance.now(); performance.now() - sinceMs < quietMs; ) {
    const now = await Promise.all(nodes.map((node) => node.height()))
    if (now.some((height, index) => height !== heights[index])) sinceMs = performance.now()
    heights = now
    if (performance.now() > deadline) throw new Error(`the network goes on: ${heights.join(' ')}`)
    await new Promise((resolve) => setTimeout(resolve, HEIGHT_POLL_MS))
  }
  return heights
}

/** Blocks that a node is asked for in one request. */
const BLOCKS_A_REQUEST = 200

/** Where nodes that run have blocks with different hashes, from this block on up to the lowest head among them; empty is good. */
export async function differences(nodes: readonly NetworkNode[], from = 0): Promise<readonly string[]> {
  const last = Math.min(...(await Promise.all(nodes.map((node) => node.height()))))
  const found: string[] = []
  for (let first = from; first <= last; first += BLOCKS_A_REQUEST) {
    const count = Math.min(BLOCKS_A_REQUEST, last - first + 1)
    const hashes = await Promise.all(nodes.map((node) => blockHashes(node, first, count)))
    for (let index = 0; index < count; index++) {
      const ofBlock = hashes.map((ofNode) => ofNode[index])
      if (new Set(ofBlock).size > 1) found.push(`block ${first + index}: ${ofBlock.join(' ')}`)
    }
  }
  return found
}

/** @throws Error when the node does not have one of the blocks */
async function blockHashes({ name, rpcUrl }: NetworkNode, first: number, count: number): Promise<readonly string[]> {
  const calls = Array.from({ length: count }, (_, index) => ({
    method: 'eth_getBlockByNumber',
    params: [`0x${(first + index).toString(16)}`, false],
  }))
  const blocks = (await rpcBatch(`${rpcUrl}/`, calls)) as readonly ({ readonly hash: string } | Error | null)[]
  return blocks.map((block, index) => {
    if (block === null || block instanceof Error) throw new Error(`${name} has no block ${first + index}: ${block}`)
    return block.hash
  })
}

function lastLines(text: string): string {
  return text.split('\n').slice(-40).join('\n')
}

async function freePortRange(size: number): Promise<number> {
  for (;;) {
    const first = FIRST_PORT + Math.floor(Math.random() * PORT_SPAN)
    const free = await Promise.all(Array.from({ length: size }, (_, index) => isFree(first + index)))
    if (free.every(Boolean)) return first
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, LOOPBACK, () => server.close(() => resolve(true)))
  })
}
