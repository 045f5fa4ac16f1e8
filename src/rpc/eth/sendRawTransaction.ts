import type { Address } from '../../primitives/address.ts'
import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { NodeView } from '../../state/view.ts'
import { callCancelled } from '../jsonrpc/callScope.ts'
import { InvalidArgument, RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext } from '../jsonrpc/method.ts'
import { LATEST } from '../params/blockSelector.ts'
import { jsonKind, readData, readUint64, TypeMismatch } from '../params/values.ts'
import type { SubmitOutcome } from '../submit/submitPort.ts'
import { selectState } from './blockLookup.ts'
import { minedReceipt } from './transactions.ts'

/** Answers with the hash once the pool has admitted the transaction. */
export const sendRawTransaction = defineMethod({
  name: 'eth_sendRawTransaction',
  runs: 'quick',
  params: [readData],
  run: (context, raw) => submit(context, raw).then(bytesToHex),
})

/** Milliseconds. Two seconds are five blocks (EIP-7966 proposes this default). */
const DEFAULT_TIMEOUT_MS = 2_000
/**
 * Milliseconds. A request ends after 30 seconds; an answer before then still has the transaction's
 * hash.
 */
const MAX_TIMEOUT_MS = 25_000

/** Milliseconds as a JSON number (geth) or a QUANTITY (viem). */
const readTimeout: ParamReader<number> = (json) => {
  if (typeof json === 'string') return Number(readUint64(json))
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'uint64')
  if (!Number.isInteger(json) || json < 0) throw new InvalidArgument(`invalid timeout ${json}`)
  return json
}

/**
 * Sends a transaction and answers with its receipt once it is in a block (EIP-7966). If its nonce
 * is above the account's next one, the transaction is refused with the next nonce and is not in the
 * pool: a client that sends a replacement must not end up with both in the pool.
 */
export const sendRawTransactionSync = defineMethod({
  name: 'eth_sendRawTransactionSync',
  runs: 'cheap',
  params: [readData, readTimeout],
  required: 1,
  run: async (context, raw, timeoutMs) => {
    const waitMs = Math.min(timeoutMs || DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS)
    const deadlineMs = context.monotonicMs() + waitMs
    const { submissions, scope } = context
    const verified = await submissions.verify(raw, scope.client, 'evm')
    if ('code' in verified) throw serverError(verified.log)
    const { nonce, sender } = verified
    await checkNonceGap(context, nonce, sender, waitMs)
    const hash = hashOf(await submissions.admit(verified, scope.client))
    for (;;) {
      const view = await context.nextView(Math.max(0, deadlineMs - context.monotonicMs()))
      if (scope.signal.aborted) throw callCancelled()
      const receipt = view === undefined ? undefined : minedReceipt(view, hash)
      if (receipt !== undefined) return receipt
      if (view !== undefined && context.monotonicMs() < deadlineMs) continue
      if ((await nextNonce(view ?? context.view, context, sender)) <= nonce) {
        throw new RpcError(
          RPC_CODES.syncSendNotReady,
          "The transaction was added to the transaction pool but wasn't processed: an earlier nonce is missing, or the account's funds or the fee do not suffice",
          bytesToHex(hash),
        )
      }
      throw new RpcError(
        RPC_CODES.syncSendTimeout,
        `The transaction was added to the transaction pool but wasn't processed in ${goDuration(waitMs)}`,
        bytesToHex(hash),
      )
    }
  },
})

/** Milliseconds. Transactions that a client sends at the same time may come in any order. */
const GAP_WAIT_MS = 1_000

/**
 * Waits until the transactions before `nonce` are in the pool, at most for the next block.
 * @throws RpcError with the account's next nonce when they are not
 */
async function checkNonceGap(context: RpcContext, nonce: bigint, sender: Address, waitMs: number): Promise<void> {
  if ((await nextNonce(context.view, context, sender)) >= nonce) return
  const view = (await context.nextView(Math.min(waitMs, GAP_WAIT_MS))) ?? context.view
  if (context.scope.signal.aborted) throw callCancelled()
  const expected = await nextNonce(view, context, sender)
  if (expected >= nonce) return
  throw new RpcError(
    RPC_CODES.syncSendNonceGap,
    `nonce gap: the transaction has nonce ${nonce} and was not added to the transaction pool, the account's next nonce is ${expected}`,
    toQuantity(expected),
  )
}

/** Returns the nonce after the sender's transactions that can be in the next block. */
async function nextNonce(view: NodeView, { txs }: Pick<RpcContext, 'txs'>, sender: Address): Promise<bigint> {
  const pooled = (await txs.pendingNonce(sender)) ?? 0n
  const { nonce = 0n } = selectState(view, LATEST).state.getAccount(sender) ?? {}
  // The pool may not have processed the newest block yet, or this view may be older than the
  // pool's.
  return pooled > nonce ? pooled : nonce
}

/**
 * Submits an EVM transaction. The pool sees transactions in the order of the calls.
 * @throws RpcError with geth's text when it is refused
 */
export async function submit({ submissions, scope }: RpcContext, raw: Uint8Array): Promise<Hash> {
  return hashOf(await submissions.submit(raw, scope.client, 'evm'))
}

/** @throws RpcError with geth's text when the transaction was refused */
function hashOf({ hash, code, log }: SubmitOutcome): Hash {
  if (code !== 0) throw serverError(log)
  return hash
}

/** Formats milliseconds (less than a minute) as Go prints a duration: 500ms, 1.5s. */
function goDuration(ms: number): string {
  return ms < 1000 ? `${ms}ms` : `${ms / 1000}s`
}
