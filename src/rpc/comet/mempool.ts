import { entryHash, type StoredEntry } from '../../chain/entries.ts'
import type { ChainReader } from '../../chain/store.ts'
import type { UnconfirmedTransactions } from '../../mempool/types.ts'
import { equalBytes, toBuffer } from '../../primitives/bytes.ts'
import type { JsonObject } from '../format/json.ts'
import { type CheckedTransaction, checkedTransaction, type VerifiedTransaction } from '../submitTransaction.ts'
import type { CometMempool } from './env.ts'
import { checkTxJson, entryTxResult, NO_TX_RESULT, type TxResult, txResultJson } from './json/results.ts'
import { upperHex } from './json/values.ts'
import { type CometMethod, cometFailure, defineCometMethod, int, transaction } from './method.ts'

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

const NO_TX = new Uint8Array(0)

/** `check_tx` (rpc/core/mempool.go): whether the pool would take a transaction now. It is not kept. */
export function createCheckTxMethod({ verify, pool }: CometMempool): CometMethod {
  return defineCometMethod({
    name: 'check_tx',
    params: [{ name: 'tx', type: transaction }],
    run: async (tx = NO_TX) => {
      const verified = await verify(tx)
      if ('code' in verified) return checkTxJson(verified)
      const { raw, sender, hash } = verified
      return checkTxJson(checkedTransaction(verified, await pool.check(raw, sender, hash)))
    },
  })
}

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

async function offer({ pool }: CometMempool, verified: VerifiedTransaction): Promise<CheckedTransaction> {
  return checkedTransaction(verified, await pool.add(verified.raw, verified.sender, verified.hash))
}

/** ResultBroadcastTx */
function broadcastJson(result: Pick<CheckedTransaction, 'code' | 'codespace' | 'log' | 'hash'>): JsonObject {
  const { code, codespace, log, hash } = result
  return { code, data: '', log, codespace, hash: upperHex(hash) }
}

/** CometBFT's default of timeout_broadcast_tx_commit. */
const TIMEOUT_MS = 10_000

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
  if ('code' in verified) return broadcastCommitJson(verified, undefined)
  // The view is from before the pool has it, so that no block is missed.
  const { context, release } = lease()
  try {
    const checked = await offer(verified)
    if (checked.code !== 0) return broadcastCommitJson(checked, undefined)
    const deadlineMs = context.now() + TIMEOUT_MS
    for (let height = context.view.chain.headHeight; ; ) {
      const view = await context.nextView(Math.max(0, deadlineMs - context.now()))
      if (view === undefined) throw cometFailure('timed out waiting for tx to be included in a block')
      const included = findIncluded(view.chain, tx, height + 1)
      if (included !== undefined) return broadcastCommitJson(checked, included)
      height = view.chain.headHeight
    }
  } finally {
    release()
  }
}

interface Included {
  readonly height: number
  readonly result: TxResult
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
function broadcastCommitJson(checked: CheckedTransaction, included: Included | undefined): JsonObject {
  return {
    check_tx: checkTxJson(checked),
    tx_result: txResultJson(included?.result ?? NO_TX_RESULT),
    hash: upperHex(checked.hash),
    height: String(included?.height ?? 0),
  }
}
