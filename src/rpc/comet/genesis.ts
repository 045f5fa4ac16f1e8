import { canonicalJson, toCometGenesis } from '../../chain/genesis.ts'
import type { Genesis } from '../../chain/genesisSchema.ts'
import { RawJson } from '../rawJson.ts'
import { uint } from './params.ts'
import { type CometMethod, cometFailure, defineCometMethod } from './table.ts'

/** rpc/core/env.go, genesisChunkSize: bytes of JSON in one chunk */
const CHUNK_BYTES = 16 * 1024 * 1024

/**
 * `genesis` and `genesis_chunked` (rpc/core/net.go): the members of genesis.json, so that the genesis hash can be computed, and
 * CometBFT's `consensus_params` and `validators`, which repeat some of them.
 * @param readGenesis called once, for the first request
 */
export function createGenesisMethods(readGenesis: () => Genesis): readonly CometMethod[] {
  let known: Buffer | undefined
  const text = (): Buffer => {
    known ??= Buffer.from(canonicalJson(toCometGenesis(readGenesis())))
    return known
  }
  return [
    defineCometMethod({
      name: 'genesis',
      params: [],
      run: () => {
        if (text().length > CHUNK_BYTES) {
          throw cometFailure('genesis response is large, please use the genesis_chunked API instead')
        }
        return new RawJson(`{"genesis":${text().toString()}}`)
      },
    }),
    defineCometMethod({
      name: 'genesis_chunked',
      params: [{ name: 'chunk', type: uint }],
      run: (asked = 0n) => {
        const total = Math.ceil(text().length / CHUNK_BYTES)
        if (asked >= total) throw cometFailure(`there are ${total - 1} chunks, ${asked} is invalid`)
        const start = Number(asked) * CHUNK_BYTES
        return {
          chunk: asked.toString(),
          total: String(total),
          data: text().toString('base64', start, Math.min(start + CHUNK_BYTES, text().length)),
        }
      },
    }),
  ]
}
