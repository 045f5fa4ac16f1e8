import type { Kysely, SelectQueryBuilder } from 'kysely'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, EMPTY_BYTES } from '../../src/primitives/bytes.ts'
import {
  cursorPage,
  mergePlaced,
  newestRows,
  type PageRows,
  placePage,
  readAddressCursor,
  type TextPage,
  type TextPageRequest,
} from '../api/cursors.ts'
import { viewAmount } from '../api/views.ts'
import { amountToBytes } from '../database/amount.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import type { Token, TokenHolder, TokenHolding, TokenTransfer } from './shapes.ts'
import { TOKEN_KINDS } from './tables.ts'
import { searchKey } from './tokenNames.ts'

/* Tokens, holders and transfers. Each list is one walk along an index. */

type Queries = Kysely<Tables>

interface NameRow {
  readonly token: Uint8Array
  readonly kind: number
  readonly name: string | null
  readonly symbol: string | null
  readonly decimals: number | null
}

const NAME = ['token_name.name', 'token_name.symbol', 'token_name.decimals'] as const
const KINDS = Object.fromEntries(Object.entries(TOKEN_KINDS).map(([name, kind]) => [kind, name])) as Readonly<
  Record<number, Token['kind']>
>

/** Lists tokens, the most holders first. */
export async function listTokens(queries: Queries, { limit, before }: TextPageRequest): Promise<TextPage<Token>> {
  const [holders, address] = readAddressCursor(before)
  const rows = await selectTokens(queries)
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('token.holders', 'token.address'),
        '<',
        tuple(Math.min(Number(holders ?? Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER), address),
      ),
    )
    .orderBy('token.holders', 'desc')
    .orderBy('token.address', 'desc')
    .limit(limit + 1)
    .execute()
  return cursorPage(rows, limit, viewToken, (row) => `${row.holders}.${bytesToHex(row.token)}`)
}

export async function findToken(queries: Queries, address: Uint8Array): Promise<Token | undefined> {
  const row = await selectTokens(queries).where('token.address', '=', address).executeTakeFirst()
  return row === undefined ? undefined : viewToken(row)
}

/** Lists the holders of a token, the largest first. */
export async function listHolders(
  queries: Queries,
  token: Uint8Array,
  { limit, before }: TextPageRequest,
): Promise<TextPage<TokenHolder>> {
  const [amount, holder] = readAddressCursor(before)
  const rows = await queries
    .selectFrom('token_balance')
    .select(['holder', 'amount'])
    .where('token', '=', token)
    .where('token_id', '=', EMPTY_BYTES)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('amount', 'holder'), '<', tuple(amountToBytes(amount ?? 2n ** 256n - 1n), holder)),
    )
    .orderBy('amount', 'desc')
    .orderBy('holder', 'desc')
    .limit(limit + 1)
    .execute()
  const view = (row: (typeof rows)[number]) => ({
    address: toChecksumAddress(row.holder),
    amount: viewAmount(row.amount),
  })
  return cursorPage(rows, limit, view, (row) => `${viewAmount(row.amount)}.${bytesToHex(row.holder)}`)
}

/** Lists an account's tokens by address, in descending order. */
export async function listHoldings(
  queries: Queries,
  holder: Uint8Array,
  { limit, before }: TextPageRequest,
): Promise<TextPage<TokenHolding>> {
  const [, last] = readAddressCursor(before)
  const rows = await queries
    .selectFrom('token_balance')
    .innerJoin('token', 'token.address', 'token_balance.token')
    .leftJoin('token_name', 'token_name.address', 'token_balance.token')
    .select(['token_balance.token', 'token_balance.amount', 'token.kind', ...NAME])
    .where('token_balance.holder', '=', holder)
    .where('token_balance.token_id', '=', EMPTY_BYTES)
    .where('token_balance.token', '<', last)
    .orderBy('token_balance.token', 'desc')
    .limit(limit + 1)
    .execute()
  const view = (row: (typeof rows)[number]) => ({ token: viewName(row), amount: viewAmount(row.amount) })
  return cursorPage(rows, limit, view, (row) => `0.${bytesToHex(row.token)}`)
}

/** Transfers of a token, of an account, or of one transaction. */
export interface TransferFilter {
  readonly token?: Uint8Array
  readonly account?: Uint8Array
  readonly position?: number
}

/** Lists transfers, the newest first. */
export async function listTokenTransfers(
  queries: Queries,
  { token, account, position }: TransferFilter,
  shown: TextPageRequest,
): Promise<TextPage<TokenTransfer>> {
  let part = newestRows(queries, 'token_transfer', shown)
  if (token !== undefined) part = part.where('token', '=', token)
  if (position !== undefined) part = part.where('position', '=', position)
  if (account === undefined) return placePage(await selectTransfers(queries, part).execute(), shown.limit, viewTransfer)
  // Two walks along two indexes, merged: an `or` of both columns would read either index in full.
  const found = await Promise.all(
    (['sender', 'recipient'] as const).map((side) =>
      selectTransfers(queries, part.where(side, '=', account)).execute(),
    ),
  )
  return placePage(mergePlaced(found), shown.limit, viewTransfer)
}

/** Most matches of one kind that are read. */
const MAX_FOUND = 100

/** Tokens whose name or symbol begins with a text, the most holders first. */
export async function searchTokens(queries: Queries, text: string, limit: number): Promise<readonly Token[]> {
  const start = searchKey(text)
  // UTF-8 has no byte 0xff, so this is above every text with that prefix.
  const end = Uint8Array.of(...start, 0xff)
  const found = await Promise.all(
    (['token_name.symbol_key', 'token_name.name_key'] as const).map((key) =>
      selectTokens(queries).where(key, '>=', start).where(key, '<', end).orderBy(key).limit(MAX_FOUND).execute(),
    ),
  )
  const rows = new Map(found.flat().map((row) => [bytesToHex(row.token), row]))
  return [...rows.values()]
    .toSorted((a, b) => b.holders - a.holders)
    .slice(0, limit)
    .map(viewToken)
}

function selectTokens(queries: Queries) {
  return queries
    .selectFrom('token')
    .leftJoin('token_name', 'token_name.address', 'token.address')
    .select(['token.address as token', 'token.kind', 'is_exact', 'holders', 'transfers', 'supply', ...NAME])
}

/** @param part see {@link PageRows} */
function selectTransfers(queries: Queries, part: PageRows<'token_transfer'>) {
  return queries
    .selectFrom(part.as('token_transfer'))
    .innerJoin('token', 'token.address', 'token_transfer.token')
    .innerJoin('tx', 'tx.position', 'token_transfer.position')
    .leftJoin('token_name', 'token_name.address', 'token_transfer.token')
    .select([
      'token_transfer.position',
      'token_transfer.ordinal',
      'token_transfer.token',
      'token_transfer.sender',
      'token_transfer.recipient',
      'token_transfer.amount',
      'token_transfer.token_id',
      'token.kind',
      'tx.hash',
      ...NAME,
    ])
    .orderBy('token_transfer.position', 'desc')
    .orderBy('token_transfer.ordinal', 'desc')
}

type RowOf<Q> = Q extends SelectQueryBuilder<infer _D, infer _T, infer O> ? O : never
type TransferRow = RowOf<ReturnType<typeof selectTransfers>>
type TokenRow = RowOf<ReturnType<typeof selectTokens>>

function viewName({ token, kind, name, symbol, decimals }: NameRow): TokenTransfer['token'] {
  return { address: toChecksumAddress(token), kind: KINDS[kind]!, name, symbol, decimals }
}

function viewToken(row: TokenRow): Token {
  const { holders, transfers, supply, is_exact } = row
  return { ...viewName(row), holders, transfers, supply: viewAmount(supply), isExact: is_exact === 1 }
}

function viewTransfer(row: TransferRow): TokenTransfer {
  return {
    height: heightOf(row.position),
    transaction: bytesToHex(row.hash),
    token: viewName(row),
    from: row.sender === null ? null : toChecksumAddress(row.sender),
    to: row.recipient === null ? null : toChecksumAddress(row.recipient),
    amount: viewAmount(row.amount),
    id: row.token_id.length === 0 ? null : bytesToBigInt(row.token_id).toString(),
  }
}
