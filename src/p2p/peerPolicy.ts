import type { PeerAddress } from './peerAddress.ts'

/** A peer that the operator has named with its address. */
export interface PersistentPeer {
  readonly id: string
  readonly address: PeerAddress
}

/** The operator's settings about peers. IDs are node IDs. */
export interface PeerPolicy {
  /** PERSISTENT_PEERS: the node stays connected to them */
  readonly persistent: readonly PersistentPeer[]
  /** SEEDS: nodes to ask for addresses when too few are known */
  readonly seeds: readonly PersistentPeer[]
  /** SEED_MODE: the node visits others, answers and hangs up */
  readonly isSeed: boolean
  /** PEX: whether addresses are asked for, given and learned */
  readonly exchangesPeers: boolean
  /** PRIVATE_PEER_IDS: not named to other peers */
  readonly privateIds: ReadonlySet<string>
  /** UNCONDITIONAL_PEER_IDS: let in however many peers there are */
  readonly unconditionalIds: ReadonlySet<string>
  /** ADDR_BOOK_STRICT: the address book takes only public Internet addresses */
  readonly isBookStrict: boolean
}

/** Returns peers that have a place in any case. */
export function configuredIds({ persistent, unconditionalIds }: PeerPolicy): ReadonlySet<string> {
  return new Set([...persistent.map(({ id }) => id), ...unconditionalIds])
}
