import { decodeCommit, encodeCommit } from '../chain/comet/commit.ts'
import { decodePart, encodePart, type Part } from '../chain/comet/partSet.ts'
import type { Commit, Proposal, UnsignedProposal, UnsignedVote, Vote } from '../chain/comet/types.ts'
import { decodeProposal, decodeVote, encodeProposal, encodeVote } from '../chain/comet/vote.ts'
import { concatBytes } from '../primitives/bytes.ts'
import type { Timeout } from './inputsAndEffects.ts'

/** A message that this node's validator signed. */
export type SignedEntry =
  | { readonly kind: 'proposal'; readonly proposal: Proposal }
  | { readonly kind: 'vote'; readonly vote: Vote }

/** A message that a remote signer was asked to sign. Its signature, if it comes, is a {@link SignedEntry} after it. */
export interface AskedEntry {
  readonly kind: 'asked'
  readonly request:
    | { readonly kind: 'proposal'; readonly proposal: UnsignedProposal }
    | { readonly kind: 'vote'; readonly vote: UnsignedVote }
  /** the key of its connection, 32 bytes; empty: the connection has no key */
  readonly signer: Uint8Array
}

/** The signer's memory. */
export type SignerEntry = SignedEntry | AskedEntry

/** Messages of others, expired timers and answers. With them a restart restores the same state, locks included. */
type ObservedEntry =
  /** from a peer; `receivedMs`: wall clock at its arrival, for PBTS */
  | { readonly kind: 'receivedProposal'; readonly proposal: Proposal; readonly receivedMs: number }
  | { readonly kind: 'receivedVote'; readonly vote: Vote }
  | { readonly kind: 'timeout'; readonly timeout: Timeout }
  /** the application's answer about a block; `reason` undefined: accepted */
  | {
      readonly kind: 'validated'
      readonly height: number
      readonly blockHash: Uint8Array
      readonly reason: string | undefined
    }

/** The entries of the write-ahead log. */
export type WalEntry =
  | SignerEntry
  | ObservedEntry
  /** the newest of the signer's entries before this segment, so that earlier segments can be dropped */
  | { readonly kind: 'lastSigned'; readonly entry: SignerEntry }
  /** of an own or a peer's block */
  | { readonly kind: 'part'; readonly height: number; readonly round: number; readonly part: Part }
  /** the precommits that decided a block */
  | { readonly kind: 'commit'; readonly commit: Commit }
  /** everything needed to execute the block of this height is before this entry */
  | { readonly kind: 'endHeight'; readonly height: number }

/** First byte of a payload. 0 and 1 are the log's own (segment header, sync mark). */
const KINDS = {
  lastSigned: 2,
  proposal: 3,
  vote: 4,
  part: 5,
  commit: 6,
  endHeight: 7,
  receivedProposal: 8,
  receivedVote: 9,
  timeout: 10,
  validated: 11,
  asked: 12,
} as const

/** In place of the signature that a remote signer was asked for. */
const NO_SIGNATURE = new Uint8Array(64)

/** Steps by the number that encodes them. */
const TIMEOUT_STEPS: readonly Timeout['step'][] = ['newHeight', 'propose', 'prevote', 'precommit']

const HASH_LENGTH = 32

export function encodeWalEntry(entry: WalEntry): Uint8Array {
  switch (entry.kind) {
    case 'proposal':
      return tagged(KINDS.proposal, encodeProposal(entry.proposal))
    case 'vote':
      return tagged(KINDS.vote, encodeVote(entry.vote))
    case 'asked': {
      const message = encodeWalEntry(withoutSignature(entry.request))
      return tagged(KINDS.asked, concatBytes(Uint8Array.of(entry.signer.length), entry.signer, message))
    }
    case 'lastSigned':
      return tagged(KINDS.lastSigned, encodeWalEntry(entry.entry))
    case 'part':
      return tagged(KINDS.part, concatBytes(uint48(entry.height), uint48(entry.round), encodePart(entry.part)))
    case 'commit':
      return tagged(KINDS.commit, encodeCommit(entry.commit))
    case 'endHeight':
      return tagged(KINDS.endHeight, uint48(entry.height))
    case 'receivedProposal':
      return tagged(KINDS.receivedProposal, concatBytes(uint48(entry.receivedMs), encodeProposal(entry.proposal)))
    case 'receivedVote':
      return tagged(KINDS.receivedVote, encodeVote(entry.vote))
    case 'timeout': {
      const { height, round, step } = entry.timeout
      const code = Uint8Array.of(TIMEOUT_STEPS.indexOf(step))
      return tagged(KINDS.timeout, concatBytes(uint48(height), uint48(round), code))
    }
    case 'validated': {
      const reason = entry.reason === undefined ? [] : [Uint8Array.of(1), Buffer.from(entry.reason)]
      return tagged(KINDS.validated, concatBytes(uint48(entry.height), entry.blockHash, ...reason))
    }
  }
}

/**
 * Returns the entry in a payload whose checksum is right.
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
      if (!isSignerEntry(entry)) throw new Error(`${entry.kind} is not a signed message`)
      return { kind: 'lastSigned', entry }
    }
    case KINDS.asked: {
      const end = 1 + body[0]!
      const request = decodeWalEntry(body.subarray(end))
      if (request.kind !== 'proposal' && request.kind !== 'vote') throw new Error(`${request.kind} cannot be signed`)
      return { kind: 'asked', request: unsigned(request), signer: body.slice(1, end) }
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
    case KINDS.receivedProposal:
      return {
        kind: 'receivedProposal',
        proposal: decodeProposal(body.subarray(6)),
        receivedMs: readUint48(body, 0),
      }
    case KINDS.receivedVote:
      return { kind: 'receivedVote', vote: decodeVote(body) }
    case KINDS.timeout: {
      const step = TIMEOUT_STEPS[body[12]!]
      if (step === undefined) throw new Error(`unknown timeout ${body[12]}`)
      return { kind: 'timeout', timeout: { height: readUint48(body, 0), round: readUint48(body, 6), step } }
    }
    case KINDS.validated: {
      const end = 6 + HASH_LENGTH
      if (body.length < end) throw new Error(`a verdict on a block has ${body.length} bytes`)
      return {
        kind: 'validated',
        height: readUint48(body, 0),
        blockHash: body.slice(6, end),
        reason: body.length === end ? undefined : Buffer.from(body.subarray(end + 1)).toString(),
      }
    }
    default:
      throw new Error(`unknown kind of record ${payload[0]}`)
  }
}

/** Returns the height that an entry belongs to. */
export function entryHeight(entry: WalEntry): number {
  switch (entry.kind) {
    case 'proposal':
    case 'receivedProposal':
      return entry.proposal.height
    case 'vote':
    case 'receivedVote':
      return entry.vote.height
    case 'timeout':
      return entry.timeout.height
    case 'lastSigned':
      return entryHeight(entry.entry)
    case 'asked':
      return entry.request.kind === 'proposal' ? entry.request.proposal.height : entry.request.vote.height
    case 'commit':
      return entry.commit.height
    case 'part':
    case 'endHeight':
    case 'validated':
      return entry.height
  }
}

/** Whether the signer has to remember the entry. */
export function isSignerEntry(entry: WalEntry): entry is SignerEntry {
  return entry.kind === 'proposal' || entry.kind === 'vote' || entry.kind === 'asked'
}

function withoutSignature(request: AskedEntry['request']): SignedEntry {
  return request.kind === 'proposal'
    ? { kind: 'proposal', proposal: { ...request.proposal, signature: NO_SIGNATURE } }
    : { kind: 'vote', vote: { ...request.vote, signature: NO_SIGNATURE } }
}

function unsigned(entry: SignedEntry): AskedEntry['request'] {
  if (entry.kind === 'proposal') {
    const { signature: _, ...proposal } = entry.proposal
    return { kind: 'proposal', proposal }
  }
  const { signature: _, ...vote } = entry.vote
  return { kind: 'vote', vote }
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
