import type { Random } from '../fuzz/random.ts'
import type { EventQueue } from './eventQueue.ts'

/** One direction between two nodes. */
export interface Link {
  /** one way, without jitter */
  latencyMs: number
  /** most that is added at random */
  jitterMs: number
  /** share of messages that never arrive, 0 to 1 */
  loss: number
  /** share of messages that arrive twice */
  duplication: number
  /** one message in that many is held up for `stallMs`, and with it all that follow; 0: none */
  stallOneIn: number
  stallMs: number
  /** nothing arrives, and neither end is told */
  blocked: boolean
  /** bytes a second; 0: no limit */
  bandwidth: number
}

const GOOD_LINK: Link = {
  latencyMs: 20,
  jitterMs: 5,
  loss: 0,
  duplication: 0,
  stallOneIn: 0,
  stallMs: 0,
  blocked: false,
  bandwidth: 0,
}

/** The longest wait of messages for a slow line. */
const MAX_BACKLOG_MS = 3_000

/** What a node is told. */
interface NetworkNode {
  joined(peer: number): void
  left(peer: number): void
}

interface Connection {
  open: boolean
  /** counts the connections of this pair: what was sent over an earlier one is lost */
  incarnation: number
  wanted: boolean
}

/** Messages between nodes over virtual time: in order within a direction of a connection, in any order across them. */
export class SimNetwork {
  readonly #queue: EventQueue
  readonly #random: Random
  readonly #links: Link[][]
  readonly #connections: Connection[][]
  /** by direction: when the last message arrives, and when the wire is free again */
  readonly #lastArrival: number[][]
  readonly #wireFree: number[][]
  readonly #nodes: NetworkNode[]
  /** time from the loss of a connection until both ends know */
  detectMs = 5
  delivered = 0
  sent = 0

  constructor(queue: EventQueue, random: Random, size: number) {
    this.#queue = queue
    this.#random = random
    this.#nodes = []
    const matrix = <T>(make: (a: number, b: number) => T): T[][] =>
      Array.from({ length: size }, (_, a) => Array.from({ length: size }, (_, b) => make(a, b)))
    this.#links = matrix(() => ({ ...GOOD_LINK }))
    this.#lastArrival = matrix(() => 0)
    this.#wireFree = matrix(() => 0)
    this.#connections = matrix(() => ({ open: false, incarnation: 0, wanted: false }))
    for (let a = 0; a < size; a++) for (let b = 0; b < a; b++) this.#connections[a]![b] = this.#connections[b]![a]!
  }

  get size(): number {
    return this.#links.length
  }

  attach(nodes: readonly NetworkNode[]): void {
    this.#nodes.push(...nodes)
  }

  link(from: number, to: number): Link {
    return this.#links[from]![to]!
  }

  /** Changes links that meet a condition. */
  setLinks(change: Partial<Link>, which: (from: number, to: number) => boolean = () => true): void {
    for (let a = 0; a < this.size; a++) {
      for (let b = 0; b < this.size; b++) if (a !== b && which(a, b)) Object.assign(this.link(a, b), change)
    }
  }

  eachLink(change: (link: Link, from: number, to: number) => void): void {
    for (let a = 0; a < this.size; a++) {
      for (let b = 0; b < this.size; b++) if (a !== b) change(this.link(a, b), a, b)
    }
  }

  isConnected(a: number, b: number): boolean {
    return this.#connections[a]![b]!.open
  }

  peersOf(node: number): number[] {
    const peers: number[] = []
    for (let other = 0; other < this.size; other++)
      if (other !== node && this.isConnected(node, other)) peers.push(other)
    return peers
  }

  connect(a: number, b: number): void {
    const connection = this.#connections[a]![b]!
    connection.wanted = true
    if (connection.open) return
    connection.open = true
    connection.incarnation++
    this.#lastArrival[a]![b] = this.#lastArrival[b]![a] = this.#queue.nowMs
    this.#wireFree[a]![b] = this.#wireFree[b]![a] = this.#queue.nowMs
    this.#nodes[a]?.joined(b)
    this.#nodes[b]?.joined(a)
  }

  /** Cuts a connection: what is under way is lost. */
  disconnect(a: number, b: number): void {
    const connection = this.#connections[a]![b]!
    connection.wanted = false
    if (!connection.open) return
    connection.open = false
    const { incarnation } = connection
    this.#queue.after(this.detectMs, () => {
      if (connection.open || connection.incarnation !== incarnation) return
      this.#nodes[a]?.left(b)
      this.#nodes[b]?.left(a)
    })
  }

  /** Cuts a connection that comes back by itself. */
  bounce(a: number, b: number, downMs: number): void {
    if (!this.isConnected(a, b)) return
    this.disconnect(a, b)
    this.#queue.after(Math.max(downMs, 2 * this.detectMs), () => this.connect(a, b))
  }

  /**
   * `arrive` is called when a message of `bytes` bytes gets from one node to the other, which may be never.
   * @param delayMs holds up this message alone
   */
  send(from: number, to: number, bytes: number, arrive: () => void, delayMs = 0): void {
    this.sent++
    const connection = this.#connections[from]![to]!
    if (!connection.open) return
    const link = this.link(from, to)
    const random = this.#random
    const chance = (share: number): boolean => share > 0 && random.uint32() < share * 2 ** 32
    if (link.blocked || chance(link.loss)) return
    let atMs = this.#queue.nowMs + link.latencyMs
    if (link.bandwidth > 0) {
      const begin = Math.max(this.#queue.nowMs, this.#wireFree[from]![to]!)
      const end = begin + (bytes * 1000) / link.bandwidth
      // A sender drops messages that would wait too long.
      if (end - this.#queue.nowMs > MAX_BACKLOG_MS) return
      this.#wireFree[from]![to] = end
      atMs = end + link.latencyMs
    }
    if (link.jitterMs > 0) atMs += (link.jitterMs * random.uint32()) / 2 ** 32
    if (link.stallOneIn > 0 && random.oneIn(link.stallOneIn)) atMs += link.stallMs
    atMs = Math.max(atMs, this.#lastArrival[from]![to]!)
    this.#lastArrival[from]![to] = atMs
    atMs += delayMs
    const { incarnation } = connection
    const deliver = (): void => {
      if (!connection.open || connection.incarnation !== incarnation || link.blocked) return
      this.delivered++
      arrive()
    }
    this.#queue.after(atMs - this.#queue.nowMs, deliver)
    if (chance(link.duplication)) this.#queue.after(atMs - this.#queue.nowMs, deliver)
  }

  /** Delivers nothing that is under way, and frees all lines. */
  clear(): void {
    for (let a = 0; a < this.size; a++) {
      for (let b = 0; b < this.size; b++) {
        this.#lastArrival[a]![b] = this.#queue.nowMs
        this.#wireFree[a]![b] = this.#queue.nowMs
        if (a < b) this.#connections[a]![b]!.incarnation++
      }
    }
  }

  /** Nothing passes between the groups, silently or with connections lost. */
  partition(groups: readonly (readonly number[])[], how: 'silent' | 'disconnect'): void {
    const groupOf = (node: number): number => groups.findIndex((group) => group.includes(node))
    for (let a = 0; a < this.size; a++) {
      for (let b = 0; b < this.size; b++) {
        if (a === b || groupOf(a) === groupOf(b)) continue
        if (how === 'silent') this.link(a, b).blocked = true
        else if (a < b) this.disconnect(a, b)
      }
    }
  }
}
