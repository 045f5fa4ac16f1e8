import { reachOf } from './peerAddress.ts'

const MINUTE_MS = 60_000

/** How long whom is kept away. An operator's own peers come back soon: the mistake may be ours. */
export const BAN_MS = { stranger: 60 * MINUTE_MS, persistent: MINUTE_MS, address: 10 * MINUTE_MS } as const

/** Bans of nodes behind one public address within the time of an address's ban that bring a ban of the address. */
const BANS_PER_ADDRESS = 4
const MAX_ENTRIES = 4_096

/**
 * Who is kept away for a while. A node ID costs nothing, so an address with many bad nodes is kept away too; not a private one,
 * behind which a whole network of honest nodes may be.
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
    const former = this.#addresses.get(host)
    const bans = former !== undefined && former.untilMs > nowMs ? former.bans + 1 : 1
    remember(this.#addresses, host, { bans, untilMs: nowMs + BAN_MS.address })
  }

  isBanned(id: string): boolean {
    const untilMs = this.#nodes.get(id)
    if (untilMs === undefined) return false
    if (untilMs > this.#now()) return true
    this.#nodes.delete(id)
    return false
  }

  isAddressBanned(host: string): boolean {
    const entry = this.#addresses.get(host)
    if (entry === undefined) return false
    if (entry.untilMs > this.#now()) return entry.bans >= BANS_PER_ADDRESS
    this.#addresses.delete(host)
    return false
  }
}

/** Adds an entry as the newest one; the oldest go when there are too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= MAX_ENTRIES) return
    map.delete(oldest)
  }
}
