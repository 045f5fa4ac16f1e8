import { readNetworkAddress } from '../primitives/networkAddress.ts'
import { formatPeerAddress, type PeerAddress } from './peerAddress.ts'

/** How long a proof counts. A node may move, and another one may get its address. */
export const ADDRESS_PROOF_MS = 3_600_000
const MAX_ADDRESSES = 4_096

interface Proof {
  /** node ID */
  readonly id: string
  readonly untilMs: number
}

/**
 * Which node has proved its key at an address that this node dialled. Any peer can claim that another ID is there: such a claim is not
 * dialled again until the proof expires.
 */
export class ProvenAddresses {
  readonly #now: () => number
  /** oldest first */
  readonly #proofs = new Map<string, Proof>()

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now
  }

  /** number of addresses with a proof */
  get size(): number {
    return this.#proofs.size
  }

  /** Called when a dial of this address found the node `id`. */
  proved(address: PeerAddress, id: string): void {
    const key = keyOf(address)
    this.#proofs.delete(key)
    this.#proofs.set(key, { id, untilMs: this.#now() + ADDRESS_PROOF_MS })
    if (this.#proofs.size > MAX_ADDRESSES) this.#proofs.delete(this.#proofs.keys().next().value!)
  }

  /** Called when a dial of the node `id` at this address failed: another node may be there now. */
  failed(address: PeerAddress, id: string): void {
    const key = keyOf(address)
    if (this.#proofs.get(key)?.id === id) this.#proofs.delete(key)
  }

  /** Returns whether another node than `id` is known to be at this address. */
  contradicts(address: PeerAddress, id: string): boolean {
    const proof = this.#proofs.get(keyOf(address))
    return proof !== undefined && proof.id !== id && proof.untilMs > this.#now()
  }
}

function keyOf({ host, port }: PeerAddress): string {
  return formatPeerAddress({ host: readNetworkAddress(host) ?? host.toLowerCase(), port })
}
