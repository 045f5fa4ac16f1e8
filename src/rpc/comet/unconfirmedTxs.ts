import type { UnconfirmedTransactions } from '../../mempool/types.ts'
import { toBuffer } from '../../primitives/bytes.ts'
import type { JsonObject } from '../format/json.ts'
import type { CometMempool } from './mempool.ts'
import { int } from './params.ts'
import { type CometMethod, defineCometMethod } from './table.ts'

const DEFAULT_LIMIT = 30
const MAX_LIMIT = 100

/** `unconfirmed_txs` and `num_unconfirmed_txs` (rpc/core/mempool.go): transactions of both kinds that wait for a block. */
export function createUnconfirmedTxsMethods({ pool }: Pick<CometMempool, 'pool'>): readonly CometMethod[] {
  return [
    defineCometMethod({
      name: 'unconfirmed_txs',
      params: [{ name: 'limit', type: int }],
      run: async (limit) => {
        const found = await pool.unconfirmed(readLimit(limit))
        const txs = found.transactions.map((raw) => toBuffer(raw).toString('base64'))
        return { ...counts(found, found.transactions.length), txs }
      },
    }),
    defineCometMethod({
      name: 'num_unconfirmed_txs',
      params: [],
      run: async () => {
        const found = await pool.unconfirmed(0)
        return { ...counts(found, found.count), txs: null }
      },
    }),
  ]
}

/** As validatePerPage (rpc/core/env.go). */
function readLimit(limit: bigint | undefined): number {
  if (limit === undefined || limit < 1n) return DEFAULT_LIMIT
  return limit > BigInt(MAX_LIMIT) ? MAX_LIMIT : Number(limit)
}

function counts({ count, bytes }: UnconfirmedTransactions, shown: number): JsonObject {
  return { n_txs: String(shown), total: String(count), total_bytes: String(bytes) }
}
