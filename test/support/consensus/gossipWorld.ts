import { createPartSet, type Part, type PartSet } from '../../../src/chain/comet/partSet.ts'
import {
  type BlockId,
  equalBlockId,
  NIL_BLOCK_ID,
  type Proposal,
  type RankedValidatorSet,
  SIGNED_MESSAGE_TYPES,
  type Vote,
  type VoteType,
} from '../../../src/chain/comet/types.ts'
import { createRankedSet, proposerAt } from '../../../src/chain/comet/validatorSet.ts'
import { type BitSet, createBitSet } from '../../../src/consensus/bitSet.ts'
import { type AcceptedInput, ConsensusGossip, type Send, SWEEP_MS } from '../../../src/consensus/consensusGossip.ts'
import {
  type ConsensusMessage,
  decodeConsensusMessage,
  encodeConsensusMessage,
} from '../../../src/consensus/messages.ts'
import {
  type PartsView,
  type RoundStateView,
  STEPS,
  type Step,
  type VoteSetView,
} from '../../../src/consensus/roundStateView.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

/** `count` validators of equal power; position `i` is node `i`. */
export function createValidators(count: number): RankedValidatorSet {
  return createRankedSet(
    Array.from({ length: count }, (_, index) => ({
      publicKey: sha256(Uint8Array.of(index >> 8, index & 255)),
      power: 10n,
    })),
  )
}

/** Votes of one round and type, the first of each validator, without rules. */
class FakeVotes implements VoteSetView {
  readonly round: number
  readonly type: VoteType
  readonly byIndex: (Vote | undefined)[]

  constructor(round: number, type: VoteType, size: number) {
    this.round = round
    this.type = type
    this.byIndex = new Array(size).fill(undefined)
  }

  bits(): BitSet {
    return this.#where((vote) => vote !== undefined)
  }

  bitsFor(blockId: BlockId): BitSet {
    return this.#where((vote) => vote !== undefined && equalBlockId(vote.blockId, blockId))
  }

  #where(test: (vote: Vote | undefined) => boolean): BitSet {
    return createBitSet(
      this.byIndex.length,
      this.byIndex.flatMap((vote, index) => (test(vote) ? [index] : [])),
    )
  }

  vote(index: number): Vote | undefined {
    return this.byIndex[index]
  }

  voteFor(index: number, blockId: BlockId): Vote | undefined {
    const vote = this.byIndex[index]
    return vote !== undefined && equalBlockId(vote.blockId, blockId) ? vote : undefined
  }

  majority(): BlockId | undefined {
    const present = this.byIndex.filter((vote) => vote !== undefined)
    return present.find(
      ({ blockId }) =>
        present.filter((vote) => equalBlockId(vote.blockId, blockId)).length * 3 > this.byIndex.length * 2,
    )?.blockId
  }

  power(): bigint {
    return BigInt(this.count) * 10n
  }

  get count(): number {
    return this.byIndex.filter((vote) => vote !== undefined).length
  }
}

class FakeParts implements PartsView {
  readonly header: PartSet['header']
  readonly held: (Part | undefined)[]

  constructor(header: PartSet['header']) {
    this.header = header
    this.held = new Array(header.total).fill(undefined)
  }

  has(index: number): boolean {
    return this.held[index] !== undefined
  }

  part(index: number): Part | undefined {
    return this.held[index]
  }

  get complete(): boolean {
    return !this.held.includes(undefined)
  }
}

/** A round state that a test moves by hand. */
export class FakeView implements RoundStateView {
  readonly validators: RankedValidatorSet
  height = 1
  round = 0
  step: Step = STEPS.newHeight
  proposal: Proposal | undefined
  parts: FakeParts | undefined
  isContested = false
  commitRound = -1
  lockedRound = -1
  lockedBlockId: BlockId | undefined
  validRound = -1
  validBlockId: BlockId | undefined
  lastPrecommits: FakeVotes | undefined
  lastPrevotes: FakeVotes | undefined
  #votes = new Map<string, FakeVotes>()

  constructor(validators: RankedValidatorSet) {
    this.validators = validators
  }

  votes(round: number, type: VoteType): FakeVotes {
    const key = `${round}/${type}`
    let set = this.#votes.get(key)
    if (set === undefined) {
      set = new FakeVotes(round, type, this.validators.validators.length)
      this.#votes.set(key, set)
    }
    return set
  }

  enterHeight(height: number, lastRound: number): void {
    this.lastPrecommits = height === this.height + 1 ? this.votes(lastRound, precommit) : undefined
    this.lastPrevotes = height === this.height + 1 ? this.votes(lastRound, prevote) : undefined
    this.height = height
    this.#votes = new Map()
    this.step = STEPS.newHeight
    this.enterRound(0)
    this.parts = undefined
    this.commitRound = -1
  }

  /** The whole block is here. */
  setParts({ header, parts }: PartSet): void {
    this.parts = new FakeParts(header)
    for (const part of parts) this.parts.held[part.index] = part
  }

  enterRound(round: number): void {
    this.round = round
    this.proposal = undefined
  }
}

interface FakeBlock {
  readonly blockId: BlockId
  readonly set: PartSet
}

const blocks = new Map<string, FakeBlock>()

/** The block of a height in this world: every proposer makes the same one. */
export function blockOf(height: number, partCount: number): FakeBlock {
  const key = `${height}/${partCount}`
  let block = blocks.get(key)
  if (block === undefined) {
    const set = createPartSet(new Uint8Array(65_536 * (partCount - 1) + 100).fill(height))
    block = { blockId: { hash: sha256(Uint8Array.of(height)), partSetHeader: set.header }, set }
    blocks.set(key, block)
  }
  return block
}

export function voteOf(
  validators: RankedValidatorSet,
  index: number,
  { height = 1, round = 0, type = prevote as VoteType, blockId = NIL_BLOCK_ID } = {},
): Vote {
  return {
    type,
    height,
    round,
    blockId,
    timestampMs: 1000,
    validatorAddress: validators.validators[index]!.address,
    validatorIndex: index,
    signature: new Uint8Array(64).fill(index + 1),
  }
}

/** Numbers from 0 to 1, the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export interface WorldOptions {
  readonly nodes: number
  /** the first so many nodes are validators; all by default */
  readonly validators?: number
  /** pairs of nodes that are connected */
  readonly links: readonly (readonly [number, number])[]
  readonly seed?: number
  /** of messages that are lost */
  readonly loss?: number
  readonly latencyMs?: readonly [number, number]
  readonly partCount?: number
  /** whether nodes go on to the next height when they have what decides one */
  readonly progresses?: boolean
}

interface Event {
  readonly atMs: number
  run(): void
}

const INTERVAL_MS = 400

/** Nodes that follow the good path of consensus, or none, over a network with latency and loss. */
export class GossipWorld {
  readonly nodes: WorldNode[]
  readonly validators: RankedValidatorSet
  readonly options: Required<WorldOptions>
  /** by kind: how often a message was handed to the network for one receiver */
  readonly sent = { status: 0, proposal: 0, part: 0, vote: 0 }
  /** messages of others that were handed on */
  relayed = 0
  sweeps = 0
  nowMs = 0
  readonly #events: Event[] = []
  readonly #random: () => number
  readonly #links = new Set<string>()

  constructor(options: WorldOptions) {
    this.options = {
      validators: options.nodes,
      seed: 1,
      loss: 0,
      latencyMs: [5, 50],
      partCount: 3,
      progresses: false,
      ...options,
    }
    this.#random = createRandom(this.options.seed)
    this.validators = createValidators(this.options.validators)
    this.nodes = Array.from({ length: options.nodes }, (_, index) => new WorldNode(this, index))
    for (const [a, b] of options.links) this.connect(a, b)
    for (const node of this.nodes) this.after(Math.floor(this.#random() * SWEEP_MS), () => this.#sweep(node))
  }

  connect(a: number, b: number): void {
    this.#links.add(`${a}/${b}`).add(`${b}/${a}`)
    this.nodes[a]!.join(b)
    this.nodes[b]!.join(a)
  }

  after(delayMs: number, run: () => void): void {
    const atMs = this.nowMs + delayMs
    let [low, high] = [0, this.#events.length]
    while (low < high) {
      const middle = (low + high) >> 1
      // Events are taken from the end of the list; among events of one time, in order of their arrival.
      if (this.#events[middle]!.atMs > atMs) low = middle + 1
      else high = middle
    }
    this.#events.splice(low, 0, { atMs, run })
  }

  #sweep(node: WorldNode): void {
    this.sweeps++
    node.sweep()
    this.after(SWEEP_MS, () => this.#sweep(node))
  }

  send(from: WorldNode, { to, message }: Send): void {
    const bytes = encodeConsensusMessage(message)
    for (const id of to) {
      const receiver = this.nodes[Number(id)]!
      this.sent[message.kind]++
      if (this.#random() < this.options.loss || !this.#links.has(`${from.index}/${receiver.index}`)) continue
      const [least, most] = this.options.latencyMs
      const key = `${from.index}/${receiver.index}`
      // A stream keeps the order of what it carries.
      const arrival = Math.max(this.nowMs + least + this.#random() * (most - least), this.#lastArrival.get(key) ?? 0)
      this.#lastArrival.set(key, arrival)
      this.after(arrival - this.nowMs, () => receiver.receive(from.id, decodeConsensusMessage(bytes)))
    }
  }

  readonly #lastArrival = new Map<string, number>()

  /** Lets time pass until `done`, at most `limitMs`. @returns how long it took, or undefined */
  run(limitMs: number, done: () => boolean = () => false): number | undefined {
    const startMs = this.nowMs
    while (!done()) {
      const event = this.#events.at(-1)
      if (event === undefined || event.atMs > startMs + limitMs) {
        this.nowMs = startMs + limitMs
        return undefined
      }
      this.#events.pop()
      this.nowMs = event.atMs
      event.run()
    }
    return this.nowMs - startMs
  }
}

class WorldNode {
  readonly index: number
  readonly id: string
  readonly world: GossipWorld
  readonly view: FakeView
  readonly gossip: ConsensusGossip
  readonly address: Uint8Array | undefined
  /** heights that were entered because a peer gave the block */
  pulled = 0
  #asked = ''

  constructor(world: GossipWorld, index: number) {
    this.world = world
    this.index = index
    this.id = String(index)
    this.view = new FakeView(world.validators)
    this.address = world.validators.validators[index]?.address
    this.gossip = new ConsensusGossip({ ownAddress: this.address })
  }

  join(peer: number): void {
    const address = this.world.validators.validators[peer]?.address
    this.send(this.gossip.peerJoined(String(peer), address, this.view))
  }

  send(sends: readonly Send[]): void {
    for (const send of sends) this.world.send(this, send)
  }

  sweep(): void {
    this.send(this.gossip.sweep(Math.floor(this.world.nowMs), this.view))
    const behind = this.gossip.behind(this.view)
    if (!this.world.options.progresses || behind === undefined) return
    const { height } = this.view
    if (this.#asked === `${behind.peer}/${height}`) return
    this.#asked = `${behind.peer}/${height}`
    this.world.after(60, () => {
      if (this.view.height !== height) return
      this.pulled++
      this.#enterHeight(height + 1, 0)
    })
  }

  receive(from: string, message: ConsensusMessage): void {
    if (message.kind === 'status') {
      this.send(this.gossip.onStatus(from, message, this.view))
      return
    }
    this.gossip.onMessage(from, message, this.view)
    if (message.kind === 'proposal') this.accept({ ...message, receivedMs: 0, from })
    else this.accept({ ...message, from })
  }

  /** The effects of a reducer that trusts everybody. */
  accept(input: AcceptedInput): void {
    if (!this.#takeIn(input)) return
    const before = this.world.sent.proposal + this.world.sent.part + this.world.sent.vote
    this.send(this.gossip.onAccepted(input, this.view))
    const after = this.world.sent.proposal + this.world.sent.part + this.world.sent.vote
    if (input.from !== undefined) this.world.relayed += after - before
    if (this.world.options.progresses) this.#advance()
  }

  #takeIn(input: AcceptedInput): boolean {
    const { view } = this
    switch (input.kind) {
      case 'proposal':
        if (
          input.proposal.height !== view.height ||
          input.proposal.round !== view.round ||
          view.proposal !== undefined
        ) {
          return false
        }
        view.proposal = input.proposal
        view.parts ??= new FakeParts(input.proposal.blockId.partSetHeader)
        return true
      case 'part':
        if (input.height !== view.height || view.parts === undefined || view.parts.has(input.part.index)) return false
        view.parts.held[input.part.index] = input.part
        return true
      case 'vote': {
        const { height, round, type, validatorIndex } = input.vote
        const isLate = height === view.height - 1 && type === precommit && view.step === STEPS.newHeight
        const set = height === view.height ? view.votes(round, type) : isLate ? view.lastPrecommits : undefined
        if (set === undefined || set.round !== round || set.byIndex[validatorIndex] !== undefined) return false
        set.byIndex[validatorIndex] = input.vote
        return true
      }
    }
  }

  propose(polRound = -1): void {
    const { height, round } = this.view
    const { blockId, set } = blockOf(height, this.world.options.partCount)
    const proposal: Proposal = { height, round, polRound, blockId, timestampMs: 1000, signature: new Uint8Array(64) }
    this.accept({ kind: 'proposal', proposal, receivedMs: 0, from: undefined })
    for (const part of set.parts) this.accept({ kind: 'part', height, round, part, from: undefined })
  }

  vote(type: VoteType, round = this.view.round): void {
    const { height } = this.view
    if (this.address === undefined || this.view.votes(round, type).byIndex[this.index] !== undefined) return
    const { blockId } = blockOf(height, this.world.options.partCount)
    const vote = voteOf(this.world.validators, this.index, { height, round, type, blockId })
    this.accept({ kind: 'vote', vote, from: undefined })
  }

  begin(): void {
    this.#enter(STEPS.propose)
    const { round, validators } = this.view
    if (proposerAt(validators, round).address === this.address) this.propose()
  }

  #enter(step: Step): void {
    this.view.step = step
    this.send(this.gossip.onEntered(this.view))
  }

  #advance(): void {
    const { view } = this
    const needed = (this.world.validators.validators.length * 2) / 3
    if (view.step === STEPS.propose && view.parts?.complete === true) {
      this.#enter(STEPS.prevote)
      this.vote(prevote)
    }
    if (view.step === STEPS.prevote && view.votes(0, prevote).count > needed) {
      this.#enter(STEPS.precommit)
      this.vote(precommit)
    }
    if (view.step < STEPS.commit && view.step > STEPS.newHeight && view.votes(0, precommit).count > needed) {
      view.commitRound = 0
      this.#enter(STEPS.commit)
    }
    if (view.step === STEPS.commit && view.parts?.complete === true) this.#enterHeight(view.height + 1, 0)
  }

  #enterHeight(height: number, lastRound: number): void {
    this.view.enterHeight(height, lastRound)
    this.#enter(STEPS.newHeight)
    const startMs = height * INTERVAL_MS
    this.world.after(Math.max(startMs - this.world.nowMs, 10), () => {
      if (this.view.height === height && this.view.step === STEPS.newHeight) this.begin()
    })
  }
}

export const LINKS = {
  mesh: (count: number): [number, number][] =>
    [...Array(count).keys()].flatMap((a) => [...Array(a).keys()].map((b): [number, number] => [a, b])),
  line: (count: number): [number, number][] => [...Array(count - 1).keys()].map((a) => [a, a + 1]),
  star: (count: number): [number, number][] => [...Array(count - 1).keys()].map((a) => [0, a + 1]),
  /** connected, `extra` links beyond a tree */
  random: (count: number, extra: number, seed: number): [number, number][] => {
    const random = createRandom(seed)
    const links = [...Array(count - 1).keys()].map((a): [number, number] => [a + 1, Math.floor(random() * (a + 1))])
    for (let i = 0; i < extra; i++) {
      const [a, b] = [Math.floor(random() * count), Math.floor(random() * count)]
      if (a !== b && !links.some(([c, d]) => (c === a && d === b) || (c === b && d === a))) links.push([a, b])
    }
    return links
  },
} as const
