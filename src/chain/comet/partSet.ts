import { concatBytes, equalBytes } from '../../primitives/bytes.ts'
import type { ProtobufFields, ProtobufWriter } from '../../primitives/protobuf.ts'
import { type MerkleProof, merkleProofs, verifyMerkleProof } from './merkle.ts'
import type { PartSetHeader } from './types.ts'
import { decodeMessage, encodeMessage, fail, type MessageCodec, toInteger, toSized, toUint32 } from './wire.ts'

/** CometBFT types/params.go, BlockPartSizeBytes: every part but the last has this size. */
export const PART_SIZE = 65_536

/** A piece of an encoded block with the proof that it belongs to a part set. */
export interface Part {
  readonly index: number
  readonly bytes: Uint8Array
  readonly proof: MerkleProof
}

export interface PartSet {
  readonly header: PartSetHeader
  readonly parts: readonly Part[]
}

/** Cuts an encoded block; the parts are views on `bytes`. */
export function createPartSet(bytes: Uint8Array): PartSet {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += PART_SIZE) pieces.push(bytes.subarray(at, at + PART_SIZE))
  const { root, proofs } = merkleProofs(pieces)
  return {
    header: { total: pieces.length, hash: root },
    parts: pieces.map((piece, index) => ({ index, bytes: piece, proof: proofs[index]! })),
  }
}

/** Returns the number of parts that a block of at most `maxBytes` can have. */
export function maxParts(maxBytes: number): number {
  return Math.ceil(maxBytes / PART_SIZE)
}

/** Whether `part` is the one at its index in the part set with this header. */
export function verifyPart(header: PartSetHeader, { index, bytes, proof }: Part): boolean {
  // With an index other than the proof's, a valid part would be put in the wrong position (CometBFT ASA-2025-001).
  if (index !== proof.index || proof.total !== header.total) return false
  const last = index === header.total - 1
  if (last ? bytes.length === 0 || bytes.length > PART_SIZE : bytes.length !== PART_SIZE) return false
  return verifyMerkleProof(header.hash, bytes, proof)
}

/** Collects the parts of one block in any order. */
export class PartCollector {
  readonly header: PartSetHeader
  readonly #pieces: (Uint8Array | undefined)[]
  #missing: number

  /** @throws RangeError when the header announces more parts than a block of `maxBytes` can have */
  constructor(header: PartSetHeader, maxBytes: number) {
    if (header.total < 1 || header.total > maxParts(maxBytes)) {
      throw new RangeError(`a block has 1 to ${maxParts(maxBytes)} parts, not ${header.total}`)
    }
    this.header = header
    this.#pieces = new Array(header.total).fill(undefined)
    this.#missing = header.total
  }

  get complete(): boolean {
    return this.#missing === 0
  }

  has(index: number): boolean {
    return this.#pieces[index] !== undefined
  }

  /** Adds a part if it belongs to the block. */
  add(part: Part): 'added' | 'duplicate' | 'invalid' {
    const present = this.#pieces[part.index]
    if (present !== undefined) return equalBytes(present, part.bytes) ? 'duplicate' : 'invalid'
    if (!verifyPart(this.header, part)) return 'invalid'
    this.#pieces[part.index] = part.bytes
    this.#missing--
    return 'added'
  }

  /** Returns the encoded block; undefined while parts are missing. */
  bytes(): Uint8Array | undefined {
    if (!this.complete) return undefined
    return concatBytes(...(this.#pieces as Uint8Array[]))
  }
}

/** tendermint.types.Part */
const PART_CODEC: MessageCodec<Part> = {
  name: 'block part',
  write: (writer, part) => writer.varint(1, part.index).bytes(2, part.bytes).message(3, writeProof, part.proof),
  read: (fields) => {
    const bytes = fields.bytes(2)
    if (bytes.length > PART_SIZE) fail(`${bytes.length} bytes are more than a part has`)
    return { index: toUint32(fields.integer(1), 'index'), bytes, proof: fields.message(3, readProof) }
  },
}

/** Writes tendermint.crypto.Proof. */
function writeProof(writer: ProtobufWriter, proof: MerkleProof): void {
  writer.varint(1, proof.total).varint(2, proof.index).bytes(3, proof.leafHash).repeatedBytes(4, proof.aunts)
}

function readProof(fields: ProtobufFields): MerkleProof {
  return {
    total: toInteger(fields.integer(1), 1, 'total'),
    index: toInteger(fields.integer(2), 0, 'index'),
    leafHash: toSized(fields.bytes(3), 32, 'leaf hash'),
    aunts: fields.repeatedBytes(4).map((aunt) => toSized(aunt, 32, 'aunt')),
  }
}

/** Returns the Protobuf bytes of tendermint.types.Part. */
export function encodePart(part: Part): Uint8Array {
  return encodeMessage(PART_CODEC, part)
}

/** @throws ConsensusDecodingError */
export function decodePart(bytes: Uint8Array): Part {
  return decodeMessage(PART_CODEC, bytes)
}
