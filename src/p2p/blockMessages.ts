import type { BlockRequest, FetchedBlock } from '../consensus/transport.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../primitives/protobuf.ts'

/** An answer of the blocks protocol: where the node stands, its blocks, and that there are no more of them. */
export type BlockFrame =
  | { readonly kind: 'standing'; readonly base: number; readonly height: number }
  | { readonly kind: 'block'; readonly block: FetchedBlock }
  | { readonly kind: 'end' }

const KINDS = { standing: 0, block: 1, end: 2 } as const
/** kind (1) | length of the block (4, big-endian) */
const BLOCK_HEADER = 5

export function encodeBlockRequest({ from, count, maxBytes }: BlockRequest): Uint8Array {
  // The last field keeps a request of zeros from being empty, which no frame may be.
  return new ProtobufWriter().varint(1, from).varint(2, count).varint(3, maxBytes).varint(4, 1).finish()
}

/** @throws ProtobufError */
export function decodeBlockRequest(bytes: Uint8Array): BlockRequest {
  const fields = new ProtobufFields(bytes)
  return { from: readNumber(fields, 1), count: readNumber(fields, 2), maxBytes: readNumber(fields, 3) }
}

export function encodeBlockFrame(frame: BlockFrame): Uint8Array {
  if (frame.kind === 'end') return Uint8Array.of(KINDS.end)
  if (frame.kind === 'standing') {
    const body = new ProtobufWriter().varint(1, frame.base).varint(2, frame.height).finish()
    const bytes = new Uint8Array(1 + body.length)
    bytes[0] = KINDS.standing
    bytes.set(body, 1)
    return bytes
  }
  const { block, commit } = frame.block
  const bytes = new Uint8Array(BLOCK_HEADER + block.length + commit.length)
  bytes[0] = KINDS.block
  new DataView(bytes.buffer).setUint32(1, block.length)
  bytes.set(block, BLOCK_HEADER)
  bytes.set(commit, BLOCK_HEADER + block.length)
  return bytes
}

/**
 * What {@link encodeBlockFrame} made; block and commit are views on the frame.
 * @throws ProtobufError
 */
export function decodeBlockFrame(bytes: Uint8Array): BlockFrame {
  switch (bytes[0]) {
    case KINDS.end:
      return { kind: 'end' }
    case KINDS.standing: {
      const fields = new ProtobufFields(bytes.subarray(1))
      return { kind: 'standing', base: readNumber(fields, 1), height: readNumber(fields, 2) }
    }
    case KINDS.block: {
      if (bytes.length < BLOCK_HEADER) throw new ProtobufError('a block without its length')
      const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1)
      const end = BLOCK_HEADER + length
      if (end > bytes.length) throw new ProtobufError('a block is cut off')
      return { kind: 'block', block: { block: bytes.subarray(BLOCK_HEADER, end), commit: bytes.subarray(end) } }
    }
    default:
      throw new ProtobufError(`a frame of kind ${bytes[0]}`)
  }
}

function readNumber(fields: ProtobufFields, field: number): number {
  const value = fields.integer(field)
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ProtobufError(`field ${field} is out of range`)
  return Number(value)
}
