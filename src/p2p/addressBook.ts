import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { sha256 } from '../primitives/hash.ts'
import { networkPrefixOf } from '../primitives/networkAddress.ts'
import { writeFileDurably } from '../storage/writeFileDurably.ts'
import { isPlausible, isRoutable, type KnownPeer, parsePeerAddress, reachOf } from './peerAddress.ts'

/*
 * Sizes. The tables have CometBFT's buckets (p2p/pex/params.go), with 16 places each instead of 64:
 * 4,096 addresses that others have named and 1,024 that this node has reached. That is enough for a
 * network of 50 validators with their sentries and some thousand full nodes. The file stays below
 * 1.5 MB, and a search of the whole book takes a few milliseconds at most.
 *
 * Shares. The addresses that one source names, together with those of all sources in its network
 * group (/16, IPv6 /48), go to 16 of 256 new buckets: at most a sixteenth of the table, however many
 * they are. Those in one group of addresses go to one bucket: 16 places. Reached addresses of one
 * group go to 4 of 64 tried buckets, a sixteenth too. So an attacker who wants to fill the book needs
 * machines in dozens of networks, and even then cannot push out a peer that answers.
 */
const BUCKETS = { new: 256, tried: 64 } as const
const BUCKET_SIZE = 16
const NEW_BUCKETS_PER_SOURCE = 16
const TRIED_BUCKETS_PER_GROUP = 4

type Table = keyof typeof BUCKETS
const TABLES: readonly Table[] = ['new', 'tried']
/** The most entries of all. */
export const BOOK_ENTRIES = BUCKET_SIZE * (BUCKETS.new + BUCKETS.tried)

/** Failed attempts in a row after which an address is removed. */
const MAX_FAILURES = { untried: 5, reached: 50 } as const
/** A new address with this many failures, or one that was not reached for this long, makes room for another. */
const BAD = { failures: 3, ageMs: 30 * 24 * 3_600_000 } as const
/** A tried address that was reached in this time needs no test to keep its place. */
const RECENT_MS = 4 * 3_600_000
/** Tried addresses that wait for a test because another one wants their place. */
const MAX_CONTESTS = 10
const KEY_BYTES = 32

const address = z.string().refine((text) => parsePeerAddress(text) !== undefined)
const knownPeer = {
  id: z.string().regex(/^[0-9a-f]{40}$/),
  address,
  isValidator: z.boolean(),
  /** milliseconds since the epoch; 0: never */
  reachedMs: z.number().int().nonnegative(),
  failures: z.number().int().nonnegative(),
}
const entrySchema = z.object({
  ...knownPeer,
  table: z.enum(['new', 'tried']),
  group: z.string().max(300),
  source: z.string().max(300),
  learnedMs: z.number().int().nonnegative(),
})
const fileSchema = z.object({
  version: z.literal(2),
  key: z.string().regex(/^[0-9a-f]{64}$/),
  peers: z.array(z.unknown()),
})
/** An entry of the previous format of the file, which had no buckets. */
const formerEntrySchema = z.object(knownPeer)
const formerFileSchema = z.object({ version: z.literal(1), peers: z.array(z.unknown()) })

/** Members are replaced, never changed. */
interface Entry extends KnownPeer {
  readonly table: Table
  /** network group of the address; of a tried one, of the IP address at which the node was reached */
  readonly group: string
  /** network group of the source that named it */
  readonly source: string
  /** milliseconds since the epoch */
  readonly learnedMs: number
  /** milliseconds since the epoch; 0: never */
  readonly reachedMs: number
  /** attempts since it was last reached */
  readonly failures: number
}

interface AddressBookOptions {
  readonly path: string
  /** node ID */
  readonly ownId: string
  /** node IDs that are never in the book */
  readonly privateIds: ReadonlySet<string>
  /** whether only addresses of the Internet are taken */
  readonly isStrict: boolean
  /** milliseconds since the epoch */
  readonly now: () => number
  /** from 0 to 1, for choices that others should not foresee */
  readonly random?: () => number
  /** the secret key of a new book, 32 bytes */
  readonly newKey?: () => Uint8Array
}

/**
 * Addresses of peers, one per node, stored in a file: Bitcoin's design (addrman.h) as CometBFT has it
 * (p2p/pex/addrbook.go). An address that others name is `new`; one at which this node has reached the
 * peer is `tried`. Each has one place, which follows from a secret key, the address, its network
 * group and, for a new one, the group of its source. Without the key, it cannot be foreseen which
 * addresses share a bucket.
 *
 * A new address takes a free place, or that of an address that does not work. When the place of a
 * tried address is taken, it waits until the current holder has been tested ({@link toTest}): a
 * holder that answers stays.
 */
export class AddressBook {
  readonly #options: AddressBookOptions
  readonly #random: () => number
  readonly #key: Uint8Array
  readonly #entries = new Map<string, Entry>()
  /** IDs by place */
  readonly #places: Readonly<Record<Table, Map<number, string>>> = { new: new Map(), tried: new Map() }
  /** the entries that wait for a tried entry's place, by the tried entry's ID */
  readonly #contests = new Map<string, Entry>()
  #isChanged = false

  /** Reads the file, also one without buckets. A damaged file counts as empty: then the node learns the addresses again. */
  constructor(options: AddressBookOptions) {
    this.#options = options
    this.#random = options.random ?? Math.random
    const file = readFile(options.path, options.now())
    this.#key = file?.key ?? options.newKey?.() ?? new Uint8Array(randomBytes(KEY_BYTES))
    const left = (file?.entries ?? []).filter((entry) => !this.#place(entry))
    // What may not be in the book any more must not stay in the file.
    this.#isChanged = file?.isFormer === true || left.length > 0
  }

  /** entries of a table */
  count(table: Table): number {
    return this.#places[table].size
  }

  /**
   * Adds peers that the peer at the address `source` has named.
   * @returns how many of them are new in the book
   */
  learn(peers: readonly KnownPeer[], source: string): number {
    return peers.filter((peer) => {
      const known = this.#entries.get(peer.id)
      // An address at which this node has reached the peer, or that was named first, is better than one that others name.
      if (known !== undefined && (known.reachedMs > 0 || known.failures === 0 || known.address === peer.address)) {
        return false
      }
      return isPlausible(hostOf(peer), source) && this.#place(this.#newEntry(peer, source))
    }).length
  }

  /** Called when the node is connected and announces this address itself. */
  announced(peer: KnownPeer, source: string): void {
    const known = this.#entries.get(peer.id)
    if (known?.address !== peer.address) {
      if (isPlausible(hostOf(peer), source)) this.#place(this.#newEntry(peer, source))
    } else if (known.isValidator !== peer.isValidator) this.#put({ ...known, isValidator: peer.isValidator })
  }

  /**
   * Called when a dial has reached the node.
   * @param host IP address of the connection's other side
   */
  reached(peer: KnownPeer, host: string): void {
    const { now, isStrict } = this.#options
    if (isStrict && !isRoutable(host)) {
      // A name that leads into the own network.
      this.#remove(peer.id)
      return
    }
    const known = this.#entries.get(peer.id)
    const group = groupOf(peer.address, host)
    const former = known?.address === peer.address ? known : this.#newEntry(peer, host)
    const entry: Entry = { ...former, ...peer, group, table: 'tried', reachedMs: now(), failures: 0 }
    this.#contests.delete(peer.id)
    const holder = this.#holderOf(entry)
    if (holder === undefined || holder.id === peer.id) {
      this.#place(entry)
      return
    }
    // It stays new, or becomes so, until the holder of its place was tested.
    if (!this.#place({ ...former, isValidator: peer.isValidator, table: 'new', reachedMs: now(), failures: 0 })) return
    const isSure = now() - holder.reachedMs < RECENT_MS
    if (!isSure && this.#contests.size < MAX_CONTESTS) this.#contests.set(holder.id, entry)
  }

  /** Called when a dial has failed; `isWrong`: another node answered. */
  failed(id: string, isWrong: boolean): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    const challenger = this.#contests.get(id)
    const failures = entry.failures + 1
    const isLost = isWrong || failures >= (entry.reachedMs === 0 ? MAX_FAILURES.untried : MAX_FAILURES.reached)
    if (challenger !== undefined && this.#entries.get(challenger.id)?.address === challenger.address) {
      // It did not pass its test: the other one gets its place, and it becomes new where there is room for it.
      this.#remove(id)
      this.#place(challenger)
      if (!isLost) this.#place({ ...entry, table: 'new', failures })
    } else if (isLost) this.#remove(id)
    else this.#put({ ...entry, failures })
  }

  /** Returns all entries. */
  peers(): Iterable<KnownPeer> {
    return this.#entries.values()
  }

  /**
   * Returns a random address to dial that `isWanted` accepts: from the new or the tried ones with
   * equal chance, and from each bucket with equal chance, so that many addresses of few sources are
   * not chosen more often.
   */
  choose(isWanted: (peer: KnownPeer, group: string) => boolean): KnownPeer | undefined {
    const tables = this.#random() < 0.5 ? TABLES : TABLES.toReversed()
    for (const table of tables) {
      const found = this.#chooseIn(table, isWanted)
      if (found !== undefined) return found
    }
    return undefined
  }

  /**
   * Returns an address to dial only to see whether it works: first of a tried one whose place
   * another wants, then any new one.
   */
  toTest(isWanted: (peer: KnownPeer) => boolean): KnownPeer | undefined {
    for (const id of this.#contests.keys()) {
      const holder = this.#entries.get(id)
      if (holder !== undefined && isWanted(holder)) return holder
    }
    return this.#chooseIn('new', isWanted)
  }

  /** Returns peers that this node has reached, newest first. */
  good(count: number): readonly KnownPeer[] {
    const reached = [...this.#entries.values()].filter(({ reachedMs, failures }) => reachedMs > 0 && failures < 3)
    return reached
      .sort((a, b) => b.reachedMs - a.reachedMs)
      .slice(0, count)
      .map(({ id, address, isValidator }) => ({ id, address, isValidator }))
  }

  /** Writes the file when anything has changed. Its key is a secret: only its owner may read it. */
  save(): void {
    if (!this.#isChanged) return
    const json: z.infer<typeof fileSchema> = {
      version: 2,
      key: Buffer.from(this.#key).toString('hex'),
      peers: [...this.#entries.values()],
    }
    writeFileDurably(this.#options.path, `${JSON.stringify(json)}\n`, 0o600)
    this.#isChanged = false
  }

  #newEntry(peer: KnownPeer, sourceHost: string): Entry {
    const { id, address, isValidator } = peer
    const learnedMs = this.#options.now()
    const source = sourceGroupOf(sourceHost)
    return {
      id,
      address,
      isValidator,
      table: 'new',
      group: groupOf(address),
      source,
      learnedMs,
      reachedMs: 0,
      failures: 0,
    }
  }

  #mayHold({ id, address }: KnownPeer): boolean {
    const { ownId, privateIds, isStrict } = this.#options
    return id !== ownId && !privateIds.has(id) && (!isStrict || isRoutable(parsePeerAddress(address)!.host))
  }

  /**
   * Puts an entry to its place, and away from a former one.
   * @returns false: the place is taken, and nothing has changed
   */
  #place(entry: Entry): boolean {
    if (!this.#mayHold(entry)) return false
    const place = this.#placeOf(entry)
    const holder = this.#holderOf(entry)
    if (holder !== undefined && holder.id !== entry.id) {
      if (entry.table === 'tried' || !this.#isBad(holder)) return false
      this.#remove(holder.id)
    }
    if (this.#entries.has(entry.id)) this.#remove(entry.id)
    this.#places[entry.table].set(place, entry.id)
    this.#put(entry)
    return true
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.id, entry)
    this.#isChanged = true
  }

  #remove(id: string): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#places[entry.table].delete(this.#placeOf(entry))
    this.#entries.delete(id)
    this.#contests.delete(id)
    this.#isChanged = true
  }

  #holderOf(entry: Entry): Entry | undefined {
    const id = this.#places[entry.table].get(this.#placeOf(entry))
    return id === undefined ? undefined : this.#entries.get(id)
  }

  #isBad({ failures, reachedMs, learnedMs }: Entry): boolean {
    return failures >= BAD.failures || this.#options.now() - Math.max(reachedMs, learnedMs) > BAD.ageMs
  }

  /**
   * Returns the number of a place: its bucket, then its place there. The node ID is left out, or
   * one address could take many places.
   */
  #placeOf({ table, address, group, source }: Entry): number {
    const bucket =
      table === 'new'
        ? this.#hash('new', source, this.#hash('group', group, source) % NEW_BUCKETS_PER_SOURCE)
        : this.#hash('tried', group, this.#hash('address', address) % TRIED_BUCKETS_PER_GROUP)
    const number = bucket % BUCKETS[table]
    return number * BUCKET_SIZE + (this.#hash('place', table, number, address) % BUCKET_SIZE)
  }

  #hash(...parts: readonly (string | number)[]): number {
    const hash = sha256(Buffer.concat([this.#key, Buffer.from(JSON.stringify(parts))]))
    return new DataView(hash.buffer, hash.byteOffset).getUint32(0)
  }

  #chooseIn(table: Table, isWanted: (peer: KnownPeer, group: string) => boolean): KnownPeer | undefined {
    const buckets = new Map<number, string[]>()
    for (const [place, id] of this.#places[table]) {
      const bucket = Math.floor(place / BUCKET_SIZE)
      const ids = buckets.get(bucket)
      if (ids === undefined) buckets.set(bucket, [id])
      else ids.push(id)
    }
    for (const ids of this.#shuffled([...buckets.values()])) {
      for (const id of this.#shuffled(ids)) {
        const entry = this.#entries.get(id)!
        if (isWanted(entry, entry.group)) return entry
      }
    }
    return undefined
  }

  #shuffled<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = Math.floor(this.#random() * (i + 1))
      const item = items[i]!
      items[i] = items[j]!
      items[j] = item
    }
    return items
  }
}

const hostOf = (peer: KnownPeer): string => parsePeerAddress(peer.address)!.host

/**
 * Returns the group of an address: its /16 or IPv6 /48. A host name's group is its last two labels,
 * because the owner of a domain can make as many names below it as they like. Each machine in the
 * node's own network is a group, and on loopback each node is: peers from outside cannot name them.
 * @param host an IP address at which the peer was reached, instead of a name
 */
function groupOf(address: string, host: string = parsePeerAddress(address)!.host): string {
  return reachOf(host) === 'loopback' ? address : sourceGroupOf(host)
}

/** Returns the same for the other side of a connection. */
export function sourceGroupOf(host: string): string {
  const prefix = networkPrefixOf(host)
  if (prefix === undefined) return host.toLowerCase().split('.').slice(-2).join('.')
  return reachOf(host) === 'public' ? prefix : host
}

interface BookFile {
  readonly key: Uint8Array | undefined
  readonly entries: readonly Entry[]
  readonly isFormer: boolean
}

function readFile(path: string, nowMs: number): BookFile | undefined {
  if (!existsSync(path)) return undefined
  let json: unknown
  try {
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    // Errors of a read do not name the file. The operator has to know it: an empty book must not take its place.
    throw Object.assign(error as Error, { path })
  }
  const { data: file } = fileSchema.safeParse(json)
  if (file !== undefined) {
    const entries = file.peers.slice(0, BOOK_ENTRIES).flatMap((entry) => entrySchema.safeParse(entry).data ?? [])
    return { key: new Uint8Array(Buffer.from(file.key, 'hex')), entries, isFormer: false }
  }
  const { data: former } = formerFileSchema.safeParse(json)
  if (former === undefined) return undefined
  const peers = former.peers.slice(0, BOOK_ENTRIES).flatMap((entry) => formerEntrySchema.safeParse(entry).data ?? [])
  // The previous format does not have the sources of addresses: each counts as its own source.
  const entries = peers.map((peer): Entry => {
    const group = groupOf(peer.address)
    return { ...peer, table: peer.reachedMs > 0 ? 'tried' : 'new', group, source: group, learnedMs: nowMs }
  })
  return { key: undefined, entries, isFormer: true }
}
