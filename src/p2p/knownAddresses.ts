import { lookup } from 'node:dns/promises'
import { budgetKeyOf, readNetworkAddress } from '../primitives/networkAddress.ts'

/** The newest addresses of one peer that are remembered. */
const ADDRESSES_PER_PEER = 2

/**
 * The addresses from which the node expects peers that it needs: those of configured peers, and those
 * from which validators have connected. A flood of connections from elsewhere does not keep these peers
 * out. Before its handshake, the address is all that is known of a connection. The list has a few
 * addresses for each peer, so no peer can fill it.
 */
export class KnownAddresses {
  /** by peer, newest last; see `budgetKeyOf` */
  readonly #byPeer = new Map<string, readonly string[]>()

  /** @param address an IP address */
  has(address: string): boolean {
    const wanted = keyOf(address)
    for (const keys of this.#byPeer.values()) if (wanted !== undefined && keys.includes(wanted)) return true
    return false
  }

  /** @param peer names it. @param host an IP address; host names are left out, see {@link resolve} */
  remember(peer: string, host: string): void {
    const key = keyOf(host)
    if (key === undefined) return
    const others = (this.#byPeer.get(peer) ?? []).filter((other) => other !== key)
    this.#byPeer.set(peer, [...others, key].slice(-ADDRESSES_PER_PEER))
  }

  /** Drops the addresses of peers for which this does not hold. */
  keepOnly(isKept: (peer: string) => boolean): void {
    for (const peer of this.#byPeer.keys()) if (!isKept(peer)) this.#byPeer.delete(peer)
  }

  /**
   * Looks a host name up and remembers its addresses.
   * @throws Error the system's, when the name has no address at present
   */
  async resolve(peer: string, host: string): Promise<void> {
    if (readNetworkAddress(host) !== undefined) {
      this.remember(peer, host)
      return
    }
    const found = await lookup(host, { all: true })
    for (const { address } of found.slice(0, ADDRESSES_PER_PEER)) this.remember(peer, address)
  }
}

function keyOf(host: string): string | undefined {
  const address = readNetworkAddress(host)
  return address === undefined ? undefined : budgetKeyOf(address)
}
