import type { Evidence } from '../chain/comet/types.ts'
import type { ConsensusMessage } from './messages.ts'

/** A peer's identifier, which consensus does not interpret (the node ID in production). */
export type PeerId = string

/**
 * Misbehaviour of a peer, which no honest peer shows. It is detected by the reducer
 * (reducerMessages.ts: consensus messages) and by block sync (sync/blocks/blockSync.ts,
 * sync/blocks/blockBuffer.ts: blocks and heights), and reported to {@link Transport.punish}. The
 * consequences for the peer are in p2p/misbehaviour.ts.
 * - `bad signature`: a proposal, vote or commit that its validator did not sign
 * - `malformed`: a message or answer that cannot be correct for any chain
 * - `invalid block`: a block that is not the decided one, in place of a decided block
 * - `false height`: the peer does not have the blocks that it claimed to have
 * - `unresponsive`: a request timed out, for blocks not the first in a row; reported for each
 */
export type Misbehaviour = 'bad signature' | 'malformed' | 'invalid block' | 'false height' | 'unresponsive'

/** A connected peer with the same genesis. */
export interface PeerDescription {
  readonly id: PeerId
  /** consensus address of the validator that the peer has proved to be; undefined: it is not a validator */
  readonly validatorAddress: Uint8Array | undefined
  /** lowest block that it claims to serve */
  readonly base: number
  /** height of its newest block when it connected, as it claims */
  readonly height: number
}

/** A block as a peer serves it, still encoded and not verified. */
export interface FetchedBlock {
  /** protobuf of tendermint.types.Block */
  readonly block: Uint8Array
  /** protobuf of the tendermint.types.Commit that decided it */
  readonly commit: Uint8Array
}

/** A peer's answer to a request for blocks, and the range of blocks that it has now. */
export interface FetchedBlocks {
  /** lowest block that it serves */
  readonly base: number
  /** of its newest block; 0 before the first */
  readonly height: number
  /** in order from the first requested one, without gaps; empty when the peer does not have that one */
  readonly blocks: readonly FetchedBlock[]
}

export interface BlockRequest {
  readonly from: number
  /** 0 asks only for the range of blocks that the peer has */
  readonly count: number
  /** the answer ends with the first block that exceeds it */
  readonly maxBytes: number
}

/** Events from peers. */
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
  /** Rejects when the peer is gone or does not answer in time. That it does not have the block is an answer, not an error. */
  fetchBlocks(peer: PeerId, request: BlockRequest): Promise<FetchedBlocks>
  /**
   * Punishes a peer that misbehaved: it is disconnected and banned for a while. An `unresponsive`
   * peer is only disconnected, if that happens often.
   */
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
}
