import type { BlockRequest, FetchedBlock, FetchedBlocks } from '../consensus/transport.ts'
import { ProtobufError } from '../primitives/protobuf.ts'
import type { NetworkMetrics } from '../telemetry/metrics/networkMetrics.ts'
import { AnswerPlaces } from './answerPlaces.ts'
import { decodeBlockFrame, decodeBlockRequest, encodeBlockFrame, encodeBlockRequest } from './blockMessages.ts'
import type { BlockSource, BlockView } from './blockSource.ts'
import { LIMITS, REQUEST_LIMITS } from './limits.ts'
import { type RequestHandler, type Respond, request } from './requests.ts'
import type { Session } from './session.ts'

/** Blocks that are read before other work of the thread has its turn. */
const BLOCKS_PER_TURN = 16

/**
 * Serves blocks with their commits, a few answers at a time.
 * @param isReserved a persistent peer or a validator
 */
export function blockHandler(source: BlockSource, isReserved: (session: Session) => boolean): RequestHandler {
  const places = new AnswerPlaces(isReserved)
  return {
    protocol: 'blocks',
    limits: REQUEST_LIMITS.blocks,
    answer: async (session, body, respond) => {
      const asked = decodeBlockRequest(body)
      const leave = await places.take(session)
      try {
        await answer(source(), asked, respond)
      } finally {
        leave()
      }
    },
  }
}

async function answer(view: BlockView, asked: BlockRequest, respond: Respond): Promise<void> {
  try {
    await respond(encodeBlockFrame({ kind: 'standing', base: view.base, height: view.height }))
    await sendBlocks(view, asked, respond)
    await respond(encodeBlockFrame({ kind: 'end' }))
  } finally {
    await view.close()
  }
}

async function sendBlocks(view: BlockView, asked: BlockRequest, respond: Respond): Promise<void> {
  const maxBytes = Math.min(asked.maxBytes, LIMITS.bytesPerAnswer)
  const count = Math.min(asked.count, LIMITS.blocksPerAnswer)
  let bytes = 0
  for (let i = 0; i < count && bytes < maxBytes; i++) {
    const block = view.read(asked.from + i)
    if (block === undefined) return
    const frame = encodeBlockFrame({ kind: 'block', block })
    bytes += frame.length
    await respond(frame)
    if (i % BLOCKS_PER_TURN === BLOCKS_PER_TURN - 1) await new Promise((resolve) => setImmediate(resolve))
  }
}

/**
 * Asks a peer for blocks. They are complete, but nobody has looked at them.
 * @throws Error when it does not answer in time or as it should
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
