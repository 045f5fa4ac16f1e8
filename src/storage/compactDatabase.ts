import type { Progress } from '../telemetry/progress.ts'
import { prefixEnd } from './columns.ts'
import type { Database } from './database.ts'

export interface CompactRequest {
  readonly database: Pick<Database, 'approximateSize' | 'compact'>
  /** is told the bytes that are merged */
  readonly progress: Pick<Progress, 'update'>
  /** ends it between two parts */
  readonly signal?: AbortSignal
  /** bytes that are merged at once: LevelDB says nothing before a part is done, and cannot be stopped */
  readonly partBytes?: number
}

/** No column has a number that is so high. */
const END = Uint8Array.of(0xff)
const PART_BYTES = 256 << 20
/** A range that is still too large where this many bytes of its keys are equal is merged as it is. */
const LONGEST_PREFIX = 12

interface KeyPart {
  readonly start: Uint8Array
  readonly end: Uint8Array
  readonly bytes: number
}

/**
 * Merges all of LevelDB's tables, part by part, which frees the space of overwritten and deleted
 * entries. LevelDB's own merges do that too, but only where much is written.
 * @throws the signal's reason
 */
export async function compactDatabase(request: CompactRequest): Promise<void> {
  const { database, progress, signal, partBytes = PART_BYTES } = request
  // What LevelDB still has in memory becomes a table: it would count in no size, and lie above what the merges reach.
  await database.compact(END, END)
  const parts: KeyPart[] = []
  for await (const part of partsOf(database, new Uint8Array(), new Uint8Array(), partBytes)) parts.push(part)
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  let merged = 0
  for (const { start, end, bytes } of parts) {
    progress.update(merged, total)
    signal?.throwIfAborted()
    await database.compact(start, end)
    merged += bytes
  }
}

/**
 * Yields all keys with a prefix, and those before them from `first` on, in ranges of about
 * `partBytes`, which leave no key out.
 */
async function* partsOf(
  database: CompactRequest['database'],
  prefix: Uint8Array,
  first: Uint8Array,
  partBytes: number,
): AsyncIterable<KeyPart> {
  const end = prefixEnd(prefix) ?? END
  let start = first
  let bytes = 0
  let isEmpty = true
  const next = (from: Uint8Array): void => {
    start = from
    bytes = 0
    isEmpty = true
  }
  for (let byte = 0; byte < 256; byte++) {
    const child = Uint8Array.of(...prefix, byte)
    const childEnd = prefixEnd(child) ?? END
    const size = await database.approximateSize(child, childEnd)
    if (size > partBytes && child.length < LONGEST_PREFIX) {
      if (!isEmpty) yield { start, end: child, bytes }
      yield* partsOf(database, child, isEmpty ? start : child, partBytes)
      next(childEnd)
      continue
    }
    bytes += size
    isEmpty = false
    if (bytes >= partBytes) {
      yield { start, end: childEnd, bytes }
      next(childEnd)
    }
  }
  if (!isEmpty) yield { start, end, bytes }
}
