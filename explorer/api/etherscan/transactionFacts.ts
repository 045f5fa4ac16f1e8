import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { beginPosition, endPosition, heightOf } from '../../database/position.ts'
import { type Tables, TX_KINDS } from '../../database/schema.ts'
import { viewAmount } from '../views.ts'
import { tooMuch } from './action.ts'

const READ_AT_ONCE = 500
/** The same of transactions with their data, which may be long. */
const DATA_AT_ONCE = 100
/** Rows after which others are served: SQLite answers at once. */
const ROWS_A_TURN = 1_000
/** Characters of what is stored of transactions, in one answer. */
const MAX_DETAIL = 16 * 1024 * 1024
/** Transactions of the blocks of an answer: the gas before a transaction in its block is added up from them. */
export const MAX_IN_BLOCKS = 200_000

/** What Etherscan's lists say of the EVM transaction that a row belongs to. */
export interface TransactionFacts {
  readonly height: number
  /** seconds since 1970 */
  readonly time: number
  readonly blockHash: string
  readonly hash: string
  /** its place among the EVM transactions of its block */
  readonly index: number
  readonly isOk: boolean
  readonly from: string
  /** empty: it created a contract */
  readonly to: string
  readonly value: string
  readonly nonce: number
  readonly gas: number
  readonly gasUsed: number
  /** with the transactions before it in its block */
  readonly cumulativeGasUsed: number
  /** what it paid, acoin a gas */
  readonly gasPrice: string
  readonly input: string
  /** empty: it created none */
  readonly contractAddress: string
}

interface Detail {
  readonly input: string
  readonly effectiveGasPrice: string
  readonly contractAddress: string | null
}

/**
 * Reads the EVM transactions at these positions.
 * @throws RequestError when their data are too long for one answer
 */
export async function transactionFacts(
  queries: Kysely<Tables>,
  positions: readonly number[],
): Promise<ReadonlyMap<number, TransactionFacts>> {
  const facts = new Map<number, TransactionFacts>()
  const wanted = [...new Set(positions)]
  const blocks = await readBlocks(queries, [...new Set(wanted.map(heightOf))])
  let length = 0
  for (let at = 0; at < wanted.length; at += DATA_AT_ONCE) {
    const part = wanted.slice(at, at + DATA_AT_ONCE)
    const rows = await queries
      .selectFrom('tx')
      .selectAll()
      .where('position', 'in', part)
      .where('kind', '=', TX_KINDS.evm)
      .execute()
    for (const row of rows) {
      length += row.detail.length
      if (length > MAX_DETAIL) throw tooMuch()
      const { input, effectiveGasPrice, contractAddress } = JSON.parse(row.detail) as Detail
      const height = heightOf(row.position)
      const block = blocks.get(height)!
      const place = block.places.get(row.position)!
      facts.set(row.position, {
        height,
        time: block.time,
        blockHash: block.hash,
        hash: bytesToHex(row.hash),
        index: place.index,
        isOk: row.is_ok === 1,
        from: bytesToHex(row.sender),
        to: row.recipient === null ? '' : bytesToHex(row.recipient),
        value: viewAmount(row.value),
        nonce: row.nonce,
        gas: row.gas_limit,
        gasUsed: row.gas_used,
        cumulativeGasUsed: place.gas,
        gasPrice: BigInt(effectiveGasPrice).toString(),
        input,
        contractAddress: row.is_ok === 1 ? (contractAddress ?? '') : '',
      })
    }
    await setImmediate()
  }
  return facts
}

interface BlockFacts {
  readonly hash: string
  readonly time: number
  /** of its EVM transactions: which it is, and the gas up to its end */
  readonly places: ReadonlyMap<number, { readonly index: number; readonly gas: number }>
}

async function readBlocks(
  queries: Kysely<Tables>,
  heights: readonly number[],
): Promise<ReadonlyMap<number, BlockFacts>> {
  const blocks = new Map<number, BlockFacts>()
  let transactions = 0
  let pauseAfter = ROWS_A_TURN
  for (let at = 0; at < heights.length; at += READ_AT_ONCE) {
    const part = heights.slice(at, at + READ_AT_ONCE)
    const rows = await queries
      .selectFrom('block')
      .select(['height', 'hash', 'time', 'evm_count', 'native_count'])
      .where('height', 'in', part)
      .execute()
    for (const row of rows) {
      transactions += row.evm_count + row.native_count
      if (transactions > MAX_IN_BLOCKS) throw tooMuch()
      const places = await readPlaces(queries, row.height)
      blocks.set(row.height, { hash: bytesToHex(row.hash), time: Math.floor(row.time / 1000), places })
      if (transactions < pauseAfter) continue
      pauseAfter = transactions + ROWS_A_TURN
      await setImmediate()
    }
    await setImmediate()
  }
  return blocks
}

async function readPlaces(queries: Kysely<Tables>, height: number): Promise<BlockFacts['places']> {
  const rows = await queries
    .selectFrom('tx')
    .select(['position', 'gas_used'])
    .where('position', '>', beginPosition(height))
    .where('position', '<', endPosition(height))
    .where('kind', '=', TX_KINDS.evm)
    .orderBy('position')
    .execute()
  let gas = 0
  return new Map(
    rows.map(({ position, gas_used }, index) => {
      gas += gas_used
      return [position, { index, gas }]
    }),
  )
}
