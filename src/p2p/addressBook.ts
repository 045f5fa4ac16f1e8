import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { writeFileDurably } from '../storage/writeFileDurably.ts'
import { isPlausible, type KnownPeer, parsePeerAddress } from './peerAddress.ts'

/** The most entries, and the most of them that this node has not reached yet. */
const MAX_ENTRIES = 1_000
const MAX_UNTRIED = 500
/** Failed attempts in a row after which an address is removed. */
const MAX_FAILURES = { untried: 5, reached: 50 } as const

const entrySchema = z.object({
  id: z.string().regex(/^[0-9a-f]{40}$/),
  address: z.string().refine((text) => parsePeerAddress(text) !== undefined),
  isValidator: z.boolean(),
  /** milliseconds since the epoch; 0: never */
  reachedMs: z.number().int().nonnegative(),
  failures: z.number().int().nonnegative(),
})
const fileSchema = z.object({ version: z.literal(1), peers: z.array(z.unknown()) })

interface Entry extends KnownPeer {
  readonly reachedMs: number
  /** attempts since it was last reached */
  readonly failures: number
}

/**
 * Addresses of peers, one per node, stored in a file. An address that other peers name is added only when no better one is known, and
 * it is not given to other peers before this node has reached it.
 */
export class AddressBook {
  readonly #path: string
  readonly #ownId: string
  readonly #entries = new Map<string, Entry>()
  #isChanged = false

  /** Reads the file. A damaged file counts as empty: then the node learns the addresses again. */
  constructor(path: string, ownId: string) {
    this.#path = path
    this.#ownId = ownId
    for (const entry of readEntries(path)) if (entry.id !== ownId) this.#entries.set(entry.id, entry)
  }

  get size(): number {
    return this.#entries.size
  }

  /** Adds peers that the peer at the address `source` has named. */
  learn(peers: readonly KnownPeer[], source: string): void {
    for (const peer of peers) {
      const { id, address, isValidator } = peer
      if (id === this.#ownId || !isPlausible(parsePeerAddress(address)!.host, source)) continue
      const known = this.#entries.get(id)
      // An address at which this node has reached the peer is better than one that others name.
      if (known !== undefined && (known.reachedMs > 0 || known.address === address)) continue
      if (known === undefined && !this.#makeRoom()) return
      this.#put({ id, address, isValidator, reachedMs: 0, failures: 0 })
    }
  }

  /** A dial reached the node. */
  reached(peer: KnownPeer, nowMs: number): void {
    this.#put({ ...peer, reachedMs: nowMs, failures: 0 })
  }

  /** The node is connected and announces this address itself. */
  announced(peer: KnownPeer, source: string): void {
    const known = this.#entries.get(peer.id)
    if (known?.address === peer.address && known.isValidator === peer.isValidator) return
    if (!isPlausible(parsePeerAddress(peer.address)!.host, source)) return
    if (known === undefined && !this.#makeRoom()) return
    this.#put({ ...peer, reachedMs: known?.address === peer.address ? known.reachedMs : 0, failures: 0 })
  }

  /** A dial failed; `isWrong`: another node answered. */
  failed(id: string, isWrong: boolean): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    const failures = entry.failures + 1
    const limit = entry.reachedMs === 0 ? MAX_FAILURES.untried : MAX_FAILURES.reached
    if (!isWrong && failures < limit) this.#put({ ...entry, failures })
    else this.#remove(id)
  }

  peers(): Iterable<KnownPeer> {
    return this.#entries.values()
  }

  /** Peers that this node has reached, newest first. */
  good(count: number): readonly KnownPeer[] {
    const reached = [...this.#entries.values()].filter(({ reachedMs, failures }) => reachedMs > 0 && failures < 3)
    return reached
      .sort((a, b) => b.reachedMs - a.reachedMs)
      .slice(0, count)
      .map(({ id, address, isValidator }) => ({ id, address, isValidator }))
  }

  /** Writes the file when anything has changed. */
  save(): void {
    if (!this.#isChanged) return
    const json = { version: 1, peers: [...this.#entries.values()] } satisfies z.infer<typeof fileSchema>
    writeFileDurably(this.#path, `${JSON.stringify(json, undefined, 1)}\n`, 0o644)
    this.#isChanged = false
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.id, entry)
    this.#isChanged = true
    if (this.#entries.size > MAX_ENTRIES) this.#removeWorst()
  }

  #remove(id: string): void {
    this.#entries.delete(id)
    this.#isChanged = true
  }

  /** Whether there is room for one more entry that was not reached yet. */
  #makeRoom(): boolean {
    let untried = 0
    for (const { reachedMs } of this.#entries.values()) if (reachedMs === 0) untried++
    if (untried < MAX_UNTRIED && this.#entries.size < MAX_ENTRIES) return true
    // An untried entry is replaced only when it has failed before.
    const worst = this.#worst()
    if (worst === undefined || worst.failures === 0) return false
    this.#remove(worst.id)
    return true
  }

  #removeWorst(): void {
    const worst = this.#worst()
    if (worst !== undefined) this.#remove(worst.id)
  }

  #worst(): Entry | undefined {
    let worst: Entry | undefined
    for (const entry of this.#entries.values()) if (worst === undefined || isWorse(entry, worst)) worst = entry
    return worst
  }
}

function isWorse(a: Entry, b: Entry): boolean {
  if ((a.reachedMs === 0) !== (b.reachedMs === 0)) return a.reachedMs === 0
  return a.failures !== b.failures ? a.failures > b.failures : a.reachedMs < b.reachedMs
}

function readEntries(path: string): readonly Entry[] {
  if (!existsSync(path)) return []
  let json: unknown
  try {
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
  const file = fileSchema.safeParse(json)
  if (!file.success) return []
  return file.data.peers.flatMap((entry) => entrySchema.safeParse(entry).data ?? []).slice(0, MAX_ENTRIES)
}
