import type { Selectable, Transaction } from 'kysely'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { amountToBytes } from '../database/amount.ts'
import type { ServiceQueries, ServiceTables } from '../database/services.ts'

export type Grant = Selectable<ServiceTables['faucet_grant']>

/** acoin of a grant. */
export const GRANT_AMOUNT = 100n * 10n ** 18n
/** A limit starts anew this long after its first grant. */
export const LIMIT_MS = 24 * 3_600_000
/** Grants in {@link LIMIT_MS}: an address has one. */
export const CLIENT_GRANTS = 5
const ALL_GRANTS = 1_000
/** The subjects of limits. */
const ALL = 'all'
const clientSubject = (client: string): string => `client ${client}`

/** The limit that is reached, and when a grant is possible again. */
export interface Refused {
  readonly limit: 'address' | 'client' | 'all'
  readonly retryAtMs: number
}

class LimitReached extends Error {}

/**
 * Stores a grant for `address` durably, unless a limit is reached. Requests at the same time, also to several
 * explorers over one database, wait for each other at the rows of their limits.
 * @param client as `ClientAddresses.of` returns it
 * @returns the grant's number, or the limit that is reached
 */
export async function storeGrant(
  services: ServiceQueries,
  address: Uint8Array,
  client: string,
  nowMs: number,
): Promise<number | Refused> {
  // In this order in every transaction: two of them cannot wait for each other.
  const limits = [
    { limit: 'address', subject: `address ${bytesToHex(address)}`, most: 1 },
    { limit: 'client', subject: clientSubject(client), most: CLIENT_GRANTS },
    { limit: 'all', subject: ALL, most: ALL_GRANTS },
  ] as const
  let reached: (typeof limits)[number] | undefined
  try {
    return await services.transaction().execute(async (transaction) => {
      for (const entry of limits) {
        if (await take(transaction, entry.subject, entry.most, nowMs)) continue
        reached = entry
        throw new LimitReached()
      }
      const { number } = await transaction
        .insertInto('faucet_grant')
        .values({ address, amount: amountToBytes(GRANT_AMOUNT), created: nowMs, state: 'waiting' })
        .returning('number')
        .executeTakeFirstOrThrow()
      return Number(number)
    })
  } catch (error) {
    if (!(error instanceof LimitReached) || reached === undefined) throw error
  }
  const row = await services
    .selectFrom('faucet_limit')
    .select('since')
    .where('subject', '=', reached.subject)
    .executeTakeFirst()
  return { limit: reached.limit, retryAtMs: (row?.since ?? nowMs) + LIMIT_MS }
}

/** How many grants there may still be. */
export interface LimitLeft {
  readonly left: number
  /** when there may be more; undefined: some are left */
  readonly retryAtMs: number | undefined
}

/** Reads how much is left of the limits of a client and of all clients together. */
export async function readLimits(
  services: ServiceQueries,
  client: string,
  nowMs: number,
): Promise<{ readonly client: LimitLeft; readonly all: LimitLeft }> {
  const own = clientSubject(client)
  const rows = await services.selectFrom('faucet_limit').selectAll().where('subject', 'in', [own, ALL]).execute()
  const leftOf = (subject: string, most: number): LimitLeft => {
    const row = rows.find((entry) => entry.subject === subject)
    if (row === undefined || row.since <= nowMs - LIMIT_MS) return { left: most, retryAtMs: undefined }
    const left = most - row.count
    return { left, retryAtMs: left > 0 ? undefined : row.since + LIMIT_MS }
  }
  return { client: leftOf(own, CLIENT_GRANTS), all: leftOf(ALL, ALL_GRANTS) }
}

/** Counts one more grant of `subject`; false: its limit is reached. */
async function take(
  transaction: Transaction<ServiceTables>,
  subject: string,
  most: number,
  nowMs: number,
): Promise<boolean> {
  const over = nowMs - LIMIT_MS
  const row = await transaction
    .insertInto('faucet_limit')
    .values({ subject, since: nowMs, count: 1 })
    .onConflict((conflict) =>
      conflict
        .column('subject')
        .doUpdateSet((set) => ({
          since: set
            .case()
            .when('faucet_limit.since', '<=', over)
            .then(nowMs)
            .else(set.ref('faucet_limit.since'))
            .end(),
          count: set
            .case()
            .when('faucet_limit.since', '<=', over)
            .then(1)
            .else(set('faucet_limit.count', '+', 1))
            .end(),
        }))
        .where((where) => where.or([where('faucet_limit.since', '<=', over), where('faucet_limit.count', '<', most)])),
    )
    .returning('count')
    .executeTakeFirst()
  return row !== undefined
}

/** Forgets limits that have ended. */
export async function deleteOldLimits(services: ServiceQueries, nowMs: number): Promise<void> {
  await services
    .deleteFrom('faucet_limit')
    .where('since', '<=', nowMs - LIMIT_MS)
    .execute()
}

export function findGrant(services: ServiceQueries, number: number): Promise<Grant | undefined> {
  return services.selectFrom('faucet_grant').selectAll().where('number', '=', number).executeTakeFirst()
}

/** Grants in a state, the oldest first. */
export function listGrants(services: ServiceQueries, state: 'waiting' | 'sent', limit: number): Promise<Grant[]> {
  return services
    .selectFrom('faucet_grant')
    .selectAll()
    .where('state', '=', state)
    .orderBy('number')
    .limit(limit)
    .execute()
}

/** How many are not paid yet. */
export async function countOpen(services: ServiceQueries): Promise<number> {
  const { count } = await services
    .selectFrom('faucet_grant')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('state', 'in', ['waiting', 'sent'])
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The transaction that pays a grant. */
export interface Payment {
  readonly nonce: number
  readonly raw: Uint8Array
  readonly hash: Uint8Array
  readonly signedHeight: number
}

/**
 * Stores the transaction of a waiting grant.
 * @returns false: it has one meanwhile, or is over; `payment` must never be sent then
 */
export async function storePayment(services: ServiceQueries, number: number, payment: Payment): Promise<boolean> {
  const { nonce, raw, hash, signedHeight } = payment
  const { numUpdatedRows } = await services
    .updateTable('faucet_grant')
    .set({ state: 'sent', nonce, raw, hash, signed_height: signedHeight })
    .where('number', '=', number)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Ends a grant. */
export async function endGrant(
  services: ServiceQueries,
  number: number,
  end: { readonly state: 'paid' | 'failed'; readonly height?: number; readonly problem?: string },
): Promise<void> {
  await services
    .updateTable('faucet_grant')
    .set({ state: end.state, height: end.height ?? null, problem: end.problem ?? null })
    .where('number', '=', number)
    .where('state', 'in', ['waiting', 'sent'])
    .execute()
}

/** Forgets the transaction of a grant: it can never be in a block. */
export async function forgetPayment(services: ServiceQueries, { number, hash }: Grant): Promise<void> {
  await services
    .updateTable('faucet_grant')
    .set({ state: 'waiting', nonce: null, raw: null, hash: null, signed_height: null })
    .where('number', '=', number)
    .where('state', '=', 'sent')
    .where('hash', '=', hash)
    .execute()
}
