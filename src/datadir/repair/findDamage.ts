import { setImmediate } from 'node:timers/promises'
import { dataHash, decodeBlock, headerHash } from '../../chain/comet/block.ts'
import { createPartSet } from '../../chain/comet/partSet.ts'
import type { BlockId } from '../../chain/comet/types.ts'
import { validatorSetHash } from '../../chain/comet/validatorSet.ts'
import { checkHashFile, type Hashed } from '../../chain/indexes/hashFile.ts'
import { hashFilesKey, readAllHashFiles } from '../../chain/indexes/hashFileList.ts'
import { readFilled, readMoved } from '../../chain/segments/moveBlocks.ts'
import {
  checkSegmentFile,
  findSegment,
  type ListedSegment,
  lastOfSegment,
  listSegments,
  storedBlock,
} from '../../chain/segments/segments.ts'
import { checkTermsFile, listTerms, termsKey } from '../../chain/segments/segmentTerms.ts'
import { type ChainReader, openChainReader } from '../../chain/store/chainReader.ts'
import { areMendable, EVERYTHING, REPAIR_KEY, type RepairMarker, readRepairMarker } from '../../chain/store/mendable.ts'
import { RECORD_INTERVAL } from '../../chain/store/rankRecord.ts'
import { readHeadRecord } from '../../chain/store/writeBlock.ts'
import { bytesKey, bytesToHex, EMPTY_BYTES, equalBytes, keyBytes } from '../../primitives/bytes.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import { readStateHead } from '../../state/head.ts'
import { checkedValue } from '../../storage/checksum.ts'
import { Column, columnKey, columnName, prefixEnd, readHeight } from '../../storage/columns.ts'
import { withoutAdvice } from '../../storage/damage.ts'
import { Database, DatabaseError, type DatabaseReader } from '../../storage/database.ts'
import { FORMAT_KEY, isDamagedFormat } from '../../storage/format.ts'
import { segmentFiles, verifySegmentFile } from '../../storage/segmentFile.ts'
import { StoredEntries } from '../../storage/storedEntries.ts'
import { findDamagedFiles, tableBytes } from '../../storage/verifyFiles.ts'
import type { ProgressOf } from '../../telemetry/progress.ts'
import { type Mended, mendedReader, valueInTrie } from './mendState.ts'
import { recomputeState } from './recomputeState.ts'

export interface InspectRequest {
  /** directory of the database, which no process has open */
  readonly location: string
  /** an existing directory for the files of sorts */
  readonly sortDirectory: string
  /** begins to show a part of the work */
  readonly progressOf: ProgressOf
  readonly signal: AbortSignal
}

/** A file of old blocks that is missing, damaged or another one. */
interface DamagedSegment {
  readonly segment: ListedSegment
  readonly reason: string
}

/** Damage of the state. */
export interface StateDamage {
  /** that the validators decided */
  readonly root: Hash
  /** why it is not the state with this root, and cannot be made so from what the database has; undefined where it can */
  readonly loss: string | undefined
  /** right values of damaged accounts, slots and native entries; no other damaged entry has one */
  readonly mended: Mended
  /** nodes of tries, numbers of slots, and the directory of native keys that do not follow from them */
  readonly derived: { nodes: number; slotCounts: number; isDirectoryWrong: boolean }
}

/** All damage of a database. */
export interface Damage {
  /** damaged files of LevelDB, a line each. If there are any, its contents were not examined: some may be lost or outdated */
  readonly files: readonly string[]
  /**
   * keys of entries whose values are not what was written under them, by the number of their column; of files with terms, also where the
   * file is not what was written
   */
  readonly values: ReadonlyMap<number, readonly Uint8Array[]>
  readonly segments: readonly DamagedSegment[]
  /** blocks, validators and records of the chain that are missing or do not fit together, a line each */
  readonly chain: readonly string[]
  /** undefined where it was not examined, because the data to compare it with is damaged */
  readonly state: StateDamage | undefined
  /** the unfinished work of an interrupted repair */
  readonly begun: RepairMarker | undefined
}

/** More damaged values than this are not listed: flipped bits do not cause so many. */
const MAX_VALUES = 100_000
const BATCH_BYTES = 4 << 20

/**
 * Looks at everything in the database of a stopped node:
 *
 * 1. LevelDB's files by their checksums, and the files of old blocks.
 * 2. The checksum of every value.
 * 3. That no block is missing, that each block in LevelDB is the one that the next one names, and that there are validators for all.
 * 4. The state: its root is computed anew from all accounts, slots and native entries, with what the trie proves of damaged ones, and
 *    compared with the one in the newest header.
 *
 * @throws DatabaseError when there is no database, or one in another format; `signal.reason`
 */
export async function findDamage(request: InspectRequest): Promise<Damage> {
  const { location } = request
  const files = await damagedFiles(request)
  const nothing = { values: new Map(), segments: [], chain: [], state: undefined, begun: undefined }
  if (files.length > 0) return { ...nothing, files }
  // Values of other formats have no checksums.
  await (await Database.open(location, { readOnly: true, mayBeDamaged: true })).close()
  const values = await damagedValues(request)
  if (!areMendable(values) || (await isFormatLost(location, values))) return { ...nothing, files, values }
  const database = await Database.open(location, { readOnly: true, mayBeDamaged: true })
  try {
    const keys = [...values.values()].flat()
    const mended = new Map<string, Uint8Array | undefined>(keys.map((key) => [bytesKey(key), undefined]))
    const view = mendedReader(database, mended)
    const begun = mended.has(bytesKey(REPAIR_KEY)) ? EVERYTHING : readRepairMarker(view)
    const segments = await damagedSegments(view, request)
    const terms = [...(values.get(Column.segmentTerms) ?? []), ...(await damagedTerms(view, request))]
    const chain = await chainProblems(view, mended, request)
    const state = chain.length > 0 ? undefined : await stateDamage(view, mended, request)
    const hashes = [...(values.get(Column.hashFile) ?? []), ...(await damagedHashFiles(view, request))]
    const found = new Map(values)
    if (terms.length > 0) found.set(Column.segmentTerms, terms)
    if (hashes.length > 0) found.set(Column.hashFile, hashes)
    return { files, values: found, begun, segments, chain, state }
  } finally {
    await database.close()
  }
}

/**
 * Returns the damage of LevelDB's files. Without any, the files of old blocks are compared with the
 * records of the database.
 */
async function damagedFiles(request: InspectRequest): Promise<readonly string[]> {
  const { location } = request
  const lines: string[] = []
  const progress = request.progressOf({ title: 'checking the files of the database', unit: 'bytes' })
  const total = readableBytes(location)
  let done = 0
  const look = async (parts: Iterable<number | DatabaseError>): Promise<void> => {
    for (const part of parts) {
      if (typeof part === 'number') done += part
      else lines.push(withoutAdvice(part))
      progress.update(done, total)
      await pause(request)
    }
  }
  try {
    await look(findDamagedFiles(location))
    if (lines.length > 0) for (const path of segmentFiles(location)) await look(damageOr(verifySegmentFile(path)))
  } finally {
    progress.end()
  }
  return lines
}

/** Runs the same steps, and yields the damage that ends them as the last one. */
function* damageOr(steps: Iterable<number>): Generator<number | DatabaseError, void, void> {
  try {
    yield* steps
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
    yield error
  }
}

/** Returns undefined when the list of tables cannot be read. */
function readableBytes(location: string): number | undefined {
  try {
    return tableBytes(location)
  } catch (error) {
    if (error instanceof DatabaseError) return undefined
    throw error
  }
}

/** Signals come between two turns of the event loop. */
export async function pause({ signal }: Pick<InspectRequest, 'signal'>): Promise<void> {
  await setImmediate()
  signal.throwIfAborted()
}

/** Returns the keys of the values that do not have their checksums, by column. */
async function damagedValues(request: InspectRequest): Promise<ReadonlyMap<number, readonly Uint8Array[]>> {
  const found = new Map<number, Uint8Array[]>()
  const progress = request.progressOf({ title: 'checking the values of the database', unit: 'entries' })
  const entries = await StoredEntries.open(request.location)
  try {
    let done = 0
    let damaged = 0
    for await (const batch of entries.batches(EMPTY_BYTES, BATCH_BYTES)) {
      for (const [key, stored] of batch) {
        if (checkedValue(key, stored) !== undefined) continue
        const column = key[0]!
        if (++damaged > MAX_VALUES) return found
        const keys = found.get(column)
        if (keys === undefined) found.set(column, [key.slice()])
        else keys.push(key.slice())
      }
      done += batch.length
      progress.update(done)
      await pause(request)
    }
    return found
  } finally {
    await entries.close()
    progress.end()
  }
}

/**
 * Whether the number of the format is damaged and may have been another one. Such a database is not mended where it is: its contents would
 * be misread.
 */
async function isFormatLost(location: string, damaged: Damage['values']): Promise<boolean> {
  if (damaged.get(Column.chainMeta)?.some((key) => equalBytes(key, FORMAT_KEY)) !== true) return false
  const entries = await StoredEntries.open(location)
  try {
    return !isDamagedFormat(entries.get(FORMAT_KEY)!)
  } finally {
    await entries.close()
  }
}

async function damagedSegments(database: DatabaseReader, request: InspectRequest): Promise<readonly DamagedSegment[]> {
  const listed = await listSegments(database)
  const total = listed.reduce((sum, { bytes }) => sum + bytes, 0)
  const progress = request.progressOf({ title: 'checking the files of old blocks', unit: 'bytes', total })
  const damaged: DamagedSegment[] = []
  let done = 0
  try {
    for (const segment of listed) {
      for (const part of damageOr(checkSegmentFile(database.location, segment))) {
        if (typeof part === 'number') done += part
        else damaged.push({ segment, reason: withoutAdvice(part) })
        progress.update(done)
        await pause(request)
      }
    }
  } finally {
    progress.end()
  }
  return damaged
}

/**
 * Returns the keys of listed files with terms that are missing, damaged or different: they follow
 * from the blocks, as entries of indexes do.
 */
async function damagedTerms(database: DatabaseReader, request: InspectRequest): Promise<readonly Uint8Array[]> {
  const damaged: Uint8Array[] = []
  for await (const terms of listTerms(database)) {
    for (const part of damageOr(checkTermsFile(database.location, terms))) {
      if (typeof part !== 'number') damaged.push(termsKey(terms.first))
      await pause(request)
    }
  }
  return damaged
}

/** Returns the keys of lists with files of hashes that are missing, damaged or different. */
async function damagedHashFiles(database: DatabaseReader, request: InspectRequest): Promise<readonly Uint8Array[]> {
  const damaged = new Set<Hashed>()
  for (const file of readAllHashFiles(database)) {
    for (const part of damageOr(checkHashFile(database.location, file))) {
      if (typeof part !== 'number') damaged.add(file.of)
      await pause(request)
    }
  }
  return [...damaged].map(hashFilesKey)
}

/** So many problems of the chain are named: what is wrong with one block is often wrong with many. */
const MAX_PROBLEMS = 10

async function chainProblems(
  database: DatabaseReader,
  damaged: Mended,
  request: InspectRequest,
): Promise<readonly string[]> {
  const problems: string[] = []
  if (readHeadRecord(database) === undefined) return ['the newest block is missing']
  const chain = openChainReader(database)
  for await (const problem of findProblems(database, chain, request)) {
    problems.push(problem)
    if (problems.length === MAX_PROBLEMS) return [...problems, 'and more']
  }
  const problem = isColumnDamaged(damaged, Column.stateMeta) ? undefined : stateProblem(database, chain)
  return problem === undefined ? problems : [...problems, problem]
}

function isColumnDamaged(damaged: Mended, column: number): boolean {
  return [...damaged.keys()].some((key) => keyBytes(key)[0] === column)
}

/** Says why the state is not that of the newest block. */
function stateProblem(database: DatabaseReader, { headHeight, header }: ChainReader): string | undefined {
  const state = readStateHead(database)
  const root = header(headHeight)?.stateRoot
  if (state === undefined || root === undefined) return 'the state is missing'
  if (state.height === headHeight && equalBytes(state.root, root)) return undefined
  return `the state belongs to block ${state.height}, but the newest block is ${headHeight}`
}

async function* findProblems(
  database: DatabaseReader,
  chain: ChainReader,
  request: InspectRequest,
): AsyncGenerator<string> {
  const { base, headHeight } = chain
  const moved = readMoved(database)
  const filled = readFilled(database)
  for (let next = filled; next < moved; ) {
    const segment = findSegment(database, next)
    if (segment === undefined) yield `no file of old blocks has block ${next}`
    next = segment === undefined ? lastOfSegment(next) + 1 : segment.last + 1
  }
  const progress = request.progressOf({
    title: 'checking the newest blocks',
    unit: 'blocks',
    total: headHeight - moved + (filled - base),
  })
  try {
    /** what the block above says of this one */
    let above: { readonly id: BlockId | undefined; readonly ethereumHash: Uint8Array | undefined } = {
      id: readHeadRecord(database)?.decided?.blockId,
      ethereumHash: undefined,
    }
    let done = 0
    // Those in LevelDB: the newest, and below the segments older ones that were fetched later.
    for (let height = headHeight; height >= base; height--) {
      if (height < moved && height >= filled) {
        height = filled
        above = { id: undefined, ethereumHash: undefined }
        continue
      }
      const found = lookAtBlock(database, chain, height, above)
      if ('problem' in found) yield found.problem
      above = found
      progress.update(done++)
      if (height % BLOCKS_PER_PAUSE === 0) await pause(request)
    }
  } finally {
    progress.end()
  }
  yield* validatorProblems(database, chain, request)
}

const BLOCKS_PER_PAUSE = 64

/** @returns what the block says of the one below it, and what is wrong with it */
function lookAtBlock(
  database: DatabaseReader,
  chain: ChainReader,
  height: number,
  above: { readonly id: BlockId | undefined; readonly ethereumHash: Uint8Array | undefined },
): { readonly id: BlockId | undefined; readonly ethereumHash: Uint8Array | undefined; readonly problem?: string } {
  const unknown = { id: undefined, ethereumHash: undefined }
  try {
    const { header, block: bytes } = storedBlock(database, height)
    if (above.ethereumHash !== undefined && !equalBytes(keccak256(header), above.ethereumHash)) {
      return { ...unknown, problem: `the header of block ${height} does not match block ${height + 1}` }
    }
    if (bytes === undefined) return unknown
    const block = decodeBlock(bytes)
    const isWhole = equalBytes(dataHash(block.txs), block.header.dataHash)
    if (!isWhole && height >= chain.oldestBlock) {
      return { ...unknown, problem: `the transactions of block ${height} do not match its header` }
    }
    const names = { id: block.header.lastBlockId, ethereumHash: block.header.appHash }
    const { id } = above
    const isNamed =
      id === undefined ||
      (equalBytes(headerHash(block.header), id.hash) &&
        (!isWhole || equalBytes(createPartSet(bytes).header.hash, id.partSetHeader.hash)))
    if (!isNamed) return { ...names, problem: `block ${height} differs from the decided block` }
    // Throws when results are missing.
    chain.blockEvents(height)
    return names
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
    return { ...unknown, problem: withoutAdvice(error) }
  }
}

async function* validatorProblems(
  database: DatabaseReader,
  chain: ChainReader,
  request: InspectRequest,
): AsyncGenerator<string> {
  const start = columnKey(Column.proposerPrioritiesIndex)
  let next: number | undefined
  for await (const [key] of database.entries({ start, end: prefixEnd(start) })) {
    const group = readHeight(key, 1)
    // Those of blocks that are no longer retained are about to be removed.
    if ((group + 1) * RECORD_INTERVAL <= chain.base) continue
    if (next !== undefined && group !== next) yield `the validators of block ${next * RECORD_INTERVAL} are missing`
    next = group + 1
    if (group % BLOCKS_PER_PAUSE === 0) await pause(request)
    try {
      const last = Math.min(next * RECORD_INTERVAL - 1, chain.headHeight + 2)
      chain.validatorSetAt(last)
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
      yield withoutAdvice(error)
    }
  }
  const { headHeight } = chain
  const last = chain.consensusBlock(headHeight)?.header
  const set = chain.validatorSetAt(headHeight + 1)
  if (set === undefined || chain.validatorSetAt(headHeight + 2) === undefined) {
    yield `the validators of block ${headHeight + 1} are missing`
  } else if (last !== undefined && !equalBytes(validatorSetHash(set), last.nextValidatorsHash)) {
    yield `the validators of block ${headHeight + 1} do not match block ${headHeight}`
  }
}

/** The columns whose entries say what the state is; all others of the state follow from them. */
const FLAT: readonly number[] = [Column.account, Column.slot, Column.native]

/** @param mended gets the right values of damaged entries of the state */
async function stateDamage(
  database: DatabaseReader,
  mended: Map<string, Uint8Array | undefined>,
  request: InspectRequest,
): Promise<StateDamage> {
  const { headHeight, header } = openChainReader(database)
  const root = header(headHeight)!.stateRoot
  const derived = { nodes: 0, slotCounts: 0, isDirectoryWrong: false }
  for (const key of [...mended.keys()].map(keyBytes)) {
    if (!FLAT.includes(key[0]!)) continue
    const value = valueInTrie(database, root, key)
    if (value === undefined) {
      const what = `${columnName(key[0])} ${bytesToHex(key.subarray(1))}`
      return { root, mended, derived, loss: `the value of ${what} and its path in the trie are lost` }
    }
    if (value.length > 0) mended.set(bytesKey(key), value)
  }
  const missingCode: Hash[] = []
  try {
    const found = await recomputeState(
      database,
      { ...request, title: 'recomputing the state root' },
      {
        node: () => void derived.nodes++,
        slotCount: () => void derived.slotCounts++,
        directory: () => {
          derived.isDirectoryWrong = true
        },
        code: (hash) => void missingCode.push(hash),
      },
    )
    const loss = equalBytes(found, root)
      ? missingCode.length === 0
        ? undefined
        : `the bytecode of ${missingCode.length} contracts is missing, the first has hash ${bytesToHex(missingCode[0]!)}`
      : `accounts, slots and native entries have the state root ${bytesToHex(found)}, but block ${headHeight} has ${bytesToHex(root)}`
    return { root, mended, derived, loss }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'corrupt') throw error
    return { root, mended, derived, loss: withoutAdvice(error) }
  }
}
