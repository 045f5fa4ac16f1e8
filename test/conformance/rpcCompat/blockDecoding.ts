import { type EthereumHeader, readEthereumHeader } from '../../../src/chain/block/ethereumBlock.ts'
import { decodeTransaction, type Transaction } from '../../../src/chain/block/transaction.ts'
import type { Address } from '../../../src/primitives/address.ts'
import {
  atEnd,
  enterList,
  isListNext,
  leaveList,
  openRLP,
  type RLPCursor,
  readBytes,
  readFixedBytes,
  readInteger,
} from '../../../src/primitives/rlp.ts'

/** A block of an Ethereum chain of any fork. */
export interface DecodedBlock {
  readonly header: EthereumHeader
  readonly transactions: readonly Transaction[]
  readonly uncles: readonly EthereumHeader[]
  /** undefined before Shanghai */
  readonly withdrawals: readonly Withdrawal[] | undefined
  /** its RLP */
  readonly encoded: Uint8Array
}

interface Withdrawal {
  readonly address: Address
  readonly amountGwei: bigint
}

const ANY = { type: 'block', path: '' }

/** The blocks of a file that holds them one after the other. @throws DecodingError */
export function decodeBlocks(bytes: Uint8Array): DecodedBlock[] {
  const cursor = openRLP(bytes)
  const blocks: DecodedBlock[] = []
  while (!atEnd(cursor)) blocks.push(readBlock(cursor))
  return blocks
}

function readBlock(cursor: RLPCursor): DecodedBlock {
  const start = cursor.offset
  const outerEnd = enterList(cursor, ANY)
  const header = readEthereumHeader(cursor)
  const transactions = readList(cursor, readTransaction)
  const uncles = readList(cursor, readEthereumHeader)
  const withdrawals = atEnd(cursor) ? undefined : readList(cursor, readWithdrawal)
  leaveList(cursor, outerEnd, ANY)
  return { header, transactions, uncles, withdrawals, encoded: cursor.bytes.slice(start, cursor.offset) }
}

function readList<T>(cursor: RLPCursor, read: (cursor: RLPCursor) => T): T[] {
  const outerEnd = enterList(cursor, ANY)
  const items: T[] = []
  while (!atEnd(cursor)) items.push(read(cursor))
  leaveList(cursor, outerEnd, ANY)
  return items
}

function readTransaction(cursor: RLPCursor): Transaction {
  if (!isListNext(cursor)) return decodeTransaction(readBytes(cursor, ANY))
  const start = cursor.offset
  const outerEnd = enterList(cursor, ANY)
  cursor.offset = cursor.end
  leaveList(cursor, outerEnd, ANY)
  return decodeTransaction(cursor.bytes.subarray(start, cursor.offset))
}

function readWithdrawal(cursor: RLPCursor): Withdrawal {
  const outerEnd = enterList(cursor, ANY)
  readInteger(cursor, 8, ANY)
  readInteger(cursor, 8, ANY)
  const address = readFixedBytes(cursor, 20, ANY)
  const amountGwei = readInteger(cursor, 8, ANY)
  leaveList(cursor, outerEnd, ANY)
  return { address, amountGwei }
}
