import type { StoredEntry } from '../../chain/block/entries.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { UnconfirmedTransactions } from '../../mempool/types.ts'
import { bytesToUpperHex, EMPTY_BYTES, equalBytes, toBuffer } from '../../primitives/bytes.ts'
import type { JsonObject } from '../format/json.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { outcomeOf, type SubmitOutcome } from '../submit/submitPort.ts'
import type { CometMempool } from './env.ts'
import { checkTxJson, entryTxResult, NO_TX_RESULT, type TxResult, txResultJson } from './json/results.ts'
import { type CometMethod, cometFailure, defineCometMethod, int, transaction } from './method.ts'

/** Native or EVM; an EVM one may be wrapped, as `tx` shows it. */
const params = [{ name: 'tx', type: transaction }] as const

/**
 * Creates `broadcast_tx_sync`, `broadcast_tx_async` and `broadcast_tx_commit`
 * (rpc/core/mempool.go), for native transactions and EVM envelopes. For a known or too large
 * transaction, and for a full pool, the answer has the code that clients of the SDK derive from
 * CometBFT's error.
 */
export function createBroadcastTxMethods(mempool: CometMempool): readonly CometMethod[] {
  const { submissions, onError } = mempool
  return [
    defineCometMethod({
      name: 'broadcast_tx_sync',
      params,
      run: async (tx = EMPTY_BYTES, { client }) => broadcastJson(await submissions.submit(tx, client)),
    }),
    defineCometMethod({
      name: 'broadcast_tx_async',
      params,
      run: async (tx = EMPTY_BYTES, { client }) => {
        // The client waits for the check of the signatures, so that these checks do not pile up.
        const verified = await submissions.verify(tx, client)
        if (!('code' in verified)) submissions.admit(verified, client).catch(onError)
        return broadcastJson({ code: 0, codespace: '', log: '', hash: verified.hash })
      },
    }),
    defineCometMethod({
      name: 'broadcast_tx_commit',
      params,
      run: (tx = EMPTY_BYTES, scope) => broadcastTxCommit(mempool, tx, scope),
    }),
  ]
}

/**
 * Creates `check_tx` (rpc/core/mempool.go): whether the pool would accept a transaction now. It is
 * not added.
 */
export function createCheckTxMethod({ submissions, pool }: CometMempool): CometMethod {
  return defineCometMethod({
    name: 'check_tx',
    params,
    run: async (tx = EMPTY_BYTES, { client }) => {
      const verified = await submissions.verify(tx, client)
      if ('code' in verified) return checkTxJson(verified)
      const { raw, sender, hash } = verified
      return checkTxJson(outcomeOf(verified, await pool.check({ raw, sender, hash })))
    },
  })
}

const DEFAULT_LIMIT = 30
const MAX_LIMIT = 100

/**
 * Creates `unconfirmed_txs` and `num_unconfirmed_txs` (rpc/core/mempool.go): transactions of both
 * kinds that wait for a block.
 */
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

/** Reads the limit like validatePerPage (rpc/core/env.go). */
function readLimit(limit: bigint | undefined): number {
  if (limit === undefined || limit < 1n) return DEFAULT_LIMIT
  return limit > BigInt(MAX_LIMIT) ? MAX_LIMIT : Number(limit)
}

function counts({ count, bytes }: UnconfirmedTransactions, shown: number): JsonObject {
  return { n_txs: String(shown), total: String(count), total_bytes: String(bytes) }
}

/** Formats ResultBroadcastTx. */
function broadcastJson(result: Pick<SubmitOutcome, 'code' | 'codespace' | 'log' | 'hash'>): JsonObject {
  const { code, codespace, log, hash } = result
  return { code, data: '', log, codespace, hash: bytesToUpperHex(hash) }
}

/** CometBFT's default of timeout_broadcast_tx_commit. */
const TIMEOUT_MS = 10_000

/**
 * Sends a transaction and answers when it is in a block (rpc/core/mempool.go, BroadcastTxCommit):
 * 1. the signatures are checked, which takes a while and needs no view;
 * 2. a view is leased before the pool gets the transaction, so that no block with it is missed;
 * 3. the pool admits it;
 * 4. every block after the view's is searched for it.
 * @throws CometError when no block contains it in time; it stays in the pool
 */
async function broadcastTxCommit(mempool: CometMempool, tx: Uint8Array, scope: CallScope): Promise<JsonObject> {
  // 1.
  const { submissions } = mempool
  const verified = await submissions.verify(tx, scope.client)
  if ('code' in verified) return broadcastCommitJson(verified, undefined)
  // 2.
  const { context, release } = mempool.lease()
  try {
    // 3.
    const checked = await submissions.admit(verified, scope.client)
    if (checked.code !== 0) return broadcastCommitJson(checked, undefined)
    // 4.
    const deadlineMs = context.monotonicMs() + TIMEOUT_MS
    for (let height = context.view.chain.headHeight; ; ) {
      const view = await context.nextView(Math.max(0, deadlineMs - context.monotonicMs()))
      if (scope.signal.aborted) throw cometFailure('request cancelled')
      if (view === undefined) throw cometFailure('timed out waiting for tx to be included in a block')
      const included = findIncluded(view.chain, verified.raw, height + 1)
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

/** Finds a transaction's bytes in the blocks from `first` on. */
function findIncluded(chain: ChainReader, tx: Uint8Array, first: number): Included | undefined {
  for (let height = first; height <= chain.headHeight; height++) {
    const position = chain.consensusBlock(height)?.txs.findIndex((raw) => equalBytes(raw, tx)) ?? -1
    const entry: StoredEntry | undefined = position < 0 ? undefined : chain.entryResults(height)?.[position]
    if (entry !== undefined) return { height, result: entryTxResult(entry) }
  }
  return undefined
}

/** Formats ResultBroadcastTxCommit. */
function broadcastCommitJson(checked: SubmitOutcome, included: Included | undefined): JsonObject {
  return {
    check_tx: checkTxJson(checked),
    tx_result: txResultJson(included?.result ?? NO_TX_RESULT),
    hash: bytesToUpperHex(checked.hash),
    height: String(included?.height ?? 0),
  }
}
