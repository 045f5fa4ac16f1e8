import { decodeCommit, encodeCommit } from '../chain/consensus/commitCodec.ts'
import { decodePart, encodePart, type Part } from '../chain/consensus/partSet.ts'
import type { Commit, Proposal, Vote } from '../chain/consensus/types.ts'
import { decodeProposal, decodeVote, encodeProposal, encodeVote } from '../chain/consensus/voteCodec.ts'
import { concatBytes } from '../primitives/bytes.ts'

/** A message that this node's validator signed. Together they are the signer's memory. */
export type SignedEntry =
  | { readonly kind: 'proposal'; readonly proposal: Proposal }
  | { readonly kind: 'vote'; readonly vote: Vote }

/** What the write-ahead log holds, in the order in which it happened. */
export type WalEntry =
  | SignedEntry
  /** the last signed message before this segment began, so that earlier segments can go */
  | { readonly kind: 'lastSigned'; readonly entry: SignedEntry }
  | { readonly kind: 'part'; readonly height: number; readonly round: number; readonly part: Part }
  /** the precommits that decided a block */
  | { readonly kind: 'commit'; readonly commit: Commit }
  /** everything needed to execute the block of this height is above */
  | { readonly kind: 'endHeight'; readonly height: number }

/**
 * First byte of a payload. 0 and 1 are the log's own (segment header, sync mark); 8 and up are free for what the
 * consensus engine is to remember besides: timeouts, messages of peers.
 */
const KINDS = { lastSigned: 2, proposal: 3, vote: 4, part: 5, commit: 6, endHeight: 7 } as const

export function encodeWalEntry(entry: WalEntry): Uint8Array {
  switch (entry.kind) {
    case 'proposal':
      return tagged(KINDS.proposal, encodeProposal(entry.proposal))
    case 'vote':
      return tagged(KINDS.vote, encodeVote(entry.vote))
    case 'lastSigned':
      return tagged(KINDS.lastSigned, encodeWalEntry(entry.entry))
    case 'part':
      return tagged(KINDS.part, concatBytes(uint48(entry.height), uint48(entry.round), encodePart(entry.part)))
    case 'commit':
      return tagged(KINDS.commit, encodeCommit(entry.commit))
    case 'endHeight':
      return tagged(KINDS.endHeight, uint48(entry.height))
  }
}

/**
 * The entry in a payload whose checksum is right.
 * @throws Error when a newer version wrote it, or it is malformed
 */
export function decodeWalEntry(payload: Uint8Array): WalEntry {
  const body = payload.subarray(1)
  switch (payload[0]) {
    case KINDS.proposal:
      return { kind: 'proposal', proposal: decodeProposal(body) }
    case KINDS.vote:
      return { kind: 'vote', vote: decodeVote(body) }
    case KINDS.lastSigned: {
      const entry = decodeWalEntry(body)
      if (entry.kind !== 'proposal' && entry.kind !== 'vote') throw new Error(`${entry.kind} is not a signed message`)
      return { kind: 'lastSigned', entry }
    }
    case KINDS.part:
      return {
        kind: 'part',
        height: readUint48(body, 0),
        round: readUint48(body, 6),
        part: decodePart(body.subarray(12)),
      }
    case KINDS.commit:
      return { kind: 'commit', commit: decodeCommit(body) }
    case KINDS.endHeight:
      return { kind: 'endHeight', height: readUint48(body, 0) }
    default:
      throw new Error(`unknown kind of record ${payload[0]}`)
  }
}

/** The height that an entry belongs to. */
export function entryHeight(entry: WalEntry): number {
  switch (entry.kind) {
    case 'proposal':
      return entry.proposal.height
    case 'vote':
      return entry.vote.height
    case 'lastSigned':
      return entryHeight(entry.entry)
    case 'commit':
      return entry.commit.height
    case 'part':
    case 'endHeight':
      return entry.height
  }
}

function tagged(kind: number, body: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(kind), body)
}

function uint48(value: number): Uint8Array {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(value, 0, 6)
  return bytes
}

function readUint48(bytes: Uint8Array, offset: number): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readUIntBE(offset, 6)
}
