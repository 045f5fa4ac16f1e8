import { createSegmentCache } from '../chain/segments/segments.ts'
import { createBlockCache } from '../chain/store/blockCache.ts'
import { openChainReader } from '../chain/store/chainReader.ts'
import { type OlderBlock, type OlderBlocks, readOlderBlock, readValidatorsBelow } from '../chain/store/olderBlocks.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../primitives/protobuf.ts'
import type { Database } from '../storage/database.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { AnswerSlots } from './answerSlots.ts'
import { LIMITS, REQUEST_LIMITS } from './limits.ts'
import type { ReadingTime } from './readingTime.ts'
import { type RequestHandler, type Respond, request } from './requests.ts'
import type { ServedBytes } from './servedBytes.ts'
import type { Session } from './session.ts'

/** `highest` and the blocks below it. */
export interface OlderBlocksRequest {
  readonly highest: number
  readonly count: number
}

/** Old blocks of this node as of one moment. */
interface OlderBlocksView {
  read(height: number): OlderBlock | undefined
  /** Returns the value of `OlderBlocks.below`. */
  below(lowest: number): Uint8Array | undefined
  close(): Promise<void>
}

/** Opens a view; it must be closed. */
export type OlderBlocksSource = () => OlderBlocksView

/** Returns the blocks in the database, which the executor thread writes. */
export function databaseOlderBlocks(database: Database): OlderBlocksSource {
  // Several peers go down the chain at the same time.
  const cache = { ...createBlockCache(), segments: createSegmentCache(CACHED_FRAMES) }
  return () => {
    const snapshot = database.snapshot()
    const chain = openChainReader(snapshot, cache)
    return {
      read: (height) => readOlderBlock(chain, height),
      below: (lowest) => readValidatorsBelow(chain, lowest),
      close: () => snapshot.close(),
    }
  }
}

const CACHED_FRAMES = 8

/**
 * Serves blocks without their transactions, from a height down: a node that began with a snapshot needs those below it. A few answers are sent at a time ({@link AnswerSlots}), and none takes
 * this thread from its other work for long (see `ReadingTime`).
 */
export function headerHandler(
  source: OlderBlocksSource,
  slots: AnswerSlots,
  time: ReadingTime,
  bytes: ServedBytes,
): RequestHandler {
  return {
    protocol: 'headers',
    limits: REQUEST_LIMITS.headers,
    answer: async (session, body, respond, unsent) => {
      const { highest, count } = decodeRequest(body)
      const lowestAsked = highest - Math.min(count, LIMITS.headersPerAnswer) + 1
      const slot = await slots.take(session, unsent)
      const send: Respond = async (frame) => {
        await bytes.take(session, frame.length)
        await slot.send(frame, respond)
      }
      try {
        const view = source()
        try {
          let sent = 0
          let height = highest
          for (; height >= lowestAsked && sent < LIMITS.bytesPerAnswer; height--) {
            const block = await time.spend(session, () => view.read(height))
            if (block === undefined) break
            const frame = encodeBlockFrame(block)
            sent += frame.length
            await send(frame)
          }
          const below = height === highest ? undefined : await time.spend(session, () => view.below(height + 1))
          await send(encodeEndFrame(below))
        } finally {
          await view.close()
        }
      } finally {
        slot.release()
      }
    },
  }
}

/**
 * Requests older blocks from a peer. The answer is complete, but not decoded or verified.
 * @throws Error when the peer does not answer in time or its answer is invalid
 */
export async function fetchOlderBlocks(
  context: { readonly metrics: NetworkMetrics },
  session: Session,
  asked: OlderBlocksRequest,
): Promise<OlderBlocks> {
  const blocks: OlderBlock[] = []
  let below: Uint8Array | undefined
  const bounds = {
    frameBytes: LIMITS.headerFrameBytes,
    totalBytes: LIMITS.bytesPerAnswer + 2 * LIMITS.headerFrameBytes,
  }
  await request(context, session, 'headers', encodeRequest(asked), bounds, (body) => {
    if (body[0] === Kind.end) {
      below = body.length === 1 ? undefined : body.subarray(1)
      return true
    }
    if (blocks.push(decodeBlockFrame(body)) > asked.count) throw new ProtobufError('more blocks than were asked for')
    return false
  })
  return { blocks, below }
}

function encodeRequest({ highest, count }: OlderBlocksRequest): Uint8Array {
  return new ProtobufWriter().varint(1, highest).varint(2, count).finish()
}

/** @throws ProtobufError */
function decodeRequest(body: Uint8Array): OlderBlocksRequest {
  const fields = new ProtobufFields(body)
  return { highest: fields.natural(1), count: fields.natural(2) }
}

/** A frame: kind (1 byte); for a block protobuf of block, header and validators; at the end the validators below, if they are needed. */
const Kind = { block: 1, end: 2 } as const

function encodeBlockFrame({ block, header, validators = EMPTY_BYTES }: OlderBlock): Uint8Array {
  return withKind(Kind.block, new ProtobufWriter().bytes(1, block).bytes(2, header).bytes(3, validators).finish())
}

function encodeEndFrame(below: Uint8Array | undefined): Uint8Array {
  return withKind(Kind.end, below ?? EMPTY_BYTES)
}

function withKind(kind: number, body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(1 + body.length)
  frame[0] = kind
  frame.set(body, 1)
  return frame
}

/** @throws ProtobufError */
function decodeBlockFrame(body: Uint8Array): OlderBlock {
  if (body[0] !== Kind.block) throw new ProtobufError(`a frame of kind ${body[0]}`)
  const fields = new ProtobufFields(body.subarray(1))
  const validators = fields.bytes(3)
  return {
    block: fields.bytes(1),
    header: fields.bytes(2),
    validators: validators.length === 0 ? undefined : validators,
  }
}
