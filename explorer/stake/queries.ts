import { type Kysely, type Selectable, sql } from 'kysely'
import { BECH32_OPERATOR, toBech32, toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesKey, bytesToHex, keyBytes } from '../../src/primitives/bytes.ts'
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
import { viewAmount, viewTime } from '../api/views.ts'
import { amountToBytes, bytesToAmount } from '../database/amount.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import type { Delegator, StakingEvent, Validator, ValidatorDetail } from './shapes.ts'
import type { ValidatorDetail as StoredDetail } from './stakingBook.ts'
import { newestBlock, RECENT_BLOCKS, signedBlocks, spanOf, UPTIME_BLOCKS } from './uptime.ts'

/* Validators, delegations and staking events. Each list is one walk along an index. */

type Queries = Kysely<Tables>
type ValidatorRow = Selectable<Tables['validator']>

/** Lists validators, the most stake first. */
export async function listValidators(
  queries: Queries,
  state: 'active' | 'inactive' | undefined,
  { limit, before }: TextPageRequest,
): Promise<TextPage<Validator>> {
  const [tokens, operator] = readAddressCursor(before)
  let select = queries
    .selectFrom('validator')
    .selectAll()
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('tokens', 'operator'), '<', tuple(amountToBytes(tokens ?? 2n ** 256n - 1n), operator)),
    )
    .orderBy('tokens', 'desc')
    .orderBy('operator', 'desc')
    .limit(limit + 1)
  if (state !== undefined) select = select.where('status', state === 'active' ? '=' : '!=', 'bonded')
  const [rows, now] = await Promise.all([select.execute(), newestBlock(queries)])
  const span = spanOf(now, RECENT_BLOCKS)
  const part = rows.slice(0, limit)
  const signed = await signedBlocks(queries, part, span)
  const view = (row: ValidatorRow) => viewValidator(row, now.time, signed.get(bytesKey(row.consensus_address))!)
  return cursorPage(rows, limit, view, (row) => `${viewAmount(row.tokens)}.${bytesToHex(row.operator)}`)
}

/** @param address of the operator's account, or of the consensus key */
export async function findValidator(queries: Queries, address: Uint8Array): Promise<ValidatorRow | undefined> {
  const byOperator = await queries
    .selectFrom('validator')
    .selectAll()
    .where('operator', '=', address)
    .executeTakeFirst()
  return (
    byOperator ??
    (await queries.selectFrom('validator').selectAll().where('consensus_address', '=', address).executeTakeFirst())
  )
}

/** Validators whose moniker begins with a text. */
export async function searchValidators(
  queries: Queries,
  text: string,
  limit: number,
): Promise<readonly { readonly operator: string; readonly moniker: string }[]> {
  const start = Buffer.from(text.toLowerCase())
  // UTF-8 has no byte 0xff, so this is above every text with that prefix.
  const end = Uint8Array.of(...start, 0xff)
  const rows = await queries
    .selectFrom('validator')
    .select(['operator', 'detail'])
    .where('moniker_key', '>=', start)
    .where('moniker_key', '<', end)
    .orderBy('moniker_key')
    .limit(limit)
    .execute()
  return rows.map(({ operator, detail }) => viewName(operator, detail))
}

export async function viewDetail(queries: Queries, row: ValidatorRow): Promise<ValidatorDetail> {
  const now = await newestBlock(queries)
  const [long, slashes, own] = await Promise.all([
    signedBlocks(queries, [row], spanOf(now, UPTIME_BLOCKS)),
    queries
      .selectFrom('staking_event')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('validator', '=', row.operator)
      // A literal, as in the condition of the index of slashes.
      .where('kind', '=', sql.lit('slash'))
      .executeTakeFirstOrThrow(),
    queries
      .selectFrom('delegation')
      .select('shares')
      .where('delegator', '=', row.operator)
      .where('validator', '=', row.operator)
      .executeTakeFirst(),
  ])
  const letters = long.get(bytesKey(row.consensus_address))!
  const { description, commission, minSelfDelegation } = JSON.parse(row.detail) as StoredDetail
  const { rate: _rate, max_rate: maxRate, max_change_rate: maxChange } = commission.commission_rates
  const summary = viewValidator(row, now.time, letters.slice(-RECENT_BLOCKS))
  return {
    ...summary,
    identity: description.identity,
    website: description.website,
    securityContact: description.security_contact,
    details: description.details,
    maxCommissionRate: viewShare(maxRate),
    maxCommissionChange: viewShare(maxChange),
    commissionChanged: viewTime(Date.parse(commission.update_time)),
    minSelfDelegation,
    selfDelegation: own === undefined ? '0' : stakeOf(own.shares, row).toString(),
    unbondingTime: summary.status === 'unbonding' ? viewTime(row.unbonding_time) : null,
    uptime: {
      blocks: [...letters].filter((letter) => letter !== '-').length,
      signed: [...letters].filter((letter) => letter === 's').length,
    },
    slashes: Number(slashes.count),
  }
}

/** Lists a validator's delegators, the largest first. */
export async function listDelegators(
  queries: Queries,
  validator: ValidatorRow,
  { limit, before }: TextPageRequest,
): Promise<TextPage<Delegator>> {
  const [shares, delegator] = readAddressCursor(before)
  const rows = await queries
    .selectFrom('delegation')
    .select(['delegator', 'shares'])
    .where('validator', '=', validator.operator)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('shares', 'delegator'), '<', tuple(amountToBytes(shares ?? 2n ** 256n - 1n), delegator)),
    )
    .orderBy('shares', 'desc')
    .orderBy('delegator', 'desc')
    .limit(limit + 1)
    .execute()
  const view = (row: (typeof rows)[number]) => ({
    address: toChecksumAddress(row.delegator),
    amount: stakeOf(row.shares, validator).toString(),
  })
  return cursorPage(rows, limit, view, (row) => `${viewAmount(row.shares)}.${bytesToHex(row.delegator)}`)
}

/** Lists an account's delegations, the largest first. An account delegates to few validators. */
export async function listDelegations(
  queries: Queries,
  delegator: Uint8Array,
): Promise<readonly { readonly operator: string; readonly moniker: string; readonly amount: bigint }[]> {
  const rows = await queries
    .selectFrom('delegation')
    .innerJoin('validator', 'validator.operator', 'delegation.validator')
    .select(['operator', 'tokens', 'validator.shares as of', 'detail', 'delegation.shares'])
    .where('delegator', '=', delegator)
    .execute()
  return rows
    .map((row) => ({
      ...viewName(row.operator, row.detail),
      amount: stakeOf(row.shares, { tokens: row.tokens, shares: row.of }),
    }))
    .toSorted((a, b) => (a.amount < b.amount ? 1 : a.amount > b.amount ? -1 : 0))
}

/** Lists the events of a validator, or of an account's stake, the newest first. */
export async function listStakingEvents(
  queries: Queries,
  of: { readonly validator: Uint8Array } | { readonly delegator: Uint8Array },
  shown: TextPageRequest,
): Promise<TextPage<StakingEvent>> {
  const part = newestRows(queries, 'staking_event', shown)
  const read = (own: PageRows<'staking_event'>) =>
    queries
      .selectFrom(own.as('staking_event'))
      .leftJoin('tx', 'tx.position', 'staking_event.position')
      .selectAll('staking_event')
      .select('tx.hash')
      .orderBy('staking_event.position', 'desc')
      .orderBy('staking_event.ordinal', 'desc')
      .execute()
  const rows =
    'delegator' in of
      ? await read(part.where('delegator', '=', of.delegator))
      : // Two walks along two indexes, merged: an `or` of both columns would read either index in full.
        mergePlaced(
          await Promise.all(
            (['validator', 'destination'] as const).map((side) => read(part.where(side, '=', of.validator))),
          ),
        )
  const named = rows.slice(0, shown.limit).flatMap(({ validator, destination }) => [validator, destination])
  const names = await namesOf(
    queries,
    named.filter((operator) => operator !== null),
  )
  const nameOf = (bytes: Uint8Array) => names.get(bytesKey(bytes)) ?? viewName(bytes, undefined)
  return placePage(rows, shown.limit, (row) => ({
    height: heightOf(row.position),
    transaction: row.hash === null ? null : bytesToHex(row.hash),
    kind: row.kind as StakingEvent['kind'],
    validator: nameOf(row.validator),
    to: row.destination === null ? null : nameOf(row.destination),
    delegator: row.delegator === null ? null : toChecksumAddress(row.delegator),
    amount: row.amount === null ? null : viewAmount(row.amount),
    reason: row.reason,
  }))
}

type Name = StakingEvent['validator']

/** Names of validators by their operators' accounts. */
export async function namesOf(queries: Queries, operators: readonly Uint8Array[]): Promise<ReadonlyMap<string, Name>> {
  const keys = [...new Set(operators.map(bytesKey))]
  if (keys.length === 0) return new Map()
  const rows = await queries
    .selectFrom('validator')
    .select(['operator', 'detail'])
    .where('operator', 'in', keys.map(keyBytes))
    .execute()
  return new Map(rows.map(({ operator, detail }) => [bytesKey(operator), viewName(operator, detail)]))
}

function viewName(operator: Uint8Array, detail: string | undefined): Name {
  const moniker = detail === undefined ? '' : (JSON.parse(detail) as StoredDetail).description.moniker
  return { operator: toBech32(operator, BECH32_OPERATOR), moniker }
}

/** Converts a validator's shares to acoin, like the SDK's TokensFromShares. */
function stakeOf(shares: Uint8Array, of: Pick<ValidatorRow, 'tokens' | 'shares'>): bigint {
  const total = bytesToAmount(of.shares)
  return total === 0n ? 0n : (bytesToAmount(shares) * bytesToAmount(of.tokens)) / total
}

function viewValidator(row: ValidatorRow, now: number, letters: string): Validator {
  const { commission } = JSON.parse(row.detail) as StoredDetail
  // No event reports the end of unbonding.
  const status = row.status === 'unbonding' && row.unbonding_time <= now ? 'unbonded' : row.status
  const tokens = bytesToAmount(row.tokens)
  return {
    ...viewName(row.operator, row.detail),
    address: toChecksumAddress(row.operator),
    consensusAddress: Buffer.from(row.consensus_address).toString('hex').toUpperCase(),
    status: status as Validator['status'],
    isJailed: row.is_jailed === 1,
    isTombstoned: row.is_tombstoned === 1,
    tokens: tokens.toString(),
    power: status === 'bonded' ? Number(tokens / 10n ** 18n) : 0,
    commissionRate: viewShare(commission.commission_rates.rate),
    delegators: row.delegators,
    recentBlocks: letters,
  }
}

/** A decimal of the SDK without trailing zeros. */
function viewShare(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
