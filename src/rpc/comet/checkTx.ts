import { checkedTransaction } from '../submitTransaction.ts'
import { checkTxJson } from './json/txResultJson.ts'
import type { CometMempool } from './mempool.ts'
import { transaction } from './params.ts'
import { type CometMethod, defineCometMethod } from './table.ts'

const NO_TRANSACTION = new Uint8Array(0)

/** `check_tx` (rpc/core/mempool.go): whether the pool would take a transaction now. It is not kept. */
export function createCheckTxMethod({ verify, pool }: CometMempool): CometMethod {
  return defineCometMethod({
    name: 'check_tx',
    params: [{ name: 'tx', type: transaction }],
    run: async (tx = NO_TRANSACTION) => {
      const verified = await verify(tx)
      if ('code' in verified) return checkTxJson(verified)
      const { raw, sender, hash } = verified
      return checkTxJson(checkedTransaction(verified, await pool.check(raw, sender, hash)))
    },
  })
}
