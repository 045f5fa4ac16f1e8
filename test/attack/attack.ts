import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import type { LocalNetwork, NetworkNode } from '../e2e/network/localNetwork.ts'

/** The node that is attacked, and what an attacker knows of its network. */
export interface Target {
  /** where its RPC port is */
  readonly host: string
  readonly rpcPort: number
  /** where its peer port is */
  readonly peerHost: string
  readonly peerPort: number
  /** host:port of the other nodes of its network */
  readonly otherPeers: readonly string[]
  readonly chainId: string
  /** 64 hex digits */
  readonly genesisHash: string
  /** number of accounts of `attackerAccount` that have coins */
  readonly fundedSenders: number
  /** hashes of transactions in blocks that no cache has any more */
  readonly oldTransactions: readonly string[]
  /** number of a block that takes long to execute */
  readonly heavyBlock: number
  /** directories of the validators, the attacked one the second: an attacker with a validator's key reads it there */
  readonly homes: readonly string[]
}

/** An attack while it runs. */
export interface Run {
  readonly target: Target
  /** IP address of the attack's clients, which no other attack has had */
  readonly from: string
  /** how many of the attack's units, see `Attack.size` */
  readonly size: number
  /** aborted when the attack is to end */
  readonly signal: AbortSignal
  /** Counts what was done and what came back, for the table's last column. */
  count(what: string, by?: number): void
  /** An IP address that no node has met before, in another network (/16) than the last 31. */
  freshAddress(): string
}

/** The network that is attacked, for what the measuring process does in it meanwhile. */
export interface Scene {
  readonly network: LocalNetwork
  readonly attacked: NetworkNode
  readonly signal: AbortSignal
  /** Starts a node with the addresses that all nodes of this network have. */
  start(node: NetworkNode): Promise<void>
}

/** What happened in a scene. */
export interface SceneReport {
  readonly text: string
  /** what should not have happened, each a sentence; empty is good */
  readonly failures: readonly string[]
}

export interface Attack {
  readonly name: string
  /** what it does, with `#` for its size */
  readonly what: string
  readonly size: number
  /** whether it costs the attacker so much that the same load on a closed port belongs beside it */
  readonly isCostly?: boolean
  /** how long it takes at least, when it is longer than the others */
  readonly seconds?: number
  /** the least counts with which the attack has run; by default one of anything but failures */
  readonly needs?: Readonly<Record<string, number>>
  /** Makes what the attack sends, which is not measured; then resolves to the attack. */
  prepare(run: Run): Promise<() => Promise<void>>
  /** What the measuring process does in the network while the attack lasts, which ends with it. */
  readonly meanwhile?: (scene: Scene) => Promise<SceneReport>
  /** Changes the genesis, in place: the attack has a network of its own. */
  readonly changeGenesis?: (genesis: Genesis) => void
  /** What runs a validator, by its number, asked at each start: the attack has a network of its own. */
  readonly launcherOf?: (index: number) => readonly string[] | undefined
}

const FAILURES = new Set(['refused', 'broken', 'thrown', 'visits'])

/** What an attack lacks to have run; empty is good. */
export function missingWork({ needs }: Pick<Attack, 'needs'>, counts: Readonly<Record<string, number>>): string[] {
  if (needs === undefined) {
    const hasRun = Object.entries(counts).some(([name, count]) => count > 0 && !FAILURES.has(name))
    return hasRun ? [] : ['nothing was sent']
  }
  return Object.entries(needs)
    .filter(([name, least]) => (counts[name] ?? 0) < least)
    .map(([name, least]) => `${counts[name] ?? 0} ${name} instead of ${least} or more`)
}
