import type { Misbehaviour, PeerId } from '../../consensus/transport.ts'
import { bytesKey, concatBytes, equalBytes } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import type { FilePiece, OfferedSnapshot } from '../../snapshot/offeredSnapshots.ts'

/** The network as state sync uses it. Both requests reject when the peer is gone, or does not answer in time. */
export interface SnapshotPeers {
  /** Returns the connected peers, in any order. */
  peers(): readonly PeerId[]
  fetchOffers(peer: PeerId): Promise<readonly OfferedSnapshot[]>
  fetchPiece(
    peer: PeerId,
    file: { readonly sha256: Uint8Array; readonly offset: number },
  ): Promise<FilePiece | undefined>
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
}

/** A snapshot that peers claim to have. It is not verified. */
export interface FoundSnapshot extends OfferedSnapshot {
  readonly peers: readonly PeerId[]
}

/** A file of a snapshot: its manifest, or a chunk. */
export interface SnapshotFile {
  readonly sha256: Uint8Array
  readonly bytes: number
}

/** No peer that is left has the file, or none answers. */
export class NoPeerServes extends Error {
  override readonly name = 'NoPeerServes'
}

/** How long a node waits for a first peer, and how often it says so: as long as for the genesis of the seed node. */
const FIRST_PEER_MS = 600_000
const WAITING_MS = 30_000
/** How long to wait for others after it, and how long for those that are configured: one of them may be the only one with a snapshot. */
const MORE_PEERS_MS = 1_000
const CONFIGURED_PEERS_MS = 5_000
const PEERS_LOOK_MS = 100

interface WaitOptions {
  readonly network: Pick<SnapshotPeers, 'peers'> & { refresh(): Promise<void> }
  readonly configured: readonly PeerId[]
  /** milliseconds, monotonic */
  readonly nowMs: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** called every now and then while there is no peer */
  readonly onWaiting: (seconds: number) => void
}

/**
 * Waits until there are peers to ask. A node that gave up early would execute all blocks, for days, because its peers were restarted at
 * the wrong moment.
 * @returns whether there is one
 */
export async function waitForPeers({ network, configured, nowMs, sleep, onWaiting }: WaitOptions): Promise<boolean> {
  const beganMs = nowMs()
  let toldMs = beganMs
  let firstMs: number | undefined
  while (firstMs !== undefined || nowMs() - beganMs < FIRST_PEER_MS) {
    await network.refresh()
    const peers = network.peers()
    if (peers.length > 0) firstMs ??= nowMs()
    if (firstMs !== undefined) {
      const areThere = configured.every((peer) => peers.includes(peer))
      if (nowMs() - firstMs >= (areThere ? MORE_PEERS_MS : CONFIGURED_PEERS_MS)) return true
    } else if (nowMs() - toldMs >= WAITING_MS) {
      toldMs = nowMs()
      onWaiting(Math.round((toldMs - beganMs) / 1000))
    }
    await sleep(PEERS_LOOK_MS)
  }
  return false
}

/**
 * Finds the snapshots that connected peers offer, the newest first; among those of the same height
 * the one that most peers have.
 * @param begun height of one that is partly restored: it comes before newer ones
 */
export async function findSnapshots(network: SnapshotPeers, begun?: number): Promise<readonly FoundSnapshot[]> {
  const found = new Map<string, FoundSnapshot>()
  const offered = await Promise.all(
    network.peers().map(async (peer) => {
      try {
        return { peer, offers: await network.fetchOffers(peer) }
      } catch {
        // The network has logged why it did not answer.
        return { peer, offers: [] }
      }
    }),
  )
  for (const { peer, offers } of offered) {
    for (const offer of offers) {
      // Two that give the same manifest other sizes mean different things.
      const name = `${bytesKey(offer.manifest)} ${offer.height} ${offer.manifestBytes}`
      const known = found.get(name)
      if (known?.peers.includes(peer)) continue
      found.set(name, { ...offer, peers: [...(known?.peers ?? []), peer] })
    }
  }
  const isBegun = ({ height }: OfferedSnapshot): number => (height === begun ? 1 : 0)
  return [...found.values()].sort(
    (a, b) => isBegun(b) - isBegun(a) || b.height - a.height || b.peers.length - a.peers.length,
  )
}

/** Snapshots of one peer that are tried. An honest one keeps a few; a liar can offer new ones without end. */
const TRIES_PER_PEER = 2

/**
 * Snapshots that peers did not give. It may be that only those peers were at fault: the same snapshot is worth another try with one that
 * was not asked.
 */
export class TriedSnapshots {
  /** peers that were asked, by the hash of the manifest */
  readonly #asked = new Map<string, Set<PeerId>>()

  add({ manifest, peers }: Pick<FoundSnapshot, 'manifest' | 'peers'>): void {
    const name = bytesKey(manifest)
    this.#asked.set(name, new Set([...(this.#asked.get(name) ?? []), ...peers]))
  }

  /** Returns whether each peer that offers it was asked for it, or has offered too many others that were useless. */
  has({ manifest, peers }: Pick<FoundSnapshot, 'manifest' | 'peers'>): boolean {
    const asked = this.#asked.get(bytesKey(manifest))
    return peers.every((peer) => asked?.has(peer) === true || this.#triesOf(peer) >= TRIES_PER_PEER)
  }

  #triesOf(peer: PeerId): number {
    return this.#asked.values().reduce((tries, peers) => tries + (peers.has(peer) ? 1 : 0), 0)
  }
}

export interface PeerFilesOptions {
  readonly network: Pick<SnapshotPeers, 'peers' | 'fetchPiece' | 'punish'>
  /** peers that offer the snapshot */
  readonly peers: readonly PeerId[]
  /** milliseconds, monotonic */
  readonly nowMs: () => number
  /** @throws the signal's reason */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

interface Server {
  readonly id: PeerId
  isBusy: boolean
  /** requests that failed since the last one that did not */
  failures: number
  /** what its last piece took; 0 before there was one, so that each is tried */
  pieceMs: number
  /** it is not asked before */
  pausedUntilMs: number
  /** names of files that it does not have */
  readonly lacks: Set<string>
}

/** Pause of a peer after a failed request, doubled with each further one. */
const PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** Between two looks for a peer that can be asked. */
const LOOK_MS = 50
/** No piece of a file came in this time, from whomever. */
const STALLED_MS = 90_000

/**
 * Fetches files of one snapshot from the peers that offer it. Several may be fetched at the same time, each from one peer, which has no
 * other request meanwhile: so it is certain who has sent a file whose bytes do not have their hash. That peer is banned; one that does
 * not answer is asked less and less often; and the file comes from another one. Of those that are free the fastest is asked.
 */
export class PeerFiles {
  readonly #options: PeerFilesOptions
  readonly #servers: Server[]
  /** since when nothing has come */
  #progressMs: number

  constructor(options: PeerFilesOptions) {
    this.#options = options
    this.#servers = options.peers.map((id) => ({
      id,
      isBusy: false,
      failures: 0,
      pieceMs: 0,
      pausedUntilMs: Number.NEGATIVE_INFINITY,
      lacks: new Set(),
    }))
    this.#progressMs = options.nowMs()
  }

  /**
   * Fetches the bytes of a file, which have its hash.
   * @throws NoPeerServes; the signal's reason
   */
  async fetch(file: SnapshotFile, signal?: AbortSignal): Promise<Uint8Array> {
    const name = bytesKey(file.sha256)
    for (;;) {
      const server = await this.#acquire(name, signal)
      try {
        const bytes = await this.#fetchFrom(server, file, signal)
        if (bytes !== undefined) return bytes
      } finally {
        server.isBusy = false
      }
    }
  }

  /** Reports all peers that offer the snapshot, which is not one of this chain. */
  punishAll(reason: string): void {
    for (const { id } of this.#servers.splice(0)) this.#options.network.punish(id, 'malformed', reason)
  }

  /** Waits for a peer to ask for the file, which is not asked for anything else until it is released. */
  async #acquire(name: string, signal: AbortSignal | undefined): Promise<Server> {
    for (;;) {
      signal?.throwIfAborted()
      const nowMs = this.#options.nowMs()
      const having = this.#connected().filter(({ lacks }) => !lacks.has(name))
      if (having.length === 0) throw new NoPeerServes('no connected peer has a file of the snapshot any more')
      if (nowMs - this.#progressMs > STALLED_MS) {
        throw new NoPeerServes(`no peer has sent anything of the snapshot for ${STALLED_MS / 1_000} seconds`)
      }
      const free = having.filter(({ isBusy, pausedUntilMs }) => !isBusy && pausedUntilMs <= nowMs)
      const best = free.sort((a, b) => a.failures - b.failures || a.pieceMs - b.pieceMs)[0]
      if (best !== undefined) {
        best.isBusy = true
        return best
      }
      await this.#options.sleep(LOOK_MS, signal)
    }
  }

  #connected(): readonly Server[] {
    const connected = new Set(this.#options.network.peers())
    return this.#servers.filter(({ id }) => connected.has(id))
  }

  /** @returns undefined when this peer does not give the file: another one has to be asked */
  async #fetchFrom(
    server: Server,
    { sha256: hash, bytes: size }: SnapshotFile,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = []
    for (let offset = 0; offset < size; ) {
      signal?.throwIfAborted()
      let piece: FilePiece | undefined
      const askedMs = this.#options.nowMs()
      try {
        piece = await this.#options.network.fetchPiece(server.id, { sha256: hash, offset })
      } catch {
        // The network has logged why it did not answer.
        server.failures++
        const pauseMs = Math.min(PAUSE_MS * 2 ** (server.failures - 1), LONGEST_PAUSE_MS)
        server.pausedUntilMs = this.#options.nowMs() + pauseMs
        return undefined
      }
      if (piece === undefined) {
        server.lacks.add(bytesKey(hash))
        return undefined
      }
      if (piece.size !== size) return this.#ban(server, `a file of ${piece.size} bytes instead of ${size}`)
      server.failures = 0
      this.#progressMs = this.#options.nowMs()
      server.pieceMs = this.#progressMs - askedMs
      pieces.push(piece.bytes)
      offset += piece.bytes.length
    }
    const bytes = concatBytes(...pieces)
    return equalBytes(sha256(bytes), hash) ? bytes : this.#ban(server, 'bytes that do not have the hash of their file')
  }

  #ban(server: Server, reason: string): undefined {
    this.#servers.splice(this.#servers.indexOf(server), 1)
    this.#options.network.punish(server.id, 'malformed', reason)
  }
}
