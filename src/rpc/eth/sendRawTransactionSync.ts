import { bytesToHex } from '../../primitives/bytes.ts'
import { InvalidArgument, RPC_CODES, RpcError } from '../errors.ts'
import { defineMethod, type ParamReader } from '../method.ts'
import { readData } from '../params/data.ts'
import { jsonKind, TypeMismatch } from '../params/mismatch.ts'
import { readUint64 } from '../params/quantity.ts'
import { minedReceipt } from './receipts.ts'
import { submit } from './sendRawTransaction.ts'

/** Milliseconds. Two seconds are five blocks (EIP-7966 proposes this default). */
const DEFAULT_TIMEOUT_MS = 2_000
/** Milliseconds. A request is given up after 30 seconds: before that, the answer still holds the transaction's hash. */
const MAX_TIMEOUT_MS = 25_000

/** Milliseconds as a JSON number (geth) or a QUANTITY (viem). */
const readTimeout: ParamReader<number> = (json) => {
  if (typeof json === 'string') return Number(readUint64(json))
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'uint64')
  if (!Number.isInteger(json) || json < 0) throw new InvalidArgument(`invalid timeout ${json}`)
  return json
}

/** Sends a transaction and answers with its receipt once it is in a block (EIP-7966). */
export const sendRawTransactionSync = defineMethod({
  name: 'eth_sendRawTransactionSync',
  queue: 'cheap',
  params: [readData, readTimeout],
  required: 1,
  run: async (context, raw, timeoutMs) => {
    const wanted = timeoutMs === undefined || timeoutMs === 0 ? DEFAULT_TIMEOUT_MS : timeoutMs
    const patience = Math.min(wanted, MAX_TIMEOUT_MS)
    const hash = await submit(context, raw)
    const deadline = context.now() + patience
    for (;;) {
      const view = await context.nextView(Math.max(0, deadline - context.now()))
      const receipt = view === undefined ? undefined : minedReceipt(view, hash)
      if (receipt !== undefined) return receipt
      if (view !== undefined && context.now() < deadline) continue
      throw new RpcError(
        RPC_CODES.syncSendTimeout,
        `The transaction was added to the transaction pool but wasn't processed in ${goDuration(patience)}`,
        bytesToHex(hash),
      )
    }
  },
})

/** Milliseconds (less than a minute) as Go prints a duration: 500ms, 1.5s. */
function goDuration(ms: number): string {
  return ms < 1000 ? `${ms}ms` : `${ms / 1000}s`
}
