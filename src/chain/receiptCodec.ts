import { encodeRLP } from '../primitives/rlp.ts'
import type { Receipt } from './receipt.ts'

/** The consensus encoding, of which the receipts root is made (EIP-658, EIP-2718). */
export function encodeReceipt(
  receipt: Pick<Receipt, 'type' | 'status' | 'cumulativeGasUsed' | 'logsBloom' | 'logs'>,
): Uint8Array {
  const { status, cumulativeGasUsed, logsBloom, logs } = receipt
  const list = encodeRLP([
    typeof status === 'number' ? BigInt(status) : status,
    cumulativeGasUsed,
    logsBloom,
    logs.map((log) => [log.address, log.topics, log.data]),
  ])
  if (receipt.type === 0) return list
  const typed = new Uint8Array(list.length + 1)
  typed[0] = receipt.type
  typed.set(list, 1)
  return typed
}
