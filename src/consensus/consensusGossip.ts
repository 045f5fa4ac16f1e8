import { type BlockId, type Proposal, SIGNED_MESSAGE_TYPES, type Validator } from '../chain/comet/types.ts'
import { createProposerLookup, validatorIndexOf } from '../chain/comet/validatorSet.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { addBit, type BitSet, bitDifference, bitIndices, copyBitSet, createBitSet, hasBit } from './bitSet.ts'
import { type Behind, CatchUpPeerSelector, networkHeight } from './catchUp.ts'
import { GossipPeer, PROPOSAL, setKey } from './gossipPeer.ts'
import { Arrivals, LAST_PRECOMMITS, missingMessages, PARTS, partBits } from './gossipServe.ts'
import type { Input } from './inputsAndEffects.ts'
import { type ConsensusMessage, encodeStatus, type LastCommitStatus, type StatusMessage } from './messages.ts'
import { type RoundStateView, STEPS, type VoteSetView } from './roundStateView.ts'
import type { PeerId } from './transport.ts'

/** How often `sweep` is to be called. Gossip counts time in these ticks. */
export const SWEEP_MS = 300

/** Within a height, a status is sent in each sweep after a change, and otherwise in every second sweep. */
const STATUS_TICKS = 2

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

export interface Send {
  readonly to: readonly PeerId[]
  readonly message: ConsensusMessage
}

/** A proposal, part or vote that was new and valid. */
export type AcceptedInput = Extract<Input, { readonly kind: 'proposal' | 'part' | 'vote' }>

interface GossipOptions {
  /**
   * address of this node's validator at the current height, read each time; undefined: not a
   * validator
   */
  readonly ownAddress: Uint8Array | undefined
}

/**
 * Decides which messages are sent to which peers. Own messages are sent to all peers. New messages
 * of others are relayed to the peers that do not get them from their author, so that in a full mesh
 * no message is sent twice. The rest is anti-entropy: nodes announce which messages they have (a
 * status). A message that a peer has lacked for a while is sent to it, repeatedly until its status
 * shows the message. Deterministic; its only clock is the argument of `sweep`.
 */
export class ConsensusGossip {
  readonly #options: GossipOptions
  readonly #peers = new Map<PeerId, GossipPeer>()
  readonly #arrivals = new Arrivals()
  readonly #catchUp = new CatchUpPeerSelector()
  #tick = 0
  #startMs: number | undefined
  #height = 0
  /** when the height was entered */
  #heightTick = 0
  #validators: readonly Validator[] = []
  /** the height since which they have not changed */
  #validatorsSince = 0
  #proposer: (round: number) => Validator = noProposer
  /** the members of `#validators` with which this node exchanges messages directly */
  #direct: BitSet = createBitSet(0)
  /** hash of the block whose parts' arrivals are recorded */
  #partsHash: Uint8Array | undefined
  /** position in the last status that was sent to all peers */
  #announced: { readonly height: number; readonly round: number; readonly step: number } | undefined
  #statusBytes: Uint8Array | undefined
  #statusTick = 0
  /** height at the last sweep */
  #sweptHeight = 0

  constructor(options: GossipOptions) {
    this.#options = options
  }

  /** @param validatorAddress the validator that the peer has proved to be */
  peerJoined(peer: PeerId, validatorAddress: Uint8Array | undefined, view: RoundStateView): readonly Send[] {
    this.#enter(view)
    this.#catchUp.left(peer)
    const joined = new GossipPeer(peer, validatorAddress)
    joined.statusTick = this.#tick
    joined.heardTick = this.#tick
    joined.direct = createBitSet(this.#validators.length)
    this.#peers.set(peer, joined)
    this.#updateDirect()
    return [{ to: [peer], message: statusOf(view, this.#direct) }]
  }

  peerLeft(peer: PeerId): void {
    this.#peers.delete(peer)
    this.#catchUp.left(peer)
    this.#updateDirect()
  }

  /** Records a peer's status. @returns messages that the peer lacks although it should have them by now */
  onStatus(from: PeerId, status: StatusMessage, view: RoundStateView): readonly Send[] {
    this.#enter(view)
    const peer = this.#peers.get(from)
    if (peer === undefined) return []
    peer.receiveStatus(status, this.#tick)
    peer.absorb(view, this.#tick, this.#validatorsSince)
    peer.recordLead(status.height - view.height, this.#tick)
    return [...contradictions(peer, status, view), ...this.#serve(peer, view)]
  }

  /** Relays a new message. Own messages must be passed in the order in which peers need them. */
  onAccepted(input: AcceptedInput, view: RoundStateView): readonly Send[] {
    this.#enter(view)
    this.#recordArrival(input, view)
    const message = toMessage(input)
    const to: PeerId[] = []
    if (input.from === undefined) to.push(...this.#peers.keys())
    else this.#addRelays(to, input, view)
    if (to.length === 0) return []
    const isOwnProposal = input.kind === 'proposal' && input.from === undefined
    return [...(isOwnProposal ? this.#proofOfLock(input.proposal, to, view) : []), { to, message }]
  }

  /** The prevotes that a proposal of this node names. A peer that lacks one of them cannot accept the proposal. */
  #proofOfLock({ polRound, blockId }: Proposal, to: readonly PeerId[], view: RoundStateView): readonly Send[] {
    const prevotes = polRound < 0 ? undefined : view.votes(polRound, prevote)
    if (prevotes === undefined) return []
    return bitIndices(prevotes.bitsFor(blockId)).flatMap((index) => {
      const vote = prevotes.voteFor(index, blockId)
      const lacking = to.filter((id) => this.#peers.get(id)?.has(polRound, prevote, index) !== true)
      return vote === undefined || lacking.length === 0 ? [] : [{ to: lacking, message: { kind: 'vote', vote } }]
    })
  }

  /**
   * Announces a new height or round to all peers at once, and also a step that waits for a quorum. Other steps are announced in the
   * next sweep, if they are not over by then: among 50 validators these announcements would be most of the traffic.
   */
  onEntered(view: RoundStateView): readonly Send[] {
    this.#enter(view)
    const { height, round, step } = view
    const announced = this.#announced
    const waits = step === STEPS.prevoteWait || step === STEPS.precommitWait
    if (announced?.height === height && announced.round === round && (!waits || announced.step === step)) return []
    return this.#announce(view, true)
  }

  /** Records that a peer has the message that it sent. For status messages call `onStatus`. */
  onMessage(from: PeerId, message: ConsensusMessage, view: RoundStateView): void {
    this.#enter(view)
    this.#peers.get(from)?.remember(message, view, this.#tick)
  }

  /**
   * Messages that are due because time has passed. To be called every {@link SWEEP_MS}.
   * @param nowMs milliseconds, monotonic
   */
  sweep(nowMs: number, view: RoundStateView): readonly Send[] {
    this.#enter(view)
    this.#startMs ??= nowMs - SWEEP_MS
    const tick = Math.floor((nowMs - this.#startMs) / SWEEP_MS)
    if (tick <= this.#tick) return []
    this.#tick = tick
    this.#updateDirect()
    const sends: Send[] = []
    if (this.#sweptHeight === view.height) {
      sends.push(...this.#announce(view, tick - this.#statusTick >= STATUS_TICKS))
    }
    this.#sweptHeight = view.height
    for (const peer of this.#peers.values()) {
      peer.refill()
      for (const send of this.#serve(peer, view)) sends.push(send)
    }
    return sends
  }

  /**
   * Returns the peer to ask for the block of the current height; undefined when no peer has decided
   * it, or all that have are excluded after failures. The answer stays the same until the height is
   * decided, or the peer fails, leaves or takes too long.
   */
  behind(view: RoundStateView): Behind | undefined {
    this.#enter(view)
    const id = this.#catchUp.choose(this.#peers.values(), view, this.#tick)
    const status = id === undefined ? undefined : this.#peers.get(id)?.status
    if (id === undefined || status === undefined) return undefined
    return { peer: id, height: status.height, networkHeight: networkHeight(this.#peers.values(), view) }
  }

  /** A peer did not send the decided block of `height`, or sent a wrong one: for a while, other peers are asked. */
  fetchFailed(peer: PeerId, height: number): void {
    this.#catchUp.failed(peer, height, this.#tick)
  }

  #serve(peer: GossipPeer, view: RoundStateView): Send[] {
    const { ownAddress } = this.#options
    const own = ownAddress === undefined ? -1 : validatorIndexOf(view.validators, ownAddress)
    const messages = missingMessages({
      view,
      peer,
      tick: this.#tick,
      heightTick: this.#heightTick,
      arrivals: this.#arrivals,
      ownIndex: own < 0 ? undefined : own,
    })
    return messages.map((message) => ({ to: [peer.id], message }))
  }

  #announce(view: RoundStateView, always: boolean): Send[] {
    const { height, round, step } = view
    const status = statusOf(view, this.#direct)
    const bytes = encodeStatus(status)
    const isNew = this.#statusBytes === undefined || !equalBytes(bytes, this.#statusBytes)
    if (!isNew && !always) return []
    this.#announced = { height, round, step }
    this.#statusBytes = bytes
    this.#statusTick = this.#tick
    return this.#peers.size === 0 ? [] : [{ to: [...this.#peers.keys()], message: status }]
  }

  /** Adds the peers that need an accepted message and do not get it from its author. */
  #addRelays(to: PeerId[], input: AcceptedInput, view: RoundStateView): void {
    // A validator can sign votes for any number of rounds. Relaying them would use up this node's
    // allowance per second, and its own votes would wait behind them. Peers that have reached a
    // round relay its votes.
    if (input.kind === 'vote' && input.vote.height === view.height && input.vote.round > view.round + 1) return
    const author = this.#authorOf(input, view)
    const height = inputHeight(input)
    const isContested = isOfContestedRound(input, view)
    const isPrecommit = input.kind === 'vote' && input.vote.type === precommit
    for (const peer of this.#peers.values()) {
      if (peer.id === input.from || peer.status === undefined) continue
      if (isContested ? isValidator(peer, view, author) : peer.isDirect(author)) continue
      const lead = peer.status.height - height
      if (lead > (isPrecommit ? 1 : 0) || lead < -1 || this.#hasAlready(peer, input, view)) continue
      to.push(peer.id)
    }
  }

  /**
   * Returns the index of the current height's validator that wrote a message; −1: not a validator
   * of this height.
   */
  #authorOf(input: AcceptedInput, view: RoundStateView): number {
    if (input.kind === 'vote') {
      const { height, validatorIndex, validatorAddress } = input.vote
      return height === view.height ? validatorIndex : validatorIndexOf(view.validators, validatorAddress)
    }
    // The round in a part is only the peer's claim. Parts that come now are from the proposer of this node's round.
    return validatorIndexOf(view.validators, this.#proposer(view.round).address)
  }

  #hasAlready(peer: GossipPeer, input: AcceptedInput, view: RoundStateView): boolean {
    switch (input.kind) {
      case 'proposal':
        return peer.has(input.proposal.round, PROPOSAL, 0)
      case 'part':
        return view.parts !== undefined && peer.partsDelivery(view.parts.header, this.#tick).has(input.part.index)
      case 'vote': {
        const { height, round, type, validatorIndex } = input.vote
        if (height === view.height) return peer.has(round, type, validatorIndex)
        return peer.lastDelivery(view.lastPrecommits?.bits().size ?? 0, this.#tick).has(validatorIndex)
      }
    }
  }

  #recordArrival(input: AcceptedInput, view: RoundStateView): void {
    const tick = this.#tick
    if (input.kind === 'proposal') {
      this.#arrivals.record(setKey(input.proposal.round, PROPOSAL), 0, 1, tick)
    } else if (input.kind === 'part') {
      if (view.parts === undefined) return
      const { hash, total } = view.parts.header
      if (this.#partsHash === undefined || !equalBytes(hash, this.#partsHash)) this.#arrivals.forget(PARTS)
      this.#partsHash = hash
      this.#arrivals.record(PARTS, input.part.index, total, tick)
    } else {
      const { height, round, type, validatorIndex } = input.vote
      const key = height === view.height ? setKey(round, type) : LAST_PRECOMMITS
      const size = height === view.height ? this.#validators.length : (view.lastPrecommits?.bits().size ?? 0)
      this.#arrivals.record(key, validatorIndex, size, tick)
    }
  }

  /** Enters the height in `view` if it is new. */
  #enter(view: RoundStateView): void {
    if (view.height === this.#height) return
    const isNext = view.height === this.#height + 1
    this.#arrivals.clear()
    this.#partsHash = undefined
    this.#changeValidators(view)
    this.#height = view.height
    this.#heightTick = this.#tick
    this.#proposer = createProposerLookup(view.validators)
    this.#catchUp.entered(view.height, this.#tick)
    for (const peer of this.#peers.values()) {
      peer.enterHeight(view.height, isNext ? view.lastPrecommits?.round : undefined)
      peer.absorb(view, this.#tick, this.#validatorsSince)
    }
  }

  /** A new validator set has other indices: converts the peers' sets of direct validators to them. */
  #changeValidators(view: RoundStateView): void {
    const before = this.#validators
    const { validators } = view.validators
    this.#validators = validators
    const isSame =
      before === validators ||
      (before.length === validators.length &&
        before.every(({ address }, index) => equalBytes(address, validators[index]!.address)))
    if (isSame) return
    this.#validatorsSince = view.height
    const newIndices = before.map(({ address }) => validatorIndexOf(view.validators, address))
    for (const peer of this.#peers.values()) {
      const direct = createBitSet(validators.length)
      for (const [index, newIndex] of newIndices.entries()) {
        if (newIndex >= 0 && hasBit(peer.direct, index)) addBit(direct, newIndex)
      }
      peer.direct = direct
    }
    this.#updateDirect()
  }

  #updateDirect(): void {
    const direct = createBitSet(this.#validators.length)
    const addresses = [this.#options.ownAddress]
    for (const peer of this.#peers.values()) if (peer.isHeard(this.#tick)) addresses.push(peer.validatorAddress)
    for (const address of addresses) {
      const index = address === undefined ? -1 : validatorIndexOf({ validators: this.#validators }, address)
      if (index >= 0) addBit(direct, index)
    }
    this.#direct = direct
  }
}

/**
 * A validator may send one vote to some nodes and another one to others, and in a full mesh no peer relays either. So a peer that has another
 * vote than that for the decided block is sent this one, once: together they are evidence.
 */
function contradictions(peer: GossipPeer, { height, lastCommit }: StatusMessage, view: RoundStateView): Send[] {
  const { lastPrecommits, lastPrevotes } = view
  const decided = lastPrecommits?.majority()
  if (height !== view.height || decided === undefined || lastCommit?.round !== lastPrecommits?.round) return []
  const sends: Send[] = []
  const others = [
    [lastPrevotes, lastCommit!.otherPrevotes],
    [lastPrecommits, lastCommit!.otherPrecommits],
  ] as const
  for (const [votes, bits] of others) {
    if (votes === undefined || bits.size !== votes.bits().size) continue
    for (const index of bitIndices(bits)) {
      const vote = votes.voteFor(index, decided)
      if (vote === undefined || !peer.startContradiction(votes.type, index)) continue
      sends.push({ to: [peer.id], message: { kind: 'vote', vote } })
    }
  }
  return sends
}

/** Whether a peer is the validator with this index. */
function isValidator({ validatorAddress }: GossipPeer, { validators }: RoundStateView, index: number): boolean {
  const address = validators.validators[index]?.address
  return address !== undefined && validatorAddress !== undefined && equalBytes(address, validatorAddress)
}

/**
 * Whether a vote may make a majority that a faulty validator hides: it sends its vote to one node alone, which then locks the block. So nodes
 * relay such votes at once, also to peers that should get them from their authors.
 */
function isOfContestedRound(input: AcceptedInput, view: RoundStateView): boolean {
  if (input.kind !== 'vote' || !view.isContested) return false
  return input.vote.height === view.height && input.vote.round === view.round
}

function noProposer(): never {
  throw new Error('gossip has not been shown a height')
}

function toMessage(input: AcceptedInput): ConsensusMessage {
  switch (input.kind) {
    case 'proposal':
      return { kind: 'proposal', proposal: input.proposal }
    case 'part':
      return { kind: 'part', height: input.height, round: input.round, part: input.part }
    case 'vote':
      return { kind: 'vote', vote: input.vote }
  }
}

function inputHeight(input: AcceptedInput): number {
  switch (input.kind) {
    case 'proposal':
      return input.proposal.height
    case 'part':
      return input.height
    case 'vote':
      return input.vote.height
  }
}

/**
 * Returns the status of the node whose state this is, as of now. `directValidators`: see
 * {@link StatusMessage}.
 */
function statusOf(view: RoundStateView, directValidators: BitSet): StatusMessage {
  const { height, round, step, proposal, parts, lastPrecommits: last } = view
  const size = view.validators.validators.length
  const bits = (ofRound: number, type: typeof prevote | typeof precommit): BitSet => {
    const votes = view.votes(ofRound, type)
    return votes === undefined ? createBitSet(size) : copyBitSet(votes.bits())
  }
  const pol = proposal === undefined || proposal.polRound < 0 ? undefined : proposal
  return {
    kind: 'status',
    height,
    round,
    step,
    hasProposal: proposal !== undefined,
    parts: parts === undefined ? undefined : { ...parts.header, have: partBits(parts) },
    prevotes: bits(round, prevote),
    precommits: bits(round, precommit),
    pol: pol && { round: pol.polRound, prevotes: prevotesFor(view, pol.polRound, pol.blockId) },
    lastCommit: last && lastCommitStatus(last, view.lastPrevotes),
    directValidators: copyBitSet(directValidators),
  }
}

function lastCommitStatus(last: VoteSetView, lastPrevotes: VoteSetView | undefined): LastCommitStatus {
  const precommits = copyBitSet(last.bits())
  const decided = last.majority()
  const others = (votes: VoteSetView | undefined): BitSet =>
    votes === undefined || decided === undefined
      ? createBitSet(precommits.size)
      : createBitSet(precommits.size, bitDifference(votes.bits(), votes.bitsFor(decided)))
  return { round: last.round, precommits, otherPrevotes: others(lastPrevotes), otherPrecommits: others(last) }
}

/** Only the prevotes for the block of the proof of lock, because a faulty validator may have sent another prevote to other nodes. */
function prevotesFor(view: RoundStateView, round: number, blockId: BlockId): BitSet {
  const votes = view.votes(round, prevote)
  return votes === undefined ? createBitSet(view.validators.validators.length) : copyBitSet(votes.bitsFor(blockId))
}
