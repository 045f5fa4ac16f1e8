import { switchCallIndex } from '../chain/indexes/callIndex.ts'
import { switchIndexes, termRanges } from '../chain/indexes/indexCoverage.ts'
import { updateHashFiles, updateHashFilesNow } from '../chain/indexes/makeHashFiles.ts'
import { needsOlderBlocks } from '../chain/retention/completeBlocks.ts'
import { dropBlockBodies } from '../chain/retention/dropBlockBodies.ts'
import { countDroppableHeaders, dropHeaders } from '../chain/retention/dropHeaders.ts'
import type { HeaderRules } from '../chain/retention/headerRetention.ts'
import { countSegmentsWithBodies, listNextBareSegment, makeNextBareSegment } from '../chain/segments/bareSegments.ts'
import { listNextSegment, moveBlocks, moveRules } from '../chain/segments/moveBlocks.ts'
import { tidySegments } from '../chain/segments/tidySegments.ts'
import { type BlockCache, createBlockCache } from '../chain/store/blockCache.ts'
import { openChainReader } from '../chain/store/chainReader.ts'
import { readStateHead, writeOldestHeight } from '../state/head.ts'
import { dropStates, type StateRange } from '../state/history.ts'
import type { StateStore } from '../state/stateStore.ts'
import { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseReader, KeyRange, WritableDatabase } from '../storage/database.ts'
import { removeSegmentFile } from '../storage/segmentFile.ts'
import type { Progress, ProgressOf } from '../telemetry/progress.ts'

/** State and blocks that the operator retains. */
interface Retention {
  /** number of newest blocks whose state is retained, or all */
  readonly pruning: 'archive' | number
  /** number of newest blocks that are retained; 0 = all */
  readonly blockHistory: number
  /** how long the headers of dropped blocks are retained; undefined: permanently */
  readonly headers?: HeaderRules | undefined
}

interface PrunerOptions extends Retention {
  readonly database: DatabaseReader
  /** height of the newest block that is on stable storage */
  readonly durableHeight: () => number
  readonly state: Pick<StateStore, 'dropHistory'>
}

/** History entries, and block bodies, deleted with one block: a few milliseconds of work. */
const ENTRIES_PER_BLOCK = 2_000
const BODIES_PER_BLOCK = 4
/** Deletes for blocks that are moved to a segment, with one block: four for an empty one. */
const MOVES_PER_BLOCK = 240
/** Headers dropped with one block: a quarter of the blocks in one frame of a segment. */
const HEADERS_PER_BLOCK = 16
/**
 * While there is no work with segments, the pruner looks for new files once in this many blocks.
 */
const LOOK_BLOCKS = 64
/**
 * Blocks after which an unlisted file is removed: until then requests may read snapshots of the
 * database that list it.
 */
const REMOVAL_BLOCKS = 256

interface Pruner {
  /**
   * Does the work of `drop` beforehand, when no caller waits: after the block before is stored, and
   * before the next one.
   */
  prepare(height: number): void
  /**
   * Adds deletes of a bounded part of the data that is too old when `height` is the newest block.
   * The block's own entries come after and win.
   */
  drop(batch: WriteBatch, height: number): void
}

/**
 * Deletes state and blocks beyond the retention settings, and blocks that are in segments, in small
 * parts, each in the batch of a block. This takes no sync of its own, and after a crash the deletes
 * are on the disk with the block or not at all.
 */
export function createPruner({
  database,
  state,
  pruning,
  blockHistory,
  headers,
  durableHeight,
}: PrunerOptions): Pruner {
  const rules = {
    ...moveRules(pruning, blockHistory),
    expectsOlder: (db: DatabaseReader) => needsOlderBlocks(db, headers),
  }
  const cache = createBlockCache()
  let isDropping = true
  let isMoving = true
  let ready: { readonly batch: WriteBatch; readonly height: number; readonly files: readonly string[] } | undefined
  /** files of segments that the batch of a block has taken from the list */
  let unlisted: { readonly file: string; readonly height: number }[] = []

  /** a height below which segments are without bodies */
  let bareFrom = 0

  /**
   * Drops headers, or else lists a segment without bodies.
   * @returns files that are no longer listed after this batch
   */
  const replaceSegments = (batch: WriteBatch, height: number): readonly string[] => {
    if (!isDropping && height % LOOK_BLOCKS !== 0) return []
    if (headers !== undefined) {
      const { count, files } = dropHeaders(database, batch, { rules: headers, count: HEADERS_PER_BLOCK, cache })
      isDropping = count > 0
      if (isDropping) return files
    }
    const bare = blockHistory === 0 ? undefined : listNextBareSegment(database, batch, bareFrom)
    bareFrom = bare?.next ?? bareFrom
    return bare?.oldFiles ?? []
  }
  /**
   * Lists a segment's complete files, and moves blocks to a listed segment. A check takes eight
   * reads, so it is not made with each block. @returns files that are no longer listed after this
   * batch
   */
  const moveToSegments = (batch: WriteBatch, height: number): readonly string[] => {
    const isLook = height % LOOK_BLOCKS === 0
    if (!isMoving && !isLook) return []
    const before = batch.length
    listNextSegment(database, batch, height - 1, rules)
    const oldFiles = isLook ? updateHashFiles(database, batch) : []
    moveBlocks(database, batch, MOVES_PER_BLOCK)
    isMoving = batch.length > before
    return oldFiles
  }
  const prepared = (height: number): NonNullable<typeof ready> => {
    if (ready?.height !== height) {
      const batch = new WriteBatch()
      if (pruning !== 'archive') state.dropHistory(batch, height - pruning, ENTRIES_PER_BLOCK)
      if (blockHistory > 0) dropBlockBodies(database, batch, height - blockHistory, BODIES_PER_BLOCK)
      const files = [...replaceSegments(batch, height)]
      files.push(...moveToSegments(batch, height))
      ready = { batch, height, files }
    }
    return ready
  }
  return {
    prepare: (height) => void prepared(height),
    drop: (batch, height) => {
      const { batch: deletes, files } = prepared(height)
      ready = undefined
      batch.append(deletes)
      const removable = durableHeight() - REMOVAL_BLOCKS
      for (const old of unlisted) if (old.height <= removable) removeSegmentFile(old.file)
      unlisted = unlisted.filter((old) => old.height > removable)
      for (const file of files) unlisted.push({ file, height })
    },
  }
}

export interface PruneRequest extends Retention {
  readonly database: WritableDatabase
  readonly index: 'all' | 'off'
  /** false: the index of calls is deleted */
  readonly indexTraces?: boolean
  /** begins to show a part of the work */
  readonly progressOf: ProgressOf
  /** ends the work between two steps; a later call resumes there */
  readonly signal?: AbortSignal
  /** lets other work of the process run, such as the handling of a stop signal */
  readonly pause?: () => Promise<void>
  /** size of one synced write: entries of histories and indexes, and blocks */
  readonly step?: { readonly entries: number; readonly bodies: number }
}

/** How much was dropped. */
export interface Pruned {
  readonly states: number
  readonly bodies: number
  readonly headers: number
  /** files of old blocks that have lost the transactions and results in them */
  readonly files: number
  readonly indexEntries: number
}

/** Some megabytes. */
const STEP = { entries: 50_000, bodies: 2_000 } as const

/**
 * Deletes at once, in the database of a stopped node, all data that the pruner would delete with
 * the next blocks. Where INDEX or INDEX_TRACES is off, it also deletes the entries of earlier
 * blocks in these indexes. Each step is one synced batch, after which the database is whole.
 * @throws the signal's reason
 */
export async function pruneNow(request: PruneRequest): Promise<Pruned> {
  const { database, pruning, blockHistory, index } = request
  const { headHeight } = openChainReader(database)
  const states = pruning === 'archive' ? 0 : await dropOldStates(request, headHeight - pruning)
  const bodies = blockHistory === 0 ? 0 : await dropOldBodies(request, headHeight - blockHistory)
  const headers = await dropOldHeaders(request)
  const files = blockHistory === 0 ? 0 : await dropBodiesFromFiles(request)
  await updateHashFilesNow(database)
  const calls = request.indexTraces === true ? 0 : await dropCallIndex(request, headHeight)
  if (index === 'all') return { states, bodies, headers, files, indexEntries: calls }
  // Before the entries are deleted: a reader must not take their absence for blocks without logs
  // and events.
  await switchIndexes(database, 'off', headHeight)
  const indexEntries = calls + (await dropRanges(request, termRanges()))
  // Files with terms are listed no more.
  await tidySegments(database)
  return { states, bodies, headers, files, indexEntries }
}

/** @returns how many blocks' states */
async function dropOldStates(
  { database, signal, progressOf, step = STEP }: PruneRequest,
  oldestToKeep: number,
): Promise<number> {
  const head = readStateHead(database)
  if (head === undefined) return 0
  const range: StateRange = { oldest: head.oldestHeight, oldestToKeep: Math.min(oldestToKeep, head.height) }
  const total = range.oldestToKeep - range.oldest
  if (total <= 0) return 0
  return inSteps(progressOf({ title: 'deleting old states', unit: 'blocks', total }), signal, async (done) => {
    const oldest = range.oldest + done
    const batch = new WriteBatch()
    const next = dropStates(database, batch, { ...range, oldest }, step.entries)
    if (next === oldest) return 0
    writeOldestHeight(batch, next)
    await database.write(batch, { sync: true })
    return next - oldest
  })
}

/** @returns how many blocks' transactions, receipts and indexes */
async function dropOldBodies(
  { database, signal, progressOf, step = STEP }: PruneRequest,
  oldestToKeep: number,
): Promise<number> {
  const { oldestBlock } = openChainReader(database)
  const total = oldestToKeep - oldestBlock
  if (total <= 0) return 0
  return inSteps(progressOf({ title: 'deleting old blocks', unit: 'blocks', total }), signal, async (done) => {
    const batch = new WriteBatch()
    dropBlockBodies(database, batch, oldestToKeep, step.bodies)
    if (batch.length === 0) return 0
    await database.write(batch, { sync: true })
    return openChainReader(database).oldestBlock - (oldestBlock + done)
  })
}

/** @returns of how many blocks */
async function dropOldHeaders({
  database,
  headers: rules,
  signal,
  progressOf,
  step = STEP,
}: PruneRequest): Promise<number> {
  if (rules === undefined) return 0
  const total = countDroppableHeaders(database, rules)
  if (total === 0) return 0
  const cache: BlockCache = createBlockCache()
  return inSteps(progressOf({ title: 'deleting old headers', unit: 'blocks', total }), signal, async () => {
    const batch = new WriteBatch()
    const options = { rules, count: step.bodies, cache }
    const { count, files } = dropHeaders(database, batch, options)
    if (count > 0) await database.write(batch, { sync: true })
    for (const file of files) removeSegmentFile(file)
    return count
  })
}

/** @returns how many files of old blocks */
async function dropBodiesFromFiles({ database, signal, pause, progressOf }: PruneRequest): Promise<number> {
  const total = countSegmentsWithBodies(database)
  if (total === 0) return 0
  let from = 0
  return inSteps(progressOf({ title: 'deleting old blocks from files', unit: 'files', total }), signal, async () => {
    await makeNextBareSegment(database, async () => {
      await pause?.()
      signal?.throwIfAborted()
    })
    const batch = new WriteBatch()
    const bare = listNextBareSegment(database, batch, from)
    if (bare === undefined) return 0
    await database.write(batch, { sync: true })
    for (const file of bare.oldFiles) removeSegmentFile(file)
    from = bare.next
    return 1
  })
}

/** @returns how many entries */
async function dropCallIndex(request: PruneRequest, headHeight: number): Promise<number> {
  await switchCallIndex(request.database, false, headHeight)
  const start = columnKey(Column.callTerm)
  const range = { start, end: prefixEnd(start) }
  // Most nodes never had one.
  const { last } = await deletesOf(request.database, { ...range, limit: 1 })
  return last === undefined ? 0 : dropRanges(request, [range])
}

/** @returns how many entries */
async function dropRanges(
  { database, signal, progressOf, step = STEP }: PruneRequest,
  given: readonly KeyRange[],
): Promise<number> {
  const progress = progressOf({ title: 'deleting indexes', unit: 'entries' })
  const ranges = [...given]
  return inSteps(progress, signal, async () => {
    for (let range = ranges[0]; range !== undefined; range = ranges[0]) {
      const { batch, last } = await deletesOf(database, { ...range, limit: step.entries })
      if (last === undefined) {
        ranges.shift()
        continue
      }
      await database.write(batch, { sync: true })
      // A range read from the start again would pass over all that is deleted.
      ranges[0] = { ...range, start: last }
      return batch.length
    }
    return 0
  })
}

async function deletesOf(database: DatabaseReader, range: KeyRange) {
  const batch = new WriteBatch()
  let last: Uint8Array | undefined
  for await (const [key] of database.entries(range)) {
    batch.del(key)
    last = key
  }
  return { batch, last }
}

/**
 * Repeats a step until it has nothing left to do.
 * @param step called with the amount done so far. @returns how much it has done
 */
async function inSteps(
  progress: Progress,
  signal: AbortSignal | undefined,
  step: (done: number) => Promise<number>,
): Promise<number> {
  let done = 0
  try {
    for (;;) {
      progress.update(done)
      signal?.throwIfAborted()
      const more = await step(done)
      if (more === 0) return done
      done += more
    }
  } finally {
    progress.end()
  }
}
