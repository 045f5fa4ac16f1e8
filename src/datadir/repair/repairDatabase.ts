import { rmSync } from 'node:fs'
import type { ValidatorSet } from '../../chain/comet/types.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { readFilled, readMoved } from '../../chain/segments/moveBlocks.ts'
import { type ListedSegment, segmentEntry, segmentPath } from '../../chain/segments/segments.ts'
import { openChainReader } from '../../chain/store/chainReader.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { Column, columnName } from '../../storage/columns.ts'
import { Database, DatabaseError } from '../../storage/database.ts'
import type { Reindexed } from '../reindex.ts'
import { type Damage, findDamage } from './findDamage.ts'
import { type MendPlan, type MendRequest, mendDatabase, planMending } from './mendDatabase.ts'
import { mendedReader } from './mendState.ts'
import { beganWithSnapshot, gatherOwnBlocks, type OwnBlocks } from './ownBlocks.ts'
import { type RebuildRequest, rebuildFromBlocks } from './rebuildFromBlocks.ts'
import { restoreSegment, segmentSources } from './restoreSegments.ts'
import { type TakenOver, takeOverBlocks } from './takeOverBlocks.ts'

export interface RepairRequest extends MendRequest, Omit<RebuildRequest, 'chain'> {
  readonly chain: ChainConfig
  /** directories and addresses where files of old blocks may be */
  readonly from: readonly (string | URL)[]
  /** whether the node keeps all blocks, so that its own can be executed anew */
  readonly keepsBlocks: boolean
  /** a snapshot that can be restored into `target` instead; undefined: there can be none. @throws ConfigError */
  readonly snapshot: () => RepairSnapshot | undefined
  /** whether it is taken in any case, and nothing mended */
  readonly prefersSnapshot: boolean
  /** whether these validators cannot decide a block without this node, nor need others: then no peer has blocks that it lacks */
  readonly decidesAlone: (validators: ValidatorSet) => boolean
  /** whether nothing is changed */
  readonly isDryRun: boolean
  /** receives the findings and the planned steps, a line each, before anything is changed; not called without damage */
  readonly onPlan: (found: readonly string[], steps: readonly string[]) => void
}

interface RepairSnapshot {
  /** where it comes from */
  readonly place: string
  /** @returns the height of its block; undefined when it turns out that there is no snapshot. @throws with one line for the operator */
  readonly restore: () => Promise<number | undefined>
}

/** Result of a repair. */
export interface Repaired {
  readonly isDamaged: boolean
  /** height of the newest block in `target`, where a database was made that has to replace the damaged one */
  readonly rebuiltTo?: number
  /** whether it was made from a snapshot */
  readonly isFromSnapshot?: boolean
  /** the blocks that it then has from the damaged one */
  readonly takenOver?: TakenOver
  /** errors of the indexes */
  readonly indexes: Reindexed
}

/**
 * Finds all damage in the database of a stopped node, reports it, and repairs what can be repaired in place:
 *
 * 1. Fetch damaged files of old blocks again.
 * 2. Write damaged entries of LevelDB as the undamaged ones prove them (`mendDatabase`).
 *
 * If that is not enough, make another database next to this one: by executing the node's own blocks anew (`rebuildFromBlocks`),
 * or from a snapshot. The repair may be interrupted or killed at any moment, and then run again.
 * @throws DatabaseError with what to do when there is damage of another kind; SnapshotError when no source answers; `signal.reason`
 */
export async function repairDatabase(request: RepairRequest): Promise<Repaired> {
  const damage = await findDamage(request)
  const found = describe(damage)
  if (found.length === 0) return { isDamaged: false, indexes: {} }
  const plan = request.prefersSnapshot ? undefined : planMending(damage)
  if (plan === undefined) return rebuild(request, found)
  const unmoved = await unmovedSegments(damage, request)
  request.onPlan(found, stepsOf(damage, plan, unmoved))
  if (request.isDryRun) return { isDamaged: true, indexes: {} }
  await restoreSegments(damage, unmoved, request) // 1.
  const indexes = plan.hasValues ? await mendDatabase(request, damage, plan) : {} // 2.
  return { isDamaged: true, indexes }
}

async function rebuild(request: RepairRequest, found: readonly string[]): Promise<Repaired> {
  const { location, signal, isDryRun, keepsBlocks, prefersSnapshot } = request
  const blocks =
    keepsBlocks && !prefersSnapshot && !beganWithSnapshot(location)
      ? // Files in other places are downloaded only when they are used.
        await gatherOwnBlocks(isDryRun ? { ...request, from: [] } : request)
      : NO_BLOCKS
  const hasBlocks = blocks.last > 0
  const snapshot = hasBlocks ? undefined : request.snapshot()
  request.onPlan(found, hasBlocks ? rebuildSteps(blocks, request) : snapshotSteps(snapshot))
  if (isDryRun) return { isDamaged: true, indexes: {} }
  const height = hasBlocks ? await rebuildFromBlocks(request, blocks) : await snapshot?.restore()
  signal.throwIfAborted()
  if (height === undefined) throw beyondMending(location)
  await checkNothingIsLost(request, height, hasBlocks ? blocks.highest : Number.POSITIVE_INFINITY)
  if (!hasBlocks) {
    const takenOver = await takeOverBlocks(request)
    return { isDamaged: true, rebuiltTo: height, isFromSnapshot: true, takenOver, indexes: {} }
  }
  return { isDamaged: true, rebuiltTo: height, isFromSnapshot: false, indexes: {} }
}

function snapshotSteps(snapshot: RepairSnapshot | undefined): readonly string[] {
  if (snapshot === undefined) return []
  return [
    `restore a snapshot from ${snapshot.place}`,
    'copy the undamaged headers and files of older blocks, from the snapshot down to the first missing one',
    PUT_IN_PLACE,
  ]
}

const PUT_IN_PLACE = 'replace the damaged database with it; the damaged one stays as db.damaged until you delete it'

function rebuildSteps({ last, highest }: OwnBlocks, { target, isDryRun, from }: RepairRequest): readonly string[] {
  const mayBeMore = isDryRun && from.length > 0 ? ' (or more, with files from the places named by --from)' : ''
  return [
    `execute the readable blocks 1 to ${last}${mayBeMore} again, into ${target}`,
    ...(highest > last
      ? [`at the next start the node gets the later blocks, up to ${highest} or more, from wal/ or its peers`]
      : []),
    PUT_IN_PLACE,
  ]
}

const NO_BLOCKS: OwnBlocks = { files: [], last: 0, highest: 0 }

/**
 * Checks that no block is lost for good. The newest block is in the write-ahead log.
 * @throws DatabaseError when blocks are lost that no peer can have
 */
async function checkNothingIsLost(
  { target, decidesAlone }: RepairRequest,
  height: number,
  highest: number,
): Promise<void> {
  if (height >= highest - 1) return
  const database = await Database.open(target, { readOnly: true })
  try {
    const validators = openChainReader(database).validatorSetAt(height + 1)
    if (validators === undefined || !decidesAlone(validators)) return
  } finally {
    await database.close()
  }
  throw new DatabaseError(
    'corrupt',
    `block ${height + 1} is lost, and no peer has it or later blocks, because this node is the only validator: name a place that has them with ` +
      '--from, or restore a backup; nothing was replaced',
    undefined,
  )
}

function beyondMending(location: string): DatabaseError {
  return new DatabaseError(
    'corrupt',
    `${location} can be neither repaired nor rebuilt from its own blocks, and there is no snapshot: set SNAPSHOT_MANIFEST_URL or name peers ` +
      'that have one (SYNC_MODE=auto), or move it away, keep config/ and wal/, and start the node to sync again (docs/operations.md, "A damaged disk")',
    undefined,
  )
}

/** Describes each damage in a line. */
function describe({ files, values, segments, chain, state, begun }: Damage): readonly string[] {
  const lines = [...files, ...segments.map(({ reason }) => reason), ...chain]
  for (const [column, keys] of values) {
    const first = `${columnName(column)} ${bytesToHex(keys[0]!.subarray(1))}`
    if (column === Column.segmentTerms) {
      lines.push(`${columnName(column)}: ${keys.length} files with terms of old blocks are missing or damaged`)
      continue
    }
    if (column === Column.hashFile) {
      lines.push(`${columnName(column)}: files with hashes of old blocks are missing or damaged`)
      continue
    }
    const count = keys.length === 1 ? 'a value does' : `${keys.length} values do`
    lines.push(
      `${columnName(column)}: ${count} not match the checksum, ${keys.length === 1 ? 'that of' : 'first that of'} ${first}`,
    )
  }
  if (state?.loss !== undefined) lines.push(`state: ${state.loss}`)
  if (state !== undefined) {
    const { nodes, slotCounts, isDirectoryWrong } = state.derived
    if (state.loss === undefined && nodes > 0) lines.push(`state: ${nodes} trie nodes are missing or wrong`)
    if (slotCounts > 0) lines.push(`state: ${slotCounts} slot counts are missing or wrong`)
    if (isDirectoryWrong) lines.push('state: the directory of native keys is wrong')
  }
  if (begun !== undefined) lines.push('an earlier repair was not finished')
  return lines
}

function stepsOf({ segments }: Damage, plan: MendPlan, unmoved: readonly ListedSegment[]): readonly string[] {
  const fetched = segments.length - unmoved.length
  return [
    ...(unmoved.length === 0
      ? []
      : [
          `remove ${unmoved.length} files of old blocks from the list: their blocks are still in LevelDB, and the node writes the files again`,
        ]),
    ...(fetched === 0 ? [] : [`fetch ${fetched} files of old blocks from the places named by --from, by their sha256`]),
    ...(plan.state ? ['rewrite the damaged entries of the state, verified by the state root of the newest block'] : []),
    ...(plan.history ? ['delete the states of blocks before the newest: they cannot be verified'] : []),
    ...(plan.index ? ['compare the indexes with the blocks'] : []),
    ...(plan.hasValues && !plan.state && !plan.history && !plan.index ? ['write or delete individual records'] : []),
  ]
}

/** Returns the damaged files whose blocks are all still in LevelDB. */
async function unmovedSegments(
  { segments, state }: Damage,
  { location }: RepairRequest,
): Promise<readonly ListedSegment[]> {
  if (segments.length === 0) return []
  const database = await Database.open(location, { readOnly: true, mayBeDamaged: true })
  try {
    const reader = mendedReader(database, state?.mended ?? new Map())
    const [filled, moved] = [readFilled(reader), readMoved(reader)]
    return segments.map(({ segment }) => segment).filter(({ first, last }) => first >= moved || last < filled)
  } finally {
    await database.close()
  }
}

/** @throws DatabaseError when no source has one of the files */
async function restoreSegments(
  { segments }: Damage,
  unmoved: readonly ListedSegment[],
  { location, from, signal, progressOf }: RepairRequest,
): Promise<void> {
  if (segments.length === 0) return
  if (unmoved.length > 0) await unlist(location, unmoved)
  const sources = segmentSources(from, signal)
  const progress = progressOf({ title: 'fetching files of old blocks', unit: 'files', total: segments.length })
  try {
    let done = 0
    const missing: string[] = []
    for (const { segment } of segments) {
      signal.throwIfAborted()
      progress.update(done++)
      if (unmoved.includes(segment) || (await restoreSegment(location, segment, sources))) continue
      missing.push(segmentPath(location, segment))
    }
    if (missing.length > 0) throw missingSegments(missing)
  } finally {
    progress.end()
  }
}

function missingSegments(paths: readonly string[]): DatabaseError {
  const others = paths.length === 1 ? '' : ` and ${paths.length - 1} others`
  return new DatabaseError(
    'corrupt',
    `${paths[0]}${others} cannot be restored: name a place that has the file with --from, the data directory of another node or a backup, ` +
      'or the address of such a directory of files',
    undefined,
  )
}

/** Takes files out of the list, and away. */
async function unlist(location: string, segments: readonly ListedSegment[]): Promise<void> {
  const database = await Database.open(location, { mayBeDamaged: true })
  try {
    const batch = new WriteBatch()
    for (const segment of segments) batch.del(segmentEntry(segment)[0])
    await database.write(batch, { sync: true })
  } finally {
    await database.close()
  }
  for (const segment of segments) rmSync(segmentPath(location, segment), { force: true })
}
