import { hexToBytes } from '../../src/primitives/bytes.ts'
import { amountToBytes } from '../database/amount.ts'
import type { AddRow } from '../database/rowSet.ts'
import type { EthereumTransaction, Receipt } from '../node/answers.ts'
import { type Call, isListed, packCalls } from './callTree.ts'
import type { ContractChange } from './contractBook.ts'
import type { TransactionTrace } from './fetchTraces.ts'
import { CALL_KINDS, CREATION_KINDS } from './tables.ts'

/**
 * Makes the rows of an EVM transaction's logs and calls.
 * @param add takes one row
 * @returns the contracts that it created and destroyed, in the order in which it did
 */
export function addEvmRows(
  add: AddRow,
  position: number,
  transaction: Pick<EthereumTransaction, 'from' | 'to'>,
  receipt: Pick<Receipt, 'logs' | 'status' | 'contractAddress'>,
  trace: TransactionTrace | undefined,
): readonly ContractChange[] {
  for (const [ordinal, log] of receipt.logs.entries()) {
    const topic = (at: number): Uint8Array | null => (log.topics[at] === undefined ? null : hexToBytes(log.topics[at]))
    add('log', {
      position,
      ordinal,
      address: hexToBytes(log.address),
      topic0: topic(0),
      topic1: topic(1),
      topic2: topic(2),
      topic3: topic(3),
      data: hexToBytes(log.data),
      log_index: Number(log.logIndex),
    })
  }
  if (receipt.logs.length > 0 || trace !== undefined) {
    add('tx_run', { position, logs: receipt.logs.length, trace: trace?.state ?? null, calls: trace?.tree?.count ?? 0 })
  }
  const changes: ContractChange[] = []
  if (transaction.to === null && receipt.contractAddress !== null && Number(receipt.status) === 1) {
    const [address, creator] = [hexToBytes(receipt.contractAddress), hexToBytes(transaction.from)]
    changes.push({ position, ordinal: 0, address, created: { creator, kind: CREATION_KINDS.transaction } })
  }
  if (trace?.tree === undefined) return changes
  const { calls } = trace.tree
  add('call_tree', { position, calls: packCalls(calls) })
  for (const call of calls) {
    if (!isListed(call)) continue
    addInternalCall(add, position, call)
    const change = contractChange(position, call)
    if (change !== undefined) changes.push(change)
  }
  return changes
}

function addInternalCall(add: AddRow, position: number, call: Call): void {
  const { ordinal, depth, kind, from, to, value, gas, gasUsed, isEffective, error } = call
  add('internal_call', {
    position,
    ordinal,
    depth,
    kind,
    sender: hexToBytes(from),
    recipient: to === null ? null : hexToBytes(to),
    value: amountToBytes(value),
    gas,
    gas_used: gasUsed,
    is_ok: isEffective ? 1 : 0,
    error,
  })
  for (const account of new Set(to === null ? [from] : [from, to])) {
    add('account_call', { address: hexToBytes(account), position, ordinal })
  }
}

function contractChange(position: number, { ordinal, kind, from, to, isEffective }: Call): ContractChange | undefined {
  if (!isEffective || to === null) return undefined
  switch (kind) {
    case CALL_KINDS.create:
    case CALL_KINDS.create2: {
      const way = kind === CALL_KINDS.create ? CREATION_KINDS.create : CREATION_KINDS.create2
      return { position, ordinal, address: hexToBytes(to), created: { creator: hexToBytes(from), kind: way } }
    }
    case CALL_KINDS.selfdestruct:
      return { position, ordinal, address: hexToBytes(from), created: undefined }
    default:
      return undefined
  }
}
