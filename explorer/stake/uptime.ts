import type { Kysely, Selectable } from 'kysely'
import { bytesKey } from '../../src/primitives/bytes.ts'
import { cursorPage, type NumberPage, type NumberPageRequest } from '../api/cursors.ts'
import type { Tables } from '../database/schema.ts'
import type { Absence } from './shapes.ts'
import { ABSENCE_KINDS } from './tables.ts'

/* Which blocks validators have signed. The index has the blocks that they missed, and when they were in the validator set. */

type Queries = Kysely<Tables>
type ValidatorRow = Selectable<Tables['validator']>

/** Blocks of `recentBlocks`, and of `uptime`. */
export const RECENT_BLOCKS = 100
export const UPTIME_BLOCKS = 10_000

/** Blocks whose signatures are known. Those of the newest block come with the next block. */
interface Span {
  readonly first: number
  readonly last: number
}

/** Lists the runs of blocks that a validator should have signed and did not, the newest first. */
export async function listAbsences(
  queries: Queries,
  consensusAddress: Uint8Array,
  { limit, before = Number.MAX_SAFE_INTEGER }: NumberPageRequest,
): Promise<NumberPage<Absence>> {
  const rows = await queries
    .selectFrom('absence')
    .selectAll()
    .where('validator', '=', consensusAddress)
    .where('last_height', '<', before)
    .orderBy('last_height', 'desc')
    .limit(limit + 1)
    .execute()
  const view = ({ first_height: first, last_height: last, kind }: (typeof rows)[number]): Absence => {
    return { first, last, kind: kind === ABSENCE_KINDS.nil ? 'nil' : 'absent' }
  }
  return cursorPage(rows, limit, view, ({ last_height: last }) => last)
}

/** The newest block in the index, and the first one. */
export async function newestBlock(
  queries: Queries,
): Promise<{ readonly height: number; readonly time: number; readonly firstHeight: number }> {
  const row = await queries
    .selectFrom('ingest')
    .leftJoin('block', 'block.height', 'ingest.height')
    .select(['ingest.height', 'ingest.first_height', 'block.time'])
    .executeTakeFirst()
  return { height: row?.height ?? 0, time: row?.time ?? 0, firstHeight: row?.first_height ?? 1 }
}

/** The newest blocks whose signatures are known, at most `blocks` of them. */
export function spanOf(
  { height, firstHeight }: { readonly height: number; readonly firstHeight: number },
  blocks: number,
): Span {
  return { first: Math.max(firstHeight, height - blocks), last: height - 1 }
}

/** For each of these validators, by its consensus address, a letter for each block: see `recentBlocks`. */
export async function signedBlocks(
  queries: Queries,
  validators: readonly Pick<ValidatorRow, 'consensus_address'>[],
  { first, last }: Span,
): Promise<ReadonlyMap<string, string>> {
  const letters = new Map<string, string>()
  await Promise.all(
    validators.map(async ({ consensus_address: address }) => {
      const [before, changes, absences] = await Promise.all([
        queries
          .selectFrom('validator_power')
          .select('power')
          .where('validator', '=', address)
          .where('height', '<', first)
          .orderBy('height', 'desc')
          .limit(1)
          .execute(),
        queries
          .selectFrom('validator_power')
          .select(['height', 'power'])
          .where('validator', '=', address)
          .where('height', '>=', first)
          .where('height', '<=', last)
          .orderBy('height')
          .execute(),
        queries
          .selectFrom('absence')
          .select(['first_height', 'last_height', 'kind'])
          .where('validator', '=', address)
          .where('last_height', '>=', first)
          .execute(),
      ])
      const own: string[] = []
      let power = before[0]?.power ?? 0
      let at = 0
      for (let height = first; height <= last; height++) {
        while (at < changes.length && changes[at]!.height <= height) power = changes[at++]!.power
        own.push(power > 0 ? 's' : '-')
      }
      for (const { first_height: from, last_height: to, kind } of absences) {
        const letter = kind === ABSENCE_KINDS.nil ? 'n' : 'a'
        for (let height = Math.max(from, first); height <= Math.min(to, last); height++) own[height - first] = letter
      }
      letters.set(bytesKey(address), own.join(''))
    }),
  )
  return letters
}
