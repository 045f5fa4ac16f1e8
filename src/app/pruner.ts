import { dropBlockBodies } from '../chain/dropBlockBodies.ts'
import { HashPlaceWriter } from '../chain/hashIndex.ts'
import { switchIndexes, termRanges } from '../chain/indexCoverage.ts'
import { listNextSegment, moveBlocks, moveRules } from '../chain/segments/moveBlocks.ts'
import { openChainReader } from '../chain/store.ts'
import { readStateHead, writeOldestHeight } from '../state/head.ts'
import { dropStates, type StateRange } from '../state/history.ts'
import type { StateStore } from '../state/store.ts'
import { WriteBatch } from '../storage/batch.ts'
import type { DatabaseReader, KeyRange, WritableDatabase } from '../storage/database.ts'
import type { Progress, ProgressUnit } from '../telemetry/progress.ts'

/** What the operator keeps. */
interface Retention {
  /** blocks whose state is kept, or all */
  readonly pruning: 'archive' | number
  /** blocks that are kept; 0 = all */
  readonly blockHistory: number
}

interface PrunerOptions extends Retention {
  readonly database: DatabaseReader
  readonly state: Pick<StateStore, 'dropHistory'>
}

/** History entries, and block bodies, deleted with one block: a few milliseconds of work. */
const ENTRIES_PER_BLOCK = 2_000
const BODIES_PER_BLOCK = 4
/** Puts and deletes for blocks that are moved to a segment, with one block: six for an empty one. */
const MOVES_PER_BLOCK = 240

interface Pruner {
  /** Does the work of `drop` beforehand, while nobody waits: the block before has been stored, and no other one yet. */
  prepare(height: number): void
  /** Adds deletes of a bounded part of what is too old when `height` is the newest block. Before the block's own entries, which win. */
  drop(batch: WriteBatch, height: number): void
}

/**
 * Deletes state and blocks that are older than the operator keeps, and blocks that are in segments, in small parts, each in the batch of
 * a block: it takes no sync of its own, and after a crash the deletes are on the disk with the block or not at all.
 */
export function createPruner({ database, state, pruning, blockHistory }: PrunerOptions): Pruner {
  const rules = moveRules(pruning, blockHistory)
  let ready: { readonly height: number; readonly batch: WriteBatch } | undefined
  const prepared = (height: number): WriteBatch => {
    if (ready?.height !== height) {
      const batch = new WriteBatch()
      if (pruning !== 'archive') state.dropHistory(batch, height - pruning, ENTRIES_PER_BLOCK)
      const places = new HashPlaceWriter(database, batch)
      if (blockHistory > 0) dropBlockBodies(database, batch, places, height - blockHistory, BODIES_PER_BLOCK)
      listNextSegment(database, batch, height - 1, rules)
      moveBlocks(database, batch, places, MOVES_PER_BLOCK)
      ready = { height, batch }
    }
    return ready.batch
  }
  return {
    prepare: (height) => void prepared(height),
    drop: (batch, height) => {
      batch.append(prepared(height))
      ready = undefined
    },
  }
}

export interface PruneRequest extends Retention {
  readonly database: WritableDatabase
  readonly index: 'all' | 'off'
  /** begins to show a part of the work */
  readonly progressOf: (part: {
    readonly title: string
    readonly unit: ProgressUnit
    readonly total?: number
  }) => Progress
  /** ends it between two steps; a later call goes on there */
  readonly signal?: AbortSignal
  /** what is written, and synced, at once: entries of histories and indexes, and blocks */
  readonly step?: { readonly entries: number; readonly bodies: number }
}

/** How much was dropped. */
export interface Pruned {
  readonly states: number
  readonly bodies: number
  readonly indexEntries: number
}

/** Some megabytes. */
const STEP = { entries: 50_000, bodies: 2_000 } as const

/**
 * Deletes at once, in the database of a stopped node, what the pruner would delete with its next blocks; and where INDEX is off, the
 * entries that earlier blocks have in the indexes. Each step is one synced batch, after which the database is whole.
 * @throws the signal's reason
 */
export async function pruneNow(request: PruneRequest): Promise<Pruned> {
  const { database, pruning, blockHistory, index } = request
  const { headHeight } = openChainReader(database)
  const states = pruning === 'archive' ? 0 : await dropOldStates(request, headHeight - pruning)
  const bodies = blockHistory === 0 ? 0 : await dropOldBodies(request, headHeight - blockHistory)
  if (index === 'all') return { states, bodies, indexEntries: 0 }
  // Before the entries go: from now on nobody takes their absence for blocks without logs and events.
  await switchIndexes(database, 'off', headHeight)
  return { states, bodies, indexEntries: await dropIndexes(request) }
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
  return inSteps(progressOf({ title: 'dropping old states', unit: 'blocks', total }), signal, async (done) => {
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
  return inSteps(progressOf({ title: 'dropping old blocks', unit: 'blocks', total }), signal, async (done) => {
    const batch = new WriteBatch()
    dropBlockBodies(database, batch, new HashPlaceWriter(database, batch), oldestToKeep, step.bodies)
    if (batch.length === 0) return 0
    await database.write(batch, { sync: true })
    return openChainReader(database).oldestBlock - (oldestBlock + done)
  })
}

/** @returns how many entries */
async function dropIndexes({ database, signal, progressOf, step = STEP }: PruneRequest): Promise<number> {
  const progress = progressOf({ title: 'dropping indexes', unit: 'entries' })
  const ranges = [...termRanges()]
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
 * @param step is given what is done so far. @returns how much it has done
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
