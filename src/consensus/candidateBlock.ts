import { type ConsensusBlock, decodeBlock, headerHash } from '../chain/comet/block.ts'
import { createPartSet, maxParts, PART_SIZE, type Part, type PartSet, verifyPart } from '../chain/comet/partSet.ts'
import { type BlockId, isNilBlockId, type PartSetHeader } from '../chain/comet/types.ts'
import { ConsensusDecodingError } from '../chain/comet/wire.ts'
import { concatBytes, equalBytes } from '../primitives/bytes.ts'
import type { PartsView } from './roundStateView.ts'

/**
 * The knowledge about a block, in the order in which it grows; valid(v) of the paper is `valid`.
 * - `incomplete`: parts are missing
 * - `unchecked`: complete
 * - `possible`: follows the rules of consensus; the application has not been asked
 * - `asked`: the application was asked
 * - `valid`: the application accepts it, or this node built it
 * - `invalid`: no honest validator may vote for it
 */
type BlockStatus = 'incomplete' | 'unchecked' | 'possible' | 'asked' | 'valid' | 'invalid'

/**
 * A block that the current height may decide. It starts as an ID, then gets its parts, and then the
 * application's answer.
 */
export class CandidateBlock implements PartsView {
  readonly blockId: BlockId
  readonly #parts: (Part | undefined)[]
  #missing: number
  #block: ConsensusBlock | undefined
  #status: BlockStatus = 'incomplete'
  #reason: string | undefined
  #askedRound = -1

  /** @param blockId one for which {@link isCandidateId} is true */
  constructor(blockId: BlockId) {
    this.blockId = blockId
    this.#parts = new Array(blockId.partSetHeader.total).fill(undefined)
    this.#missing = blockId.partSetHeader.total
  }

  /** Returns a candidate for a block with all its parts. */
  static ofBlock(block: ConsensusBlock, partSet: PartSet): CandidateBlock {
    const candidate = new CandidateBlock({ hash: headerHash(block.header), partSetHeader: partSet.header })
    for (const part of partSet.parts) candidate.#parts[part.index] = part
    candidate.#missing = 0
    candidate.#block = block
    candidate.#status = 'unchecked'
    return candidate
  }

  get header(): PartSetHeader {
    return this.blockId.partSetHeader
  }

  get status(): BlockStatus {
    return this.#status
  }

  get isComplete(): boolean {
    return this.#missing === 0
  }

  /** Returns why it is invalid. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Undefined while it is incomplete, or when its bytes are not those of a block. */
  get block(): ConsensusBlock | undefined {
    return this.#block
  }

  has(index: number): boolean {
    return this.#parts[index] !== undefined
  }

  part(index: number): Part | undefined {
    return this.#parts[index]
  }

  /** Returns all parts of a complete block. */
  get parts(): readonly Part[] {
    return this.#parts as Part[]
  }

  /** Adds a part. @returns false when it is not a part of this block, or known already */
  add(part: Part): boolean {
    if (this.#missing === 0 || this.has(part.index) || !verifyPart(this.header, part)) return false
    this.#parts[part.index] = part
    this.#missing--
    if (this.#missing === 0) this.#status = 'unchecked'
    return true
  }

  /** Decodes a complete block and checks it against the rules of consensus. @param check returns why the block is invalid */
  examine(maxBytes: number, check: (block: ConsensusBlock) => string | undefined): void {
    if (this.#status !== 'unchecked') return
    this.#reason = this.#decode(maxBytes) ?? check(this.#block!)
    this.#status = this.#reason === undefined ? 'possible' : 'invalid'
  }

  #decode(maxBytes: number): string | undefined {
    const length = this.parts.reduce((sum, { bytes }) => sum + bytes.length, 0)
    if (length > maxBytes) return `the block has ${length} bytes, more than ${maxBytes}`
    if (this.#block !== undefined) return undefined
    let block: ConsensusBlock
    try {
      block = decodeBlock(concatBytes(...this.parts.map(({ bytes }) => bytes)))
    } catch (cause) {
      if (!(cause instanceof ConsensusDecodingError)) throw cause
      return `the parts are not a block: ${cause.message}`
    }
    if (!equalBytes(headerHash(block.header), this.blockId.hash)) return 'the header has another hash'
    this.#block = block
    return undefined
  }

  /** Whether this block has this hash and the application has not answered about it yet. */
  isAwaited(hash: Uint8Array): boolean {
    return (this.#status === 'asked' || this.#status === 'possible') && equalBytes(this.blockId.hash, hash)
  }

  /** Returns the newest round in which the application was asked; −1: it was not asked yet. */
  get askedRound(): number {
    return this.#askedRound
  }

  markAsked(round: number): void {
    if (this.#status !== 'possible') return
    this.#status = 'asked'
    this.#askedRound = round
  }

  /** Called when the application did not answer in time. */
  markUnchecked(): void {
    if (this.#status === 'asked') this.#status = 'possible'
  }

  /** To be called when this node built the block, or the application accepts it. */
  markValid(): void {
    if (this.#status !== 'invalid' && this.#block !== undefined) this.#status = 'valid'
  }

  markInvalid(reason: string): void {
    this.#status = 'invalid'
    this.#reason = reason
  }
}

/** Cuts a block into parts and creates a complete candidate from it. */
export function candidateOf(block: ConsensusBlock, bytes: Uint8Array): CandidateBlock {
  return CandidateBlock.ofBlock(block, createPartSet(bytes))
}

/** Whether a block ID (not nil) can be that of a block of at most `maxBytes`. */
export function isCandidateId({ hash, partSetHeader }: BlockId, maxBytes: number): boolean {
  const { total } = partSetHeader
  return hash.length === 32 && partSetHeader.hash.length === 32 && total >= 1 && total <= maxParts(maxBytes)
}

/** Whether a vote may have this block ID: nil, or that of a block that can exist. */
export function isVotableId(blockId: BlockId, maxBytes: number): boolean {
  return isNilBlockId(blockId) || isCandidateId(blockId, maxBytes)
}

/** Whether a part contradicts itself, so that it cannot belong to any block. */
export function isMalformedPart({ index, bytes, proof }: Part): boolean {
  return index !== proof.index || index < 0 || index >= proof.total || bytes.length < 1 || bytes.length > PART_SIZE
}
