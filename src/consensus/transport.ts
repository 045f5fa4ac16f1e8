import type { Evidence } from '../chain/consensus/types.ts'
import type { ConsensusMessage } from './messages.ts'

/** A peer as consensus knows it: an opaque name (the node ID in production). */
export type PeerId = string

/**
 * What a peer did that no honest peer does. Found by the reducer (reducerMessages.ts: messages of consensus) and by block sync
 * (sync/blockSync.ts, sync/blockBuffer.ts: blocks and heights), reported to {@link Transport.punish}. What follows for the peer:
 * p2p/misbehaviour.ts.
 * - `bad signature`: a proposal, vote or commit that its validator did not sign
 * - `malformed`: a message or answer that cannot be right, whatever the chain holds
 * - `invalid block`: a block that is not the decided one, in place of a decided block
 * - `false height`: it does not have the blocks that it claimed to have
 * - `unresponsive`: several requests for blocks in a row ran out
 */
export type Misbehaviour = 'bad signature' | 'malformed' | 'invalid block' | 'false height' | 'unresponsive'

/** A connected peer that has shown the same genesis. */
export interface PeerDescription {
  readonly id: PeerId
  /** consensus address of the validator that the peer has proved to be; undefined: it is none */
  readonly validatorAddress: Uint8Array | undefined
  /** lowest block that it says it serves */
  readonly base: number
  /** of its newest block when it connected, as it says */
  readonly height: number
}

/** A block as a peer serves it, still encoded and not verified. */
export interface FetchedBlock {
  /** protobuf of tendermint.types.Block */
  readonly block: Uint8Array
  /** protobuf of the tendermint.types.Commit that decided it */
  readonly commit: Uint8Array
}

/** A peer's answer to a request for blocks, and where it stands now. */
export interface FetchedBlocks {
  /** lowest block that it serves */
  readonly base: number
  /** of its newest block; 0 before the first */
  readonly height: number
  /** from the first one asked for, in order, without gaps; empty when it does not have that one */
  readonly blocks: readonly FetchedBlock[]
}

export interface BlockRequest {
  readonly from: number
  /** 0 asks where the peer stands and for nothing else */
  readonly count: number
  /** the answer ends with the block that goes over it */
  readonly maxBytes: number
}

/** What peers cause. */
export interface TransportEvents {
  peerJoined(peer: PeerDescription): void
  peerLeft(peer: PeerId): void
  message(from: PeerId, message: ConsensusMessage): void
  /** Decoded, not verified. The answer: `accept` passes it on to other peers, `reject` counts against the sender. */
  evidence(from: PeerId, evidence: Evidence): Promise<'accept' | 'ignore' | 'reject'>
}

/** The network as consensus and block sync use it. Nothing is guaranteed to arrive. */
export interface Transport {
  listen(events: TransportEvents): void
  send(to: readonly PeerId[], message: ConsensusMessage): void
  publishEvidence(evidence: Evidence): void
  /** @throws Error (rejects) when the peer is gone or does not answer in time; a block it does not have is an answer */
  fetchBlocks(peer: PeerId, request: BlockRequest): Promise<FetchedBlocks>
  /** A peer misbehaved: it is disconnected and banned for a while. An `unresponsive` one is disconnected when that happens often. */
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
}
