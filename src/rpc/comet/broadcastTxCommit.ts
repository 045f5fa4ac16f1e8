import type { StoredEntry } from '../../chain/entries.ts'
import type { ChainReader } from '../../chain/store.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { JsonObject } from '../format/json.ts'
import type { CheckedTransaction, VerifiedTransaction } from '../submitTransaction.ts'
import { entryTxResult } from './json/entryTxResult.ts'
import { upperHex } from './json/text.ts'
import { checkTxJson, NO_TX_RESULT, type TxResult, txResultJson } from './json/txResultJson.ts'
import type { CometMempool } from './mempool.ts'
import { cometFailure } from './table.ts'

/** CometBFT's default of timeout_broadcast_tx_commit. */
const TIMEOUT_MS = 10_000

interface Included {
  readonly height: number
  readonly result: TxResult
}

/**
 * Sends a transaction and answers when it is in a block (rpc/core/mempool.go, BroadcastTxCommit).
 * @throws CometError when it is in none for a while; it stays in the pool
 */
export async function broadcastTxCommit(
  { verify, lease }: Pick<CometMempool, 'verify' | 'lease'>,
  tx: Uint8Array,
  offer: (verified: VerifiedTransaction) => Promise<CheckedTransaction>,
): Promise<JsonObject> {
  const verified = await verify(tx)
  if ('code' in verified) return commitJson(verified, undefined)
  // The view is from before the pool has it, so that no block is missed.
  const { context, release } = lease()
  try {
    const checked = await offer(verified)
    if (checked.code !== 0) return commitJson(checked, undefined)
    const deadlineMs = context.now() + TIMEOUT_MS
    for (let height = context.view.chain.headHeight; ; ) {
      const view = await context.nextView(Math.max(0, deadlineMs - context.now()))
      if (view === undefined) throw cometFailure('timed out waiting for tx to be included in a block')
      const included = findIncluded(view.chain, tx, height + 1)
      if (included !== undefined) return commitJson(checked, included)
      height = view.chain.headHeight
    }
  } finally {
    release()
  }
}

/** Looks for a transaction's bytes in the blocks from `first` on. */
function findIncluded(chain: ChainReader, tx: Uint8Array, first: number): Included | undefined {
  for (let height = first; height <= chain.headHeight; height++) {
    const position = chain.consensusBlock(height)?.txs.findIndex((raw) => equalBytes(raw, tx)) ?? -1
    const entry: StoredEntry | undefined = position < 0 ? undefined : chain.entryResults(height)?.[position]
    if (entry !== undefined) return { height, result: entryTxResult(entry) }
  }
  return undefined
}

/** ResultBroadcastTxCommit */
function commitJson(checked: CheckedTransaction, included: Included | undefined): JsonObject {
  return {
    check_tx: checkTxJson(checked),
    tx_result: txResultJson(included?.result ?? NO_TX_RESULT),
    hash: upperHex(checked.hash),
    height: String(included?.height ?? 0),
  }
}
