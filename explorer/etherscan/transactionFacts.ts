import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { viewAmount } from '../api/views.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import { TX_KINDS } from '../transactions/tables.ts'
import { tooMuch } from './action.ts'

const READ_AT_ONCE = 500
/** Transactions read at once with their data, which may be long. */
const DATA_AT_ONCE = 100
/** Characters of what is stored of transactions, in one answer. */
const MAX_DETAIL = 16 * 1024 * 1024

/** Fields of a row's EVM transaction in Etherscan's lists. */
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
  /** what it paid, acoin per gas */
  readonly gasPrice: string
  readonly input: string
  /** empty: it created no contract */
  readonly contractAddress: string
}

interface Detail {
  readonly input: string
  readonly effectiveGasPrice: string
  readonly transactionIndex: string
  readonly cumulativeGasUsed: string
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
      const own = JSON.parse(row.detail) as Detail
      const height = heightOf(row.position)
      const block = blocks.get(height)!
      facts.set(row.position, {
        height,
        time: block.time,
        blockHash: block.hash,
        hash: bytesToHex(row.hash),
        index: Number(own.transactionIndex),
        isOk: row.is_ok === 1,
        from: bytesToHex(row.sender),
        to: row.recipient === null ? '' : bytesToHex(row.recipient),
        value: viewAmount(row.value),
        nonce: row.nonce,
        gas: row.gas_limit,
        gasUsed: row.gas_used,
        cumulativeGasUsed: Number(own.cumulativeGasUsed),
        gasPrice: BigInt(own.effectiveGasPrice).toString(),
        input: own.input,
        contractAddress: row.is_ok === 1 ? (own.contractAddress ?? '') : '',
      })
    }
    await setImmediate()
  }
  return facts
}

interface BlockFacts {
  readonly hash: string
  readonly time: number
}

async function readBlocks(
  queries: Kysely<Tables>,
  heights: readonly number[],
): Promise<ReadonlyMap<number, BlockFacts>> {
  const blocks = new Map<number, BlockFacts>()
  for (let at = 0; at < heights.length; at += READ_AT_ONCE) {
    const rows = await queries
      .selectFrom('block')
      .select(['height', 'hash', 'time'])
      .where('height', 'in', heights.slice(at, at + READ_AT_ONCE))
      .execute()
    for (const { height, hash, time } of rows) {
      blocks.set(height, { hash: bytesToHex(hash), time: Math.floor(time / 1000) })
    }
    await setImmediate()
  }
  return blocks
}
