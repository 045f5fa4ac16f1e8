import { type BlockId, SIGNED_MESSAGE_TYPES, type Vote, type VoteType } from '../chain/comet/types.ts'
import { type BitSet, bitIndices, createBitSet } from './bitSet.ts'
import { type Delivery, type GossipPeer, PROOF_OF_LOCK, PROPOSAL, setKey } from './gossipPeer.ts'
import type { ConsensusMessage, StatusMessage } from './messages.ts'
import { exceedsThird } from './quorum.ts'
import { type PartsView, type RoundStateView, STEPS } from './roundStateView.ts'

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

/** A message counts as missing at a peer when other nodes have had this many ticks to deliver it. */
const PATIENCE_TICKS = 2

/** A status that is older than this may be out of date, because newer ones may have been lost. */
const STALE_TICKS = 3

/** About this many nodes send a missing message to a validator that is connected to all of them. */
const COPIES = 3

/** Estimate of a message's bytes, without those of a part. */
const MESSAGE_BYTES = 256

interface ServeContext {
  readonly view: RoundStateView
  readonly peer: GossipPeer
  readonly tick: number
  /** when this node entered the height */
  readonly heightTick: number
  readonly arrivals: Arrivals
  /** index of this node's validator; undefined when it is not a validator */
  readonly ownIndex: number | undefined
}

/**
 * Messages that a peer lacks although this node has had them for a while, so the usual relaying did not work. They are recorded as
 * sent. Limited by the peer's remaining budget of this tick.
 */
export function missingMessages(context: ServeContext): ConsensusMessage[] {
  const { view, peer, tick, heightTick } = context
  const { status } = peer
  if (status === undefined) return []
  const until = Math.max(peer.statusTick, tick - STALE_TICKS) - PATIENCE_TICKS
  if (heightTick > until) return []
  const server = new Server(context, until)
  if (status.height === view.height - 1) server.lastPrecommits()
  else if (status.height === view.height) serveHeight(server, status, view)
  return server.messages
}

/** The most useful messages come first: those of a decision, of the peer's round, of its proof of lock, of a later round. */
function serveHeight(server: Server, status: StatusMessage, view: RoundStateView): void {
  const { round } = status
  if (view.commitRound >= 0) server.votes(view.commitRound, precommit)
  if (status.step === STEPS.newHeight) server.lastPrecommits()
  const { proposal } = view
  const sharesProposal = proposal !== undefined && proposal.round === round
  if (sharesProposal) server.proposal()
  const { parts } = view
  if (parts !== undefined) {
    const wanted = status.parts?.hash
    if (wanted === undefined ? sharesProposal : Buffer.compare(wanted, parts.header.hash) === 0) server.parts(round)
  }
  if (round !== view.commitRound) server.votes(round, precommit)
  server.votes(round, prevote)
  const polRound = status.pol?.round ?? (sharesProposal ? proposal.polRound : -1)
  const locked =
    polRound < 0
      ? undefined
      : (view.votes(polRound, prevote)?.majority() ?? (sharesProposal ? proposal.blockId : undefined))
  if (locked !== undefined) server.proofOfLock(polRound, locked)
  if (view.round > round && (view.round === round + 1 || isRoundCertificate(view))) {
    if (view.round !== view.commitRound) server.votes(view.round, precommit)
    server.votes(view.round, prevote)
  } else if (view.round > round) {
    // This node's round may have no votes yet, while it waits for its proposal. The precommits that ended the previous round lead the
    // peer to it too.
    server.votes(view.round - 1, precommit)
  }
}

/**
 * Whether this node's votes of the current round have more than a third of the power: a node that
 * sees them enters the round [L55].
 */
function isRoundCertificate(view: RoundStateView): boolean {
  const { validators } = view.validators
  const voted = new Set<number>()
  for (const type of [prevote, precommit]) {
    const votes = view.votes(view.round, type)
    if (votes !== undefined) for (const index of bitIndices(votes.bits())) voted.add(index)
  }
  let power = 0n
  for (const index of voted) power += validators[index]?.power ?? 0n
  return exceedsThird(power, view.validators)
}

const ONE: BitSet = createBitSet(1, [0])

/** Collects the messages for one peer in one tick. */
class Server {
  readonly messages: ConsensusMessage[] = []
  readonly #context: ServeContext
  /** messages that came after this tick are not sent */
  readonly #until: number
  readonly #share: { readonly rank: number; readonly count: number }

  constructor(context: ServeContext, until: number) {
    this.#context = context
    this.#until = until
    this.#share = shareOf(context)
  }

  proposal(): void {
    const { view, peer, tick } = this.#context
    const { proposal } = view
    if (proposal === undefined) return
    const delivery = peer.delivery(proposal.round, PROPOSAL, 1, tick)
    this.#send(delivery, ONE, setKey(proposal.round, PROPOSAL), MESSAGE_BYTES, () => ({ kind: 'proposal', proposal }))
  }

  /** @param round the peer's round */
  parts(round: number): void {
    const { view, peer, tick } = this.#context
    const { height, parts } = view
    if (parts === undefined) return
    const delivery = peer.partsDelivery(parts.header, tick)
    // An estimate: all parts but the last one are as long as the first one.
    const bytes = MESSAGE_BYTES + (parts.part(0)?.bytes.length ?? 65_536)
    this.#send(delivery, partBits(parts), PARTS, bytes, (index) => {
      const part = parts.part(index)
      return part === undefined ? undefined : { kind: 'part', height, round, part }
    })
  }

  votes(round: number, type: VoteType): void {
    const { view, peer, tick } = this.#context
    const set = view.votes(round, type)
    if (set === undefined) return
    const bits = set.bits()
    const key = setKey(round, type)
    this.#send(peer.delivery(round, type, bits.size, tick), bits, key, MESSAGE_BYTES, (index) =>
      voteMessage(set.vote(index)),
    )
  }

  /** Prevotes of a proof of lock: only those for its block, because a faulty validator may have sent another prevote to the peer. */
  proofOfLock(round: number, blockId: BlockId): void {
    const { view, peer, tick } = this.#context
    const set = view.votes(round, prevote)
    if (set === undefined) return
    const bits = set.bitsFor(blockId)
    const key = setKey(round, prevote)
    this.#send(peer.delivery(round, PROOF_OF_LOCK, bits.size, tick), bits, key, MESSAGE_BYTES, (index) =>
      voteMessage(set.voteFor(index, blockId)),
    )
  }

  lastPrecommits(): void {
    const { view, peer, tick } = this.#context
    const set = view.lastPrecommits
    if (set === undefined) return
    const bits = set.bits()
    this.#send(peer.lastDelivery(bits.size, tick), bits, LAST_PRECOMMITS, MESSAGE_BYTES, (index) =>
      voteMessage(set.vote(index)),
    )
  }

  #send(
    delivery: Delivery,
    ours: BitSet,
    key: number,
    bytes: number,
    toMessage: (index: number) => ConsensusMessage | undefined,
  ): void {
    const { peer, tick, arrivals } = this.#context
    const { rank, count } = this.#share
    const isMine = (index: number): boolean => {
      const waited = tick - Math.max(arrivals.tick(key, index) + PATIENCE_TICKS, delivery.sinceTick)
      return (rank + index + tick) % count < COPIES * 2 ** waited
    }
    for (const index of delivery.due(ours, tick, isMine)) {
      if (arrivals.tick(key, index) > this.#until) continue
      const message = toMessage(index)
      if (message === undefined || !peer.spend(bytes)) continue
      delivery.markSent(index, tick)
      this.messages.push(message)
    }
  }
}

function voteMessage(vote: Vote | undefined): ConsensusMessage | undefined {
  return vote === undefined ? undefined : { kind: 'vote', vote }
}

/**
 * Divides the work among the validators that are connected to a peer: all of them see which
 * messages it lacks. Each message is sent by a few of them, and by more the longer it is missing.
 * Nodes that are not validators do not know one another and always send.
 */
function shareOf({ peer, ownIndex }: ServeContext): { readonly rank: number; readonly count: number } {
  const direct = bitIndices(peer.direct)
  const rank = ownIndex === undefined ? -1 : direct.indexOf(ownIndex)
  return rank < 0 ? { rank: 0, count: 1 } : { rank, count: direct.length }
}

/** A limit on memory; no peer needs so many sets of one height. */
const MAX_SETS = 64

/** Keys of sets that do not belong to a round. */
export const PARTS = -1
export const LAST_PRECOMMITS = -2

/**
 * The ticks at which the messages of the current height came. A message that is not recorded counts
 * as very old.
 */
export class Arrivals {
  readonly #sets = new Map<number, Uint32Array>()

  clear(): void {
    this.#sets.clear()
  }

  forget(key: number): void {
    this.#sets.delete(key)
  }

  /** @param size of the set */
  record(key: number, index: number, size: number, tick: number): void {
    let set = this.#sets.get(key)
    if (set === undefined) {
      if (this.#sets.size >= MAX_SETS) this.#sets.delete(this.#sets.keys().next().value!)
      set = new Uint32Array(size)
      this.#sets.set(key, set)
    }
    if (index < set.length) set[index] = tick
  }

  tick(key: number, index: number): number {
    return this.#sets.get(key)?.[index] ?? 0
  }
}

/** Returns which parts of the block this node has, by index. */
export function partBits(parts: PartsView): BitSet {
  const indices: number[] = []
  for (let index = 0; index < parts.header.total; index++) if (parts.has(index)) indices.push(index)
  return createBitSet(parts.header.total, indices)
}
