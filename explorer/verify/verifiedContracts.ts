import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/schema.ts'
import type { ServiceQueries } from '../database/services.ts'
import { blockHashAt, type Creation } from './chainCode.ts'
import type { CompiledCode, CompiledContract } from './compile.ts'
import type { CodeMatch, Match } from './matchCode.ts'
import type { StandardJson } from './standardJson.ts'
import { MATCH_LEVELS } from './tables.ts'

/** Bytecode of the chain next to solc's output for the sources; both are 0x… */
export interface VerifiedCode extends Pick<CompiledCode, 'sourceMap' | 'linkReferences' | 'immutableReferences'> {
  readonly onchain: string
  readonly recompiled: string
  /** null: it is not that of the sources */
  readonly match: CodeMatch | null
}

/** Stored data of a verified contract. */
export interface VerifiedContent extends Pick<CompiledContract, 'abi' | 'metadata' | 'userdoc' | 'devdoc'> {
  readonly path: string
  readonly name: string
  readonly compilerVersion: string
  readonly input: StandardJson
  readonly storageLayout: unknown
  readonly runtime: VerifiedCode
  /** null: the code that created it is not known */
  readonly creation: VerifiedCode | null
}

/** The same without the long fields. */
export type VerifiedInterface = Pick<VerifiedContent, 'name' | 'abi'>

export interface VerifiedContract {
  readonly number: number
  readonly address: Uint8Array
  /** of its creation; null: the index does not know it */
  readonly position: number | null
  readonly runtimeMatch: Match | null
  readonly creationMatch: Match | null
  readonly verifiedAtMs: number
}

export interface VerifiedSource extends VerifiedContract {
  readonly content: VerifiedContent
}

/** The tables with verified contracts, and the index with their creation. */
export interface Databases {
  readonly services: ServiceQueries
  readonly queries: Kysely<Tables>
}

/** Addresses of one query. */
const ASKED_AT_ONCE = 500
/** In other threads: sources may have megabytes. */
const [pack, unpack] = [promisify(gzip), promisify(gunzip)]

/** The better of the two. */
export function bestMatch(runtime: Match | null, creation: Match | null): Match | null {
  if (runtime === 'exact_match' || creation === 'exact_match') return 'exact_match'
  return runtime ?? creation
}

export function matchOf(level: number | null): Match | null {
  return level === MATCH_LEVELS.exact_match ? 'exact_match' : level === MATCH_LEVELS.match ? 'match' : null
}

function levelOf(match: Match | null | undefined): number {
  return MATCH_LEVELS[match ?? 'none']
}

/**
 * Stores the sources of a contract, unless stored ones match as well or better.
 * @returns whether they are stored now
 */
export async function storeVerified(
  services: ServiceQueries,
  address: Uint8Array,
  created: Creation | undefined,
  content: VerifiedContent,
  nowMs: number,
): Promise<boolean> {
  const runtime = levelOf(content.runtime.match?.match)
  const creation = levelOf(content.creation?.match?.match)
  const values = {
    position: created?.position ?? null,
    block_hash: created?.blockHash ?? null,
    runtime_match: runtime,
    creation_match: creation,
    // The hash of the metadata says more than any code without it.
    score: Math.max(runtime, creation) * 4 + runtime + creation,
    verified_at: nowMs,
    interface: await pack(JSON.stringify({ name: content.name, abi: content.abi } satisfies VerifiedInterface)),
    content: await pack(JSON.stringify(content)),
  }
  const isBetter = sql<boolean>`verified_contract.score < excluded.score`
  const isOther = sql<boolean>`verified_contract.block_hash is distinct from excluded.block_hash`
  const row = await services
    .insertInto('verified_contract')
    .values({ address, ...values })
    .onConflict((conflict) =>
      conflict
        .column('address')
        .doUpdateSet(values)
        .where(({ or }) => or([isBetter, isOther])),
    )
    .returning('number')
    .executeTakeFirst()
  return row !== undefined
}

/** Finds a verified contract; undefined: it is not verified, or another contract at this address was. */
export async function findVerified(databases: Databases, address: Uint8Array): Promise<VerifiedContract | undefined> {
  return (await listVerified(databases, [address]))[0]
}

/** The verified ones of these contracts. */
export async function listVerified(
  { services, queries }: Databases,
  addresses: readonly Uint8Array[],
): Promise<VerifiedContract[]> {
  const found: VerifiedContract[] = []
  for (let at = 0; at < addresses.length; at += ASKED_AT_ONCE) {
    const rows = await services
      .selectFrom('verified_contract')
      .select(['number', 'address', 'position', 'block_hash', 'runtime_match', 'creation_match', 'verified_at'])
      .where('address', 'in', addresses.slice(at, at + ASKED_AT_ONCE))
      .execute()
    for (const row of rows) {
      if (await isAnother(queries, row.address, row)) continue
      found.push({
        number: row.number,
        address: row.address,
        position: row.position,
        runtimeMatch: matchOf(row.runtime_match),
        creationMatch: matchOf(row.creation_match),
        verifiedAtMs: row.verified_at,
      })
    }
    // SQLite's queries block this thread: other requests are served between the parts.
    await setImmediate()
  }
  return found
}

/** The same with sources and all that solc said. */
export async function findSource(databases: Databases, address: Uint8Array): Promise<VerifiedSource | undefined> {
  const contract = await findVerified(databases, address)
  return contract && { ...contract, content: (await read(databases.services, contract, 'content')) as VerifiedContent }
}

/** Name and ABI of a verified contract. */
export async function findInterface(databases: Databases, address: Uint8Array): Promise<VerifiedInterface | undefined> {
  const contract = await findVerified(databases, address)
  return contract && readInterface(databases.services, contract)
}

/** The same of one that was found. */
export async function readInterface(services: ServiceQueries, contract: VerifiedContract): Promise<VerifiedInterface> {
  return (await read(services, contract, 'interface')) as VerifiedInterface
}

async function read(
  services: ServiceQueries,
  { number }: VerifiedContract,
  column: 'interface' | 'content',
): Promise<unknown> {
  const row = await services
    .selectFrom('verified_contract')
    .select(column)
    .where('number', '=', number)
    .executeTakeFirstOrThrow()
  return JSON.parse((await unpack((row as Record<typeof column, Uint8Array>)[column])).toString('utf8'))
}

/** Whether the index has another contract at the address now, or is of another chain. Missing data do not count as a difference. */
async function isAnother(
  queries: Kysely<Tables>,
  address: Uint8Array,
  { position, block_hash: hash }: { readonly position: number | null; readonly block_hash: Uint8Array | null },
): Promise<boolean> {
  if (position === null) return false
  const [contract, own] = await Promise.all([
    queries.selectFrom('contract').select('position').where('address', '=', address).executeTakeFirst(),
    blockHashAt(queries, position),
  ])
  if (contract !== undefined && contract.position !== position) return true
  return hash !== null && own !== undefined && Buffer.compare(own, hash) !== 0
}
