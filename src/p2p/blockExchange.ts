import { encodedLastCommit } from '../chain/comet/block.ts'
import { encodeCommit } from '../chain/comet/commit.ts'
import { createSegmentCache } from '../chain/segments/segments.ts'
import { createBlockCache } from '../chain/store/blockCache.ts'
import { openChainReader } from '../chain/store/chainReader.ts'
import type { BlockRequest, FetchedBlock, FetchedBlocks } from '../consensus/transport.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../primitives/protobuf.ts'
import type { Database } from '../storage/database.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { AnswerSlots } from './answerSlots.ts'
import { BLOCK_ANSWERS, LIMITS, REQUEST_LIMITS } from './limits.ts'
import type { ReadingTime } from './readingTime.ts'
import { type RequestHandler, type Respond, request } from './requests.ts'
import type { ServedBytes } from './servedBytes.ts'
import type { Session } from './session.ts'

/** How many blocks are read before other work of the thread gets its turn. */
const BLOCKS_PER_TURN = 16

/** Serves blocks with their commits to peers that sync, a few answers at a time. Peers request them by {@link fetchBlocks}. */
export function blockHandler(
  source: BlockSource,
  slots: AnswerSlots,
  time: ReadingTime,
  bytes: ServedBytes,
): RequestHandler {
  return {
    protocol: 'blocks',
    limits: REQUEST_LIMITS.blocks,
    answer: async (session, body, respond, unsent) => {
      const asked = decodeBlockRequest(body)
      const slot = await slots.take(session, unsent)
      const send: Respond = async (frame) => {
        await bytes.take(session, frame.length)
        await slot.send(frame, respond)
      }
      try {
        await answer(source(), asked, send, (read) => time.spend(session, read))
      } finally {
        slot.release()
      }
    },
  }
}

/** Runs it when there is time. */
type Spend = <T>(read: () => T) => Promise<T>

async function answer(view: BlockView, asked: BlockRequest, respond: Respond, spend: Spend): Promise<void> {
  try {
    await respond(encodeBlockFrame({ kind: 'standing', base: view.base, height: view.height }))
    await sendBlocks(view, asked, respond, spend)
    await respond(encodeBlockFrame({ kind: 'end' }))
  } finally {
    await view.close()
  }
}

async function sendBlocks(view: BlockView, asked: BlockRequest, respond: Respond, spend: Spend): Promise<void> {
  const maxBytes = Math.min(asked.maxBytes, LIMITS.bytesPerAnswer)
  const count = Math.min(asked.count, LIMITS.blocksPerAnswer)
  let bytes = 0
  for (let i = 0; i < count && bytes < maxBytes; i++) {
    const block = await spend(() => view.read(asked.from + i))
    if (block === undefined) return
    const frame = encodeBlockFrame({ kind: 'block', block })
    bytes += frame.length
    await respond(frame)
    if (i % BLOCKS_PER_TURN === BLOCKS_PER_TURN - 1) await new Promise((resolve) => setImmediate(resolve))
  }
}

/**
 * Requests blocks from a peer. The answer is complete, but its blocks are not decoded or verified.
 * @throws Error when the peer does not answer in time or its answer is invalid
 */
export async function fetchBlocks(
  context: { readonly metrics: NetworkMetrics },
  session: Session,
  asked: BlockRequest,
): Promise<FetchedBlocks> {
  const blocks: FetchedBlock[] = []
  let standing: { readonly base: number; readonly height: number } | undefined
  const maxBytes = Math.min(asked.maxBytes, LIMITS.bytesPerAnswer)
  const bounds = { frameBytes: LIMITS.blockBytes, totalBytes: maxBytes + 2 * LIMITS.blockBytes }
  await request(context, session, 'blocks', encodeBlockRequest(asked), bounds, (body) => {
    const frame = decodeBlockFrame(body)
    if (frame.kind === 'end') {
      if (standing === undefined) throw new ProtobufError('an answer without its beginning')
      return true
    }
    if (frame.kind === 'standing') standing = { base: frame.base, height: frame.height }
    else if (blocks.push(frame.block) > asked.count) throw new ProtobufError('more blocks than were asked for')
    return false
  })
  return { ...standing!, blocks }
}

/** Blocks of this node as of one moment. */
interface BlockView {
  /** lowest block that it has */
  readonly base: number
  /** of its newest block; 0 before the first */
  readonly height: number
  /** Reads the block with its commit: the one in the next block, or for the newest block the one that this node saw. */
  read(height: number): FetchedBlock | undefined
  close(): Promise<void>
}

/** Opens a view of the blocks as they are now; it must be closed. */
export type BlockSource = () => BlockView

/** Returns the blocks in the database, which the executor thread writes. */
export function databaseBlocks(database: Database): BlockSource {
  // A frame for each of those that are served, so that none decodes again what another one has pushed out.
  const cache = { ...createBlockCache(), segments: createSegmentCache(BLOCK_ANSWERS.total + 1) }
  return () => {
    const snapshot = database.snapshot()
    const chain = openChainReader(snapshot, cache)
    const base = Math.max(1, chain.oldestBlock)
    /** the block that was read last, for its last commit: it is probably the next one to be asked for */
    let ahead: { readonly height: number; readonly bytes: Uint8Array | undefined } | undefined
    const read = (height: number): Uint8Array | undefined =>
      ahead?.height === height ? ahead.bytes : chain.encodedBlock(height)
    /** Reads the commit without decoding it, which would take longer than all else here. */
    const commitOf = (height: number): Uint8Array | undefined => {
      if (height === chain.headHeight) {
        const commit = chain.seenCommit(height)
        return commit && encodeCommit(commit)
      }
      ahead = { height: height + 1, bytes: read(height + 1) }
      return ahead.bytes && encodedLastCommit(ahead.bytes)
    }
    return {
      base,
      height: chain.headHeight,
      read: (height) => {
        if (height < base || height > chain.headHeight) return undefined
        // The stored bytes are sent as they are.
        const block = read(height)
        const commit = commitOf(height)
        return block === undefined || commit === undefined ? undefined : { block, commit }
      },
      close: () => snapshot.close(),
    }
  }
}

/** A frame of an answer: first the range of blocks that the node has (`standing`), then blocks, then the end. */
type BlockFrame =
  | { readonly kind: 'standing'; readonly base: number; readonly height: number }
  | { readonly kind: 'block'; readonly block: FetchedBlock }
  | { readonly kind: 'end' }

const KINDS = { standing: 0, block: 1, end: 2 } as const
/** kind (1) | length of the block (4, big-endian) */
const BLOCK_HEADER = 5

export function encodeBlockRequest({ from, count, maxBytes }: BlockRequest): Uint8Array {
  // The last field is for a request of zeros, which would be empty otherwise; a frame must not be empty.
  return new ProtobufWriter().varint(1, from).varint(2, count).varint(3, maxBytes).varint(4, 1).finish()
}

/** @throws ProtobufError */
export function decodeBlockRequest(bytes: Uint8Array): BlockRequest {
  const fields = new ProtobufFields(bytes)
  return { from: fields.natural(1), count: fields.natural(2), maxBytes: fields.natural(3) }
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
 * Decodes a frame of {@link encodeBlockFrame}; block and commit are views on the frame.
 * @throws ProtobufError
 */
function decodeBlockFrame(bytes: Uint8Array): BlockFrame {
  switch (bytes[0]) {
    case KINDS.end:
      return { kind: 'end' }
    case KINDS.standing: {
      const fields = new ProtobufFields(bytes.subarray(1))
      return { kind: 'standing', base: fields.natural(1), height: fields.natural(2) }
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
