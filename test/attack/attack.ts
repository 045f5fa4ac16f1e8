/** The node that is attacked, and what an attacker knows of its network. */
export interface Target {
  readonly host: string
  /** IP address that the attackers have: what a node counts by address, it counts apart */
  readonly from: string
  readonly rpcPort: number
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
}

/** An attack while it runs. */
export interface Run {
  readonly target: Target
  /** how many of the attack's units, see `Attack.size` */
  readonly size: number
  /** aborted when the attack is to end */
  readonly signal: AbortSignal
  /** Counts what was done and what came back, for the table's last column. */
  count(what: string, by?: number): void
}

export interface Attack {
  readonly name: string
  /** what it does, with `#` for its size */
  readonly what: string
  readonly size: number
  /** whether it costs the attacker so much that the same load on a closed port belongs beside it */
  readonly isCostly?: boolean
  /** Makes what the attack sends, which is not measured; then resolves to the attack. */
  prepare(run: Run): Promise<() => Promise<void>>
}
