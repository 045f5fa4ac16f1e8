import { amountToBytes, bytesToAmount } from '../database/amount.ts'
import type { IndexWriter } from '../database/indexDatabase.ts'
import { heightOf } from '../database/position.ts'

/** Numbers that one block adds to its hour. */
export interface BlockTotals {
  /** milliseconds since 1970, of the block's header */
  readonly time: number
  readonly evm: number
  readonly native: number
  readonly failed: number
  readonly gasUsed: number
  /** acoin */
  readonly fees: bigint
  /** acoin that transactions moved between accounts, fees not counted */
  readonly moved: bigint
}

interface Hour {
  blocks: number
  evm: number
  native: number
  failed: number
  gasUsed: number
  fees: bigint
  moved: bigint
  accounts: number
}

const HOUR_MS = 3_600_000
const EMPTY: Hour = { blocks: 0, evm: 0, native: 0, failed: 0, gasUsed: 0, fees: 0n, moved: 0n, accounts: 0 }

/**
 * Adds blocks to the numbers of their hours.
 * @param firstPositions one for each account that got its first coins in these blocks: where
 */
export async function addStatistics(
  writer: IndexWriter,
  blocks: readonly { readonly height: number; readonly totals: BlockTotals }[],
  firstPositions: readonly number[],
): Promise<void> {
  const hours = new Map<number, Hour>()
  const hourOfBlock = new Map<number, number>()
  for (const { height, totals } of blocks) {
    const hour = Math.floor(totals.time / HOUR_MS)
    hourOfBlock.set(height, hour)
    const sum = hours.get(hour) ?? { ...EMPTY }
    hours.set(hour, sum)
    sum.blocks++
    sum.evm += totals.evm
    sum.native += totals.native
    sum.failed += totals.failed
    sum.gasUsed += totals.gasUsed
    sum.fees += totals.fees
    sum.moved += totals.moved
  }
  for (const position of firstPositions) hours.get(hourOfBlock.get(heightOf(position))!)!.accounts++
  const stored = await writer.queries
    .selectFrom('statistics_hour')
    .selectAll()
    .where('hour', 'in', [...hours.keys()])
    .execute()
  const before = new Map(stored.map((row) => [row.hour, row]))
  await writer.replace(
    'statistics_hour',
    [...hours].map(([hour, sum]) => {
      const old = before.get(hour)
      return {
        hour,
        blocks: sum.blocks + (old?.blocks ?? 0),
        evm_count: sum.evm + (old?.evm_count ?? 0),
        native_count: sum.native + (old?.native_count ?? 0),
        failed_count: sum.failed + (old?.failed_count ?? 0),
        gas_used: sum.gasUsed + (old?.gas_used ?? 0),
        fees: amountToBytes(sum.fees + (old === undefined ? 0n : bytesToAmount(old.fees))),
        moved: amountToBytes(sum.moved + (old === undefined ? 0n : bytesToAmount(old.moved))),
        new_accounts: sum.accounts + (old?.new_accounts ?? 0),
      }
    }),
  )
}
