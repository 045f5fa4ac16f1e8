import { encodeLightBlock } from '../chain/comet/lightBlock.ts'
import { readCompleteFrom } from '../chain/retention/completeBlocks.ts'
import { createBlockCache } from '../chain/store/blockCache.ts'
import { openChainReader } from '../chain/store/chainReader.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../primitives/protobuf.ts'
import type { Database } from '../storage/database.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { LIMITS, REQUEST_LIMITS } from './limits.ts'
import type { ReadingTime } from './readingTime.ts'
import { type RequestHandler, request } from './requests.ts'
import type { Session } from './session.ts'

/**
 * Returns the encoded light block (tendermint.types.LightBlock) of a height, or of the nearest one
 * above it that this node has: a node that drops old blocks retains only some. Height 0 asks for the
 * newest. Returns undefined if there is no such block.
 */
export type LightBlockReader = (height: number) => Uint8Array | undefined

/** Returns the light blocks of a database, which the executor thread writes. */
export function databaseLightBlocks(database: Database): LightBlockReader {
  const cache = createBlockCache()
  return (height) => {
    // The lowest ones, for which light clients ask most, may be dropped at this very moment.
    const snapshot = database.snapshot()
    try {
      const chain = openChainReader(snapshot, cache)
      const wanted = height === 0 ? chain.headHeight : chain.nextLightBlock(height)
      // For blocks that came with a snapshot, the validators are not there at first.
      const block = chain.lightBlock(wanted) ?? chain.lightBlock(Math.max(wanted, readCompleteFrom(snapshot)))
      return block && encodeLightBlock(block)
    } finally {
      void snapshot.close()
    }
  }
}

/** Serves light blocks: header, commit and validators of a height, with which a light client verifies the chain. */
export function lightHandler(read: LightBlockReader, time: ReadingTime): RequestHandler {
  return {
    protocol: 'light',
    limits: REQUEST_LIMITS.light,
    answer: async (session, body, respond) => {
      const height = new ProtobufFields(body).natural(1)
      const block = await time.spend(session, () => read(height))
      await respond(block ?? NONE)
    },
  }
}

/**
 * Requests an encoded light block from a peer, see {@link LightBlockReader}. It is not decoded or verified.
 * @throws Error when the peer does not answer in time or its answer is invalid
 */
export async function fetchLightBlock(
  context: { readonly metrics: NetworkMetrics },
  session: Session,
  height: number,
): Promise<Uint8Array | undefined> {
  let answer: Uint8Array | undefined
  // The second field is for height 0: a request would be empty otherwise, and a frame must not be.
  const asked = new ProtobufWriter().varint(1, height).varint(2, 1).finish()
  const bounds = { frameBytes: LIMITS.lightBlockBytes, totalBytes: LIMITS.lightBlockBytes }
  await request(context, session, 'light', asked, bounds, (body) => {
    answer = body
    return true
  })
  if (answer === undefined) throw new ProtobufError('an answer without a light block')
  return answer.length === NONE.length ? undefined : answer
}

/** The answer instead of a light block: no message is as short. */
const NONE = Uint8Array.of(0)
