import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseReader } from '../storage/database.ts'
import { accountKey } from './flatCodec.ts'

const ACCOUNTS = columnKey(Column.account)

/** See `NodeView.accounts`. */
export async function* walkAccounts(
  db: Pick<DatabaseReader, 'entries'>,
  { start, reverse = false }: { readonly start?: Address; readonly reverse?: boolean },
): AsyncIterable<Address> {
  const from = start && accountKey(start)
  const range = reverse
    ? { start: ACCOUNTS, end: from ? concatBytes(from, Uint8Array.of(0)) : prefixEnd(ACCOUNTS), reverse }
    : { start: from ?? ACCOUNTS, end: prefixEnd(ACCOUNTS) }
  for await (const [key] of db.entries(range)) yield key.slice(ACCOUNTS.length)
}
