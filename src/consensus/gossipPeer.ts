import type { PartSetHeader, VoteType } from '../chain/comet/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { addBit, type BitSet, bitDifference, copyBitSet, countBits, createBitSet, hasBit } from './bitSet.ts'

import type { ConsensusMessage, StatusMessage } from './messages.ts'
import type { RoundStateView } from './roundStateView.ts'
import type { PeerId } from './transport.ts'

/** The deliveries of one round, by number: the votes by their type (1 and 2), the proposal, */
export const PROPOSAL = 0
/** and the prevotes of a proof of lock: those of an earlier round for the block of a proposal. */
export const PROOF_OF_LOCK = 3

type DeliveryKind = typeof PROPOSAL | VoteType | typeof PROOF_OF_LOCK

/** Returns the key of the messages of one kind and round. */
export function setKey(round: number, kind: number): number {
  return round * 4 + kind
}

/** At most three rounds matter at a time (the peer's, this node's and that of a proof of lock); the rest is room for past rounds. */
const MAX_DELIVERIES = 24

/** The most messages that are sent to one peer again within one tick. New messages do not count. */
const MESSAGES_PER_TICK = 256
const BYTES_PER_TICK = 512 * 1024

/** More than a vote has. */
const CONTRADICTION_BYTES = 256

/** A peer that sent nothing for this long is considered dead. */
const DEAD_TICKS = 5

/** A peer that is one height ahead counts as ahead only after this time, because usually the votes come a moment later. */
const LEAD_TICKS = 2

/** A peer without a status for this long may have been unreachable. */
const SILENCE_TICKS = 8

/** Gossip's knowledge about one peer. Its memory is bounded, whatever the peer sends. */
export class GossipPeer {
  readonly id: PeerId
  /** the validator that the peer has proved to be */
  readonly validatorAddress: Uint8Array | undefined
  status: StatusMessage | undefined
  /** when its last status came */
  statusTick = 0
  /** when it last sent any message, or joined */
  heardTick = 0
  /** since when it has been ahead of us; undefined: it is not ahead */
  #aheadTick: number | undefined
  /** validators of the current set with which the peer exchanges messages directly */
  direct: BitSet = createBitSet(0)
  readonly #deliveries = new Map<number, Delivery>()
  #parts: { readonly hash: Uint8Array; readonly delivery: Delivery } | undefined
  /** precommits of the height before */
  #last: Delivery | undefined
  /** votes of the height before that were sent because they contradict one of the peer's */
  readonly #contradicted = new Set<number>()
  #messagesLeft = MESSAGES_PER_TICK
  #bytesLeft = BYTES_PER_TICK

  constructor(id: PeerId, validatorAddress: Uint8Array | undefined) {
    this.id = id
    this.validatorAddress = validatorAddress
  }

  /**
   * Called when a new height begins. `lastRound`: the round of the previous height's commit;
   * undefined when heights were skipped.
   */
  enterHeight(height: number, lastRound: number | undefined): void {
    this.#last = lastRound === undefined ? undefined : this.#deliveries.get(setKey(lastRound, 2))
    this.#deliveries.clear()
    this.#contradicted.clear()
    this.#parts = undefined
    if (this.status !== undefined && this.status.height <= height) this.#aheadTick = undefined
  }

  /** Returns the delivery of the messages of one kind and round. `size`: how many there can be. */
  delivery(round: number, kind: DeliveryKind, size: number, tick: number): Delivery {
    const key = setKey(round, kind)
    let delivery = this.#deliveries.get(key)
    if (delivery?.size !== size) {
      if (this.#deliveries.size >= MAX_DELIVERIES) this.#deliveries.delete(this.#deliveries.keys().next().value!)
      delivery = new Delivery(size, tick)
      this.#deliveries.set(key, delivery)
    }
    return delivery
  }

  /** Whether the peer is known to have this message. Does not create a delivery. */
  has(round: number, kind: DeliveryKind, index: number): boolean {
    return this.#deliveries.get(setKey(round, kind))?.has(index) ?? false
  }

  /** Returns the delivery of the parts of the block that this node collects. */
  partsDelivery({ hash, total }: PartSetHeader, tick: number): Delivery {
    if (this.#parts === undefined || this.#parts.delivery.size !== total || !equalBytes(this.#parts.hash, hash)) {
      this.#parts = { hash, delivery: new Delivery(total, tick) }
      this.#absorbParts()
    }
    return this.#parts.delivery
  }

  #absorbParts(): void {
    const parts = this.status?.parts
    if (parts !== undefined && this.#parts !== undefined && equalBytes(parts.hash, this.#parts.hash)) {
      this.#parts.delivery.replace(parts.have)
    }
  }

  /** Returns the delivery of the precommits of the height before. */
  lastDelivery(size: number, tick: number): Delivery {
    if (this.#last?.size !== size) this.#last = new Delivery(size, tick)
    return this.#last
  }

  /** Whether this vote of the height before may be sent now because it contradicts one of the peer's: once, within its limits. */
  startContradiction(type: VoteType, index: number): boolean {
    const key = index * 4 + type
    if (this.#contradicted.has(key) || !this.spend(CONTRADICTION_BYTES)) return false
    this.#contradicted.add(key)
    return true
  }

  /** Whether messages still come from the peer: it may take long until a dead connection is closed. */
  isHeard(tick: number): boolean {
    return tick - this.heardTick < DEAD_TICKS
  }

  receiveStatus(status: StatusMessage, tick: number): void {
    this.heardTick = tick
    this.status = status
    if (tick - this.statusTick >= SILENCE_TICKS) this.#resetWaits(tick)
    this.statusTick = tick
  }

  /** @param heights by which the peer is ahead of this node; 0 or less: it is not ahead */
  recordLead(heights: number, tick: number): void {
    if (heights < 1) this.#aheadTick = undefined
    else if (heights === 1) this.#aheadTick ??= tick
    else this.#aheadTick = Number.NEGATIVE_INFINITY
  }

  /** Whether the peer is really ahead: for some ticks, or by two heights at some time. Otherwise the votes may still arrive. */
  isAhead(tick: number): boolean {
    return this.#aheadTick !== undefined && tick - this.#aheadTick >= LEAD_TICKS
  }

  /**
   * Applies the parts of its status about the height in `view` or the previous one.
   * @param sameValidatorsSince the height since which the validators are those of `view`
   */
  absorb(view: RoundStateView, tick: number, sameValidatorsSince: number): void {
    const { status } = this
    if (status === undefined) return
    const size = view.validators.validators.length
    const { height, round, prevotes, precommits, directValidators, lastCommit, pol } = status
    if (height >= sameValidatorsSince && height <= view.height && directValidators.size === size) {
      this.direct = directValidators
    }
    const last = view.lastPrecommits
    if (height === view.height - 1 && round === last?.round)
      this.lastDelivery(last.bits().size, tick).replace(precommits)
    if (height !== view.height) return
    if (last !== undefined && lastCommit?.round === last.round) {
      this.lastDelivery(last.bits().size, tick).replace(lastCommit.precommits)
    }
    if (prevotes.size !== size) return
    if (status.hasProposal) this.delivery(round, PROPOSAL, 1, tick).add(0)
    this.delivery(round, 1, size, tick).replace(prevotes)
    this.delivery(round, 2, size, tick).replace(precommits)
    if (pol !== undefined) this.delivery(pol.round, PROOF_OF_LOCK, size, tick).replace(pol.prevotes)
    this.#absorbParts()
  }

  #resetWaits(tick: number): void {
    for (const delivery of this.#deliveries.values()) delivery.resetWaits(tick)
    this.#parts?.delivery.resetWaits(tick)
    this.#last?.resetWaits(tick)
  }

  /** Remembers that the peer has the message that it sent. */
  remember(message: ConsensusMessage, view: RoundStateView, tick: number): void {
    this.heardTick = tick
    const size = view.validators.validators.length
    if (message.kind === 'proposal') {
      const { height, round } = message.proposal
      if (height === view.height && round === view.round) this.delivery(round, PROPOSAL, 1, tick).add(0)
    } else if (message.kind === 'part') {
      if (message.height === view.height && view.parts !== undefined) {
        this.partsDelivery(view.parts.header, tick).add(message.part.index)
      }
    } else if (message.kind === 'vote') {
      const { height, round, type, validatorIndex } = message.vote
      // A peer that invents rounds must not displace the ones that matter.
      if (height === view.height && (round <= view.round + 1 || round === this.status?.round)) {
        this.delivery(round, type, size, tick).add(validatorIndex)
      } else if (height === view.height - 1 && type === 2 && round === view.lastPrecommits?.round) {
        this.lastDelivery(view.lastPrecommits.bits().size, tick).add(validatorIndex)
      }
    }
  }

  /** Whether the peer gets the messages of this validator from the validator itself. */
  isDirect(index: number): boolean {
    return hasBit(this.direct, index)
  }

  refill(): void {
    this.#messagesLeft = MESSAGES_PER_TICK
    this.#bytesLeft = BYTES_PER_TICK
  }

  /** Counts a message to the peer. @returns false when it exceeds the limit of this tick */
  spend(bytes: number): boolean {
    if (this.#messagesLeft < 1 || this.#bytesLeft < bytes) return false
    this.#messagesLeft--
    this.#bytesLeft -= bytes
    return true
  }
}

/** Within this time a peer's status shows that a message has arrived. */
const RESEND_TICKS = 2

/** The longest wait before a message is sent again. */
const MAX_RETRY_TICKS = 16

/**
 * Records which messages of a numbered set (the votes of a round and type, the parts of a block) one peer has, and which were sent to
 * it. A sent message is sent again, after longer and longer waits, until the peer shows that it has it.
 */
export class Delivery {
  readonly size: number
  /** the tick since which they could be sent to the peer */
  #sinceTick: number
  #have: BitSet
  readonly #sent: BitSet
  /** the largest number that the peer ever had */
  #most = 0
  #failures = 0
  #sentTick = 0
  #retryTick = 0

  constructor(size: number, tick: number) {
    this.size = size
    this.#sinceTick = tick
    this.#have = createBitSet(size)
    this.#sent = createBitSet(size)
  }

  has(index: number): boolean {
    return hasBit(this.#have, index)
  }

  /** Called when the peer sent this message, so it has it. */
  add(index: number): void {
    if (index >= 0 && index < this.size) addBit(this.#have, index)
  }

  /**
   * Called when the peer announces which it has. A set of another size is about other messages and
   * ignored.
   */
  replace(have: BitSet): void {
    if (have.size !== this.size) return
    this.#have = copyBitSet(have)
    const count = countBits(have)
    if (count <= this.#most) return
    this.#most = count
    this.#failures = 0
    this.#retryTick = this.#sentTick + RESEND_TICKS
  }

  get sinceTick(): number {
    return this.#sinceTick
  }

  /** Starts again with short waits, because the peer was unreachable until now. */
  resetWaits(tick: number): void {
    this.#sinceTick = tick
    this.#failures = 0
    this.#retryTick = 0
  }

  /**
   * Returns which of `ours` to send now, ascending: those that the peer lacks and that were not
   * sent yet, if `isMine` accepts them (several nodes share the work); and those that were sent
   * before without effect, when their wait is over.
   */
  due(ours: BitSet, tick: number, isMine: (index: number) => boolean): number[] {
    const retries = tick >= this.#retryTick
    return bitDifference(ours, this.#have).filter((index) => (hasBit(this.#sent, index) ? retries : isMine(index)))
  }

  markSent(index: number, tick: number): void {
    this.#sentTick = tick
    if (!hasBit(this.#sent, index)) {
      addBit(this.#sent, index)
      if (this.#retryTick <= tick) this.#retryTick = tick + RESEND_TICKS
      return
    }
    if (this.#retryTick > tick) return
    this.#failures++
    this.#retryTick = tick + Math.min(RESEND_TICKS + this.#failures, MAX_RETRY_TICKS)
  }
}
