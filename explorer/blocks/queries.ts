import type { Kysely, Selectable } from 'kysely'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { cursorPage, type NumberPage, type NumberPageRequest } from '../api/cursors.ts'
import { viewAmount, viewTime } from '../api/views.ts'
import type { Tables } from '../database/schema.ts'
import type { Block } from './shapes.ts'

type Queries = Kysely<Tables>
type BlockRow = Selectable<Tables['block']>

/** Lists blocks from the newest to the oldest; with `proposer` only those that this consensus key proposed. */
export async function listBlocks(
  queries: Queries,
  { proposer }: { readonly proposer?: Uint8Array },
  { limit, before = Number.MAX_SAFE_INTEGER }: NumberPageRequest,
): Promise<NumberPage<Block>> {
  let select = queries.selectFrom('block').selectAll().where('height', '<', before)
  if (proposer !== undefined) select = select.where('proposer', '=', proposer)
  const rows = await select
    .orderBy('height', 'desc')
    .limit(limit + 1)
    .execute()
  return cursorPage(rows, limit, viewBlock, ({ height }) => height)
}

/** @param id a height, or the hash of either header as 0x… */
export function findBlock(queries: Queries, id: string): Promise<BlockRow | undefined> {
  const select = queries.selectFrom('block').selectAll()
  if (!id.startsWith('0x')) return select.where('height', '=', Number(id)).executeTakeFirst()
  const hash = hexToBytes(id)
  return select
    .where((where) => where.or([where('hash', '=', hash), where('consensus_hash', '=', hash)]))
    .executeTakeFirst()
}

export function viewBlock(row: BlockRow): Block {
  return {
    height: row.height,
    hash: bytesToHex(row.hash),
    consensusHash: bytesToHex(row.consensus_hash),
    time: viewTime(row.time),
    proposer: Buffer.from(row.proposer).toString('hex').toUpperCase(),
    feeRecipient: toChecksumAddress(row.miner),
    gasUsed: row.gas_used,
    gasLimit: row.gas_limit,
    baseFeePerGas: viewAmount(row.base_fee),
    evmTransactions: row.evm_count,
    nativeTransactions: row.native_count,
    size: row.size,
  }
}
