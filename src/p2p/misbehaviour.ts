import { budgetKeyOf, readNetworkAddress } from '../primitives/networkAddress.ts'
import { ProtobufError } from '../primitives/protobuf.ts'
import { FrameError } from './frames.ts'
import { reachOf } from './peerAddress.ts'

/*
 * What happens to a peer that breaks the rules, from mild to severe:
 *
 * 1. It has to wait. When it is above its budget, this node stops reading its streams, so that its sends block: messages and parts
 *    (consensusStreams.ts), all bytes and frames of the connection (connectionMeter.ts), requests (requests.ts), messages that the
 *    main thread has not handled yet. Gossip waits for the turn of the peer's network (gossipWork.ts), also after the pool has refused
 *    its transactions.
 * 2. Its messages are dropped: votes and proposals of other heights (consensusStreams.ts).
 * 3. It is disconnected and may connect again: it stays above its budgets of messages and parts, opens too many streams, pings too
 *    often, reads nothing, is silent, or does not answer requests. A new connection is closed in the same way if there are too many
 *    pending ones or its hello does not come in time.
 * 4. It is banned (`Connections.ban`): it sent something that no honest node sends: bytes that cannot be decoded, a frame that its
 *    stream may not send, gossip with more fields than its bytes can have, wrong signatures, wrong evidence, an invalid block, a
 *    false height or a false proof of one. The main thread reports what consensus and block sync find
 *    through `Network.punish`. The senders of bad evidence, transactions and bytes are banned where
 *    these are found.
 *
 * Only what a peer has provably done itself has the consequences 3 and 4. The amount of its gossip does not count, nor do
 * transactions that this node refuses: honest nodes relay what others made, and have different pools.
 *
 * All limits are in limits.ts. A peer that the operator has named or a validator of the current set (one
 * session of each) only has to wait when it sends too many messages or parts, and is not disconnected
 * for requests that it does not answer.
 */

const MINUTE_MS = 60_000

/** Durations of bans. Configured peers, which the operator has chosen, may return soon, because the mistake may be this node's. */
export const BAN_MS = { stranger: 60 * MINUTE_MS, configured: MINUTE_MS, address: 10 * MINUTE_MS } as const

/** After this many bans of nodes with one public address, each within `BAN_MS.address` of the previous one, the address is banned. */
const BANS_PER_ADDRESS = 4
const MAX_ENTRIES = 4_096

/**
 * Node IDs and addresses (IPv6: a /64) that are banned for a while. A new node ID costs nothing, so an address with many bad nodes is
 * banned too. A private address is not, because a whole network of honest nodes may share it.
 */
export class Bans {
  readonly #now: () => number
  /** end of the ban by node ID */
  readonly #nodes = new Map<string, number>()
  readonly #addresses = new Map<string, { readonly bans: number; readonly untilMs: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  ban(id: string, host: string, durationMs: number): void {
    const nowMs = this.#now()
    remember(this.#nodes, id, nowMs + durationMs)
    if (reachOf(host) !== 'public') return
    const key = keyOf(host)
    const former = this.#addresses.get(key)
    const bans = former !== undefined && former.untilMs > nowMs ? former.bans + 1 : 1
    remember(this.#addresses, key, { bans, untilMs: nowMs + BAN_MS.address })
  }

  isBanned(id: string): boolean {
    const untilMs = this.#nodes.get(id)
    if (untilMs === undefined) return false
    if (untilMs > this.#now()) return true
    this.#nodes.delete(id)
    return false
  }

  isAddressBanned(host: string): boolean {
    const key = keyOf(host)
    const entry = this.#addresses.get(key)
    if (entry === undefined) return false
    if (entry.untilMs > this.#now()) return entry.bans >= BANS_PER_ADDRESS
    this.#addresses.delete(key)
    return false
  }
}

function keyOf(host: string): string {
  const address = readNetworkAddress(host)
  return address === undefined ? host : budgetKeyOf(address)
}

/** Adds an entry as the newest one, and removes the oldest ones when there are too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= MAX_ENTRIES) return
    map.delete(oldest)
  }
}

/** Returns whether an error means that a peer sent bytes which no honest node sends. */
export function isMalformed(error: unknown): error is ProtobufError | FrameError {
  return error instanceof ProtobufError || error instanceof FrameError
}
