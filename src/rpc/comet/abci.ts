import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { type AbciQueryOptions, abciQuery } from '../cosmos/abciQuery.ts'
import type { WithChain } from './env.ts'
import { base64 } from './json/values.ts'
import { bool, type CometMethod, defineCometMethod, hexBytes, int64, text } from './method.ts'

/** `abci_query` and `abci_info` (rpc/core/abci.go). A query's own error is part of the result. */
export function createAbciMethods(options: AbciQueryOptions, withChain: WithChain): readonly CometMethod[] {
  return [
    defineCometMethod({
      name: 'abci_query',
      params: [
        { name: 'path', type: text },
        { name: 'data', type: hexBytes },
        { name: 'height', type: int64 },
        { name: 'prove', type: bool },
      ],
      run: async (path = '', data = EMPTY_BYTES, height = 0n, prove = false, scope) => {
        const result = await abciQuery(options, { path, data, height, prove }, scope)
        return {
          response: {
            code: result.code,
            log: result.log,
            info: '',
            index: '0',
            key: null,
            value: base64(result.value),
            proofOps: null,
            height: String(result.height),
            codespace: result.codespace,
          },
        }
      },
    }),
    defineCometMethod({
      name: 'abci_info',
      params: [],
      run: () =>
        withChain((chain) => {
          const height = chain.headHeight
          const info = { data: 'coind', version: options.version }
          // Go omits zeros.
          if (height === 0) return { response: info }
          const appHash = base64(chain.hash(height) ?? EMPTY_BYTES)
          return { response: { ...info, last_block_height: String(height), last_block_app_hash: appHash } }
        }),
    }),
  ]
}
