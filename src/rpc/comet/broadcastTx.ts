import { entryHash } from '../../chain/entries.ts'
import type { JsonObject } from '../format/json.ts'
import { type CheckedTransaction, checkedTransaction, type VerifiedTransaction } from '../submitTransaction.ts'
import { broadcastTxCommit } from './broadcastTxCommit.ts'
import { upperHex } from './json/text.ts'
import type { CometMempool } from './mempool.ts'
import { transaction } from './params.ts'
import { type CometMethod, defineCometMethod } from './table.ts'

const NO_TRANSACTION = new Uint8Array(0)
const params = [{ name: 'tx', type: transaction }] as const

/**
 * `broadcast_tx_sync`, `broadcast_tx_async` and `broadcast_tx_commit` (rpc/core/mempool.go), for native transactions and EVM
 * envelopes. A transaction that is known already, too large, or finds the pool full has the SDK's code for it in the answer, as
 * the SDK's clients make one of CometBFT's error.
 */
export function createBroadcastTxMethods(mempool: CometMempool): readonly CometMethod[] {
  const { verify, onError } = mempool
  return [
    defineCometMethod({
      name: 'broadcast_tx_sync',
      params,
      run: async (tx = NO_TRANSACTION) => {
        const verified = await verify(tx)
        return broadcastJson('code' in verified ? verified : await offer(mempool, verified))
      },
    }),
    defineCometMethod({
      name: 'broadcast_tx_async',
      params,
      run: async (tx = NO_TRANSACTION) => {
        // Whoever sends many waits at least for their signatures, so that these do not pile up.
        const verified = await verify(tx)
        if (!('code' in verified)) offer(mempool, verified).catch(onError)
        return broadcastJson({ code: 0, codespace: '', log: '', hash: entryHash(tx) })
      },
    }),
    defineCometMethod({
      name: 'broadcast_tx_commit',
      params,
      run: (tx = NO_TRANSACTION) => broadcastTxCommit(mempool, tx, (verified) => offer(mempool, verified)),
    }),
  ]
}

async function offer({ pool }: CometMempool, verified: VerifiedTransaction): Promise<CheckedTransaction> {
  return checkedTransaction(verified, await pool.add(verified.raw, verified.sender, verified.hash))
}

/** ResultBroadcastTx */
function broadcastJson(result: Pick<CheckedTransaction, 'code' | 'codespace' | 'log' | 'hash'>): JsonObject {
  const { code, codespace, log, hash } = result
  return { code, data: '', log, codespace, hash: upperHex(hash) }
}
