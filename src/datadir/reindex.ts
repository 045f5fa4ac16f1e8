import { entryHash, NO_BLOCK_EVENTS } from '../chain/block/entries.ts'
import { ENVELOPE_TERMS, envelopeKeys } from '../chain/indexes/eventIndex.ts'
import { checkHashFile, HASHED, type Hashed } from '../chain/indexes/hashFile.ts'
import { hashFilesKey, readHashFiles } from '../chain/indexes/hashFileList.ts'
import { TERM_COLUMNS, writeFullyIndexed } from '../chain/indexes/indexCoverage.ts'
import { mayBePacked } from '../chain/indexes/logIndex.ts'
import { completeHashFiles, missesHashes } from '../chain/indexes/makeHashFiles.ts'
import { readFilled, readMoved, writeTermsOf } from '../chain/segments/moveBlocks.ts'
import { findSegment } from '../chain/segments/segments.ts'
import { findTerms, type ListedTerms, termsEntry, termsKey } from '../chain/segments/segmentTerms.ts'
import { type ChainReader, openChainReader } from '../chain/store/chainReader.ts'
import { forEachTermEntry, putBodyEntries, putHashEntries } from '../chain/store/writeBlock.ts'
import { bytesKey, bytesToBigInt, concatBytes, equalBytes } from '../primitives/bytes.ts'
import { decodeRLP, encodeRLP } from '../primitives/rlp.ts'
import { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, columnName, HEIGHT_BYTES, prefixEnd, readHeight } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'
import { DatabaseError, type DatabaseReader, type KeyRange, type WritableDatabase } from '../storage/database.ts'
import type { Progress, ProgressOf } from '../telemetry/progress.ts'

interface ReindexRequest {
  readonly database: WritableDatabase
  /** `off`: logs and events are left out, except for the hashes of transactions */
  readonly index: 'all' | 'off'
  /** begins to show a part of the work */
  readonly progressOf: ProgressOf
  /** ends it between two steps; a later call continues there */
  readonly signal?: AbortSignal
  /** entries that are compared until what was found wrong is written */
  readonly stepEntries?: number
}

/** Entries that were wrong, by the name of their column. */
export type Reindexed = Readonly<
  Record<string, { readonly missing: number; readonly changed: number; readonly extra: number }>
>

type Findings = Record<string, { missing: number; changed: number; extra: number }>

const STEP_ENTRIES = 100_000

/**
 * Makes the indexes of a stopped node match its blocks and their results: hashes of blocks and transactions, terms of logs and
 * events. Correct entries are not written again. Takes the memory of one block, and of a count for each of 65,536 groups of keys:
 *
 * 1. Make the files with the hashes of blocks in segments anew.
 * 2. Go through the blocks, oldest first: write entries that are missing or wrong, and count the expected entries by group.
 *    Each step is one synced batch, with the place at which to continue after an interruption. The files with the terms of
 *    segments are made anew.
 * 3. Go through the indexes and count the entries. Nothing is missing any more, so a group with more entries than expected has
 *    some that belong to no block.
 * 4. In such groups, look up the block of each entry, and delete the entries that the block does not have.
 *
 * With all logs and events indexed, blocks that a node with INDEX=off has left out are found again.
 * @returns the errors that were found and corrected
 * @throws DatabaseError when a block cannot be read; the signal's reason
 */
export async function reindex(request: ReindexRequest): Promise<Reindexed> {
  const { database, index } = request
  const chain = openChainReader(database)
  const moved = { from: readFilled(database), to: readMoved(database) }
  const work: Work = { chain, moved, groups: new Uint32Array(GROUPS), findings: {}, next: chain.base, terms: undefined }
  const isBegun = resume(database, index, work)
  // 1.
  if (!isBegun) await unlistHashFiles(request, work)
  await completeHashFiles(database, async () => request.signal?.throwIfAborted())
  // 2.
  await addMissing(request, work)
  // 3.
  const found = await countEntries(request)
  const isSuspect = (key: Uint8Array): boolean => found[groupOf(key)]! > work.groups[groupOf(key)]!
  // 4.
  if (found.some((count, group) => count > work.groups[group]!)) await removeExtra(request, work, isSuspect)
  const batch = new WriteBatch()
  batch.del(PROGRESS_KEY)
  if (index === 'all') writeFullyIndexed(batch)
  await database.write(batch, { sync: true })
  return work.findings
}

/** Heights, without the last one, whose blocks only segments have: their hashes are in files. */
interface MovedRange {
  readonly from: number
  readonly to: number
}

function isMoved({ from, to }: MovedRange, height: number): boolean {
  return height >= from && height < to
}

interface Work {
  readonly chain: ChainReader
  readonly moved: MovedRange
  /** entries that there must be, by group */
  readonly groups: Uint32Array
  readonly findings: Findings
  /** the first block that was not examined */
  next: number
  /** the file with the terms of this block, which are not in LevelDB then */
  terms: ListedTerms | undefined
}

/** Keys are spread over groups by their column, by bytes that differ between hashes and between terms, and by their last ones. */
const GROUPS = 65_536

function groupOf(key: Uint8Array): number {
  const last = key.length - 1
  return (
    (((key[2]! << 8) | key[3]!) ^ ((key[last]! << 8) | key[last - 1]!) ^ (key[0]! * 0x101) ^ key[1]!) & (GROUPS - 1)
  )
}

/** Returns the indexes that are rebuilt. */
function indexRanges(index: 'all' | 'off'): readonly KeyRange[] {
  const column = (number: number): KeyRange => ({ start: columnKey(number), end: prefixEnd(columnKey(number)) })
  return [
    column(Column.blockHash),
    column(Column.transaction),
    column(Column.consensusHash),
    column(Column.nativeTransaction),
    column(Column.shortHash),
    ...(index === 'all'
      ? [column(Column.logTerm), column(Column.packedLogTerms), column(Column.eventTerm)]
      : [{ start: ENVELOPE_TERMS, end: prefixEnd(ENVELOPE_TERMS) }]),
  ]
}

/** Unlists the files with hashes: from now on all of them are to be made anew. */
async function unlistHashFiles({ database, index, signal }: ReindexRequest, work: Work): Promise<void> {
  const batch = new WriteBatch()
  for (const of of HASHED) {
    const key = hashFilesKey(of)
    if (areHashFilesDamaged(database, of, signal)) note(work.findings, key, 'changed')
    else if (missesHashes(database, of)) note(work.findings, key, 'missing')
    batch.del(key)
  }
  batch.put(PROGRESS_KEY, encodeProgress(index, work))
  await database.write(batch, { sync: true })
}

function areHashFilesDamaged(database: DatabaseReader, of: Hashed, signal: AbortSignal | undefined): boolean {
  try {
    for (const file of readHashFiles(database, of)) {
      for (const _ of checkHashFile(database.location, file)) signal?.throwIfAborted()
    }
    return false
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'corrupt') return true
    throw error
  }
}

async function addMissing(
  { database, index, progressOf, signal, stepEntries = STEP_ENTRIES }: ReindexRequest,
  work: Work,
) {
  const { headHeight } = work.chain
  const progress = progressOf({ title: 'comparing blocks with their indexes', unit: 'blocks', total: headHeight + 1 })
  try {
    while (work.next <= headHeight) {
      signal?.throwIfAborted()
      progress.update(work.next)
      const batch = new WriteBatch()
      const compare = comparison(database, work, batch)
      if (work.next === work.chain.base) addGenesis(compare, work.chain)
      for (let compared = 0; compared < stepEntries && work.next <= headHeight; work.next++) {
        if (index === 'all') await remakeTerms(database, work, batch, signal)
        const isIndexed = index === 'all' && work.terms === undefined
        const form = { isIndexed, isPackable: isPackable(database, work.next) }
        compared += addBlock(compare, work.chain, work.next, form)
      }
      batch.put(PROGRESS_KEY, encodeProgress(index, work))
      await database.write(batch, { sync: true })
    }
  } finally {
    progress.end()
  }
}

/**
 * At the first block of a segment, writes the file with the terms of its blocks anew, and lists it where another one is listed or none. A
 * process that is killed between both leaves a file that is not the listed one: this is done again by the next reindex.
 */
async function remakeTerms(
  database: DatabaseReader,
  work: Work,
  batch: WriteBatch,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { chain, moved, next } = work
  if (work.terms !== undefined && next > work.terms.last) work.terms = undefined
  if (!isMoved(moved, next)) return
  const segment = findSegment(database, next)
  if (segment === undefined || segment.last < chain.oldestBlock) return
  if (next > segment.first) {
    work.terms ??= findTerms(database, next)
    return
  }
  const before = readEntry(database, termsKey(next))
  work.terms = await writeTermsOf(database, segment, async () => signal?.throwIfAborted())
  const [key, value] = termsEntry(work.terms)
  if (before !== undefined && equalBytes(before, value)) return
  batch.put(key, value)
  note(work.findings, key, before === undefined ? 'missing' : 'changed')
}

/** Adds the entry of block 0. Where a chain begins above it, only its hash is known. */
function addGenesis(target: Pick<WriteBatch, 'put'>, chain: ChainReader): void {
  const hash = chain.base > 0 ? chain.hash(0) : undefined
  if (hash !== undefined) putHashEntries(target, { height: 0, hash, consensusHash: undefined })
}

/** Whether the entries of a block in the indexes of hashes are in LevelDB, and not in files. */
function hasHashEntries({ base }: ChainReader, moved: MovedRange, height: number): boolean {
  return !isMoved(moved, height) || (height === 0 && base > 0)
}

/** Takes entries as they must be: compares them with those in the database, and adds to a batch what is wrong. */
function comparison(
  database: DatabaseReader,
  { chain, moved, groups, findings }: Work,
  batch: WriteBatch,
): Pick<WriteBatch, 'put'> {
  return {
    put: (key, value) => {
      if (isHashInFile(chain, moved, key, value)) return
      const stored = readEntry(database, key)
      // Two blocks may share the beginning of a hash: the later one has the entry.
      if (stored !== undefined && isLater(key, stored, value) && isEntry(database, chain, moved, key, stored)) return
      groups[groupOf(key)]!++
      if (stored !== undefined && equalBytes(stored, value)) return
      batch.put(key, value)
      note(findings, key, stored === undefined ? 'missing' : 'changed')
    },
  }
}

/** Reads an entry as it is stored; returns no bytes for one without its checksum, which is then written anew. */
function readEntry(database: DatabaseReader, key: Uint8Array): Uint8Array | undefined {
  try {
    return database.get(key)
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'corrupt') return Uint8Array.of(0xff)
    throw error
  }
}

/** Does the same as {@link mayBePacked}, for an index with damaged entries. */
function isPackable(database: DatabaseReader, height: number): boolean {
  return mayBePacked({ get: (key) => readEntry(database, key) }, height)
}

/** Whether an entry of a block is one of a hash that is in a file. */
function isHashInFile(chain: ChainReader, moved: MovedRange, key: Uint8Array, value: Uint8Array): boolean {
  if (isEnvelope(key)) return isMoved(moved, readHeight(key, key.length - HEIGHT_BYTES))
  return HASH_COLUMNS.has(key[0]!) && !hasHashEntries(chain, moved, readHeight(value, 0))
}

const HASH_COLUMNS: ReadonlySet<number> = new Set([
  Column.blockHash,
  Column.consensusHash,
  Column.transaction,
  Column.nativeTransaction,
])

function isLater(key: Uint8Array, stored: Uint8Array, value: Uint8Array): boolean {
  return !TERM_COLUMNS.has(key[0]) && stored.length === value.length && readHeight(stored, 0) > readHeight(value, 0)
}

/** @returns how many entries the block must have: at least the one of its hash */
function addBlock(
  target: Pick<WriteBatch, 'put'>,
  chain: ChainReader,
  height: number,
  form: { readonly isIndexed: boolean; readonly isPackable: boolean },
): number {
  const hash = chain.hash(height)
  if (hash === undefined) throw damagedContents(`block ${height} is missing`)
  const known = new Set<string>()
  const counted: Pick<WriteBatch, 'put'> = {
    put: (key, value) => {
      // A block may have a term more than once.
      if (known.has(bytesKey(key))) return
      known.add(bytesKey(key))
      target.put(key, value)
    },
  }
  putHashEntries(counted, { height, hash, consensusHash: height === 0 ? undefined : chain.blockId(height)?.hash })
  if (height < chain.oldestBlock) return known.size
  const entries = chain.entryResults(height) ?? []
  const events = chain.blockEvents(height) ?? NO_BLOCK_EVENTS
  putBodyEntries(counted, { height, entries, events, ...form })
  return known.size
}

async function countEntries({ database, index, progressOf, signal }: ReindexRequest): Promise<Uint32Array> {
  const found = new Uint32Array(GROUPS)
  await walk(
    database,
    index,
    progressOf({ title: 'counting the entries of indexes', unit: 'entries' }),
    signal,
    async (key) => {
      found[groupOf(key)]!++
    },
  )
  return found
}

async function removeExtra(
  { database, index, progressOf, signal, stepEntries = STEP_ENTRIES }: ReindexRequest,
  { chain, moved, findings }: Work,
  isSuspect: (key: Uint8Array) => boolean,
): Promise<void> {
  const progress = progressOf({ title: 'searching for index entries without a block', unit: 'entries' })
  let batch = new WriteBatch()
  const flush = async (): Promise<void> => {
    await database.write(batch, { sync: true })
    batch = new WriteBatch()
  }
  await walk(database, index, progress, signal, async (key, value) => {
    if (!isSuspect(key) || (isEntry(database, chain, moved, key, value) && !isInFile(database, moved, key))) return
    batch.del(key)
    note(findings, key, 'extra')
    if (batch.length >= stepEntries) await flush()
  })
  await flush()
}

/** Visits the entries of all indexes. */
async function walk(
  database: DatabaseReader,
  index: 'all' | 'off',
  progress: Progress,
  signal: AbortSignal | undefined,
  visit: (key: Uint8Array, value: Uint8Array) => Promise<void>,
): Promise<void> {
  let done = 0
  try {
    for (const range of indexRanges(index)) {
      for await (const [key, value] of database.entries(range)) {
        if (done++ % 1_000 === 0) {
          signal?.throwIfAborted()
          progress.update(done)
        }
        await visit(key, value)
      }
    }
  } finally {
    progress.end()
  }
}

/** Whether a block of the chain has this entry in an index. */
function isEntry(
  database: DatabaseReader,
  chain: ChainReader,
  moved: MovedRange,
  key: Uint8Array,
  value: Uint8Array,
): boolean {
  if (key[0] === Column.shortHash) return false
  const rest = key.subarray(1)
  if (TERM_COLUMNS.has(key[0])) {
    const height = rest.length < HEIGHT_BYTES ? -1 : readHeight(rest, rest.length - HEIGHT_BYTES)
    if (height < chain.oldestBlock || height > chain.headHeight) return false
    const entries = chain.entryResults(height) ?? []
    if (isEnvelope(key)) return value.length === 0 && envelopeKeys(height, entries).some((one) => equalBytes(one, key))
    let isFound = false
    const events = chain.blockEvents(height) ?? NO_BLOCK_EVENTS
    forEachTermEntry({ height, entries, events, isPackable: isPackable(database, height) }, (one, itsValue) => {
      isFound ||= equalBytes(one, key) && equalBytes(itsValue, value)
    })
    return isFound
  }
  if (value.length < HEIGHT_BYTES) return false
  const height = readHeight(value, 0)
  if (!hasHashEntries(chain, moved, height) || height > chain.headHeight) return false
  if (key[0] === Column.blockHash || key[0] === Column.consensusHash) {
    const hash = key[0] === Column.blockHash ? chain.hash(height) : chain.blockId(height)?.hash.subarray(0, rest.length)
    return value.length === HEIGHT_BYTES && hash !== undefined && equalBytes(hash, rest)
  }
  if (value.length !== HEIGHT_BYTES + 4 || height < chain.oldestBlock) return false
  const position = Number(bytesToBigInt(value.subarray(HEIGHT_BYTES)))
  if (key[0] === Column.transaction) {
    const found = chain.transactions(height)?.[position]
    return found !== undefined && equalBytes(found.transaction.hash, rest)
  }
  const entry = chain.entryResults(height)?.[position]
  return entry?.kind === 'native' && equalBytes(entryHash(entry.raw), rest)
}

/** Whether a file next to segments has this entry. */
function isInFile(database: DatabaseReader, moved: MovedRange, key: Uint8Array): boolean {
  if (!TERM_COLUMNS.has(key[0])) return false
  const height = readHeight(key, key.length - HEIGHT_BYTES)
  return isMoved(moved, height) && (isEnvelope(key) || findTerms(database, height) !== undefined)
}

function isEnvelope(key: Uint8Array): boolean {
  return equalBytes(key.subarray(0, ENVELOPE_TERMS.length), ENVELOPE_TERMS)
}

function note(findings: Findings, key: Uint8Array, what: 'missing' | 'changed' | 'extra'): void {
  findings[columnName(key[0])] ??= { missing: 0, changed: 0, extra: 0 }
  findings[columnName(key[0])]![what]++
}

const PROGRESS_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('reindex'))

/** Encodes the progress with which an interrupted reindex continues, while chain and indexed data are the same. */
function encodeProgress(index: 'all' | 'off', { chain, groups, findings, next }: Work): Uint8Array {
  const text = new TextEncoder()
  return encodeRLP([
    ...identity(index, chain),
    BigInt(next),
    new Uint8Array(groups.buffer, groups.byteOffset, groups.byteLength),
    text.encode(JSON.stringify(findings)),
  ])
}

/** Takes over what an interrupted reindex of this very chain has done. @returns whether there was one */
function resume(database: DatabaseReader, index: 'all' | 'off', work: Work): boolean {
  const stored = database.get(PROGRESS_KEY)
  if (stored === undefined) return false
  const items = decodeRLP(stored) as Uint8Array[]
  const expected = decodeRLP(encodeRLP(identity(index, work.chain))) as Uint8Array[]
  if (!expected.every((item, at) => equalBytes(item, items[at]!))) return false
  const [next, groups, findings] = items.slice(expected.length)
  work.next = Number(bytesToBigInt(next!))
  new Uint8Array(work.groups.buffer).set(groups!)
  Object.assign(work.findings, JSON.parse(new TextDecoder().decode(findings)))
  return true
}

/** Returns the values that must be the same for the work to continue. */
function identity(index: 'all' | 'off', chain: ChainReader): [Uint8Array, bigint, bigint] {
  return [
    concatBytes(new TextEncoder().encode(index), chain.hash(chain.headHeight)!),
    BigInt(chain.base),
    BigInt(chain.oldestBlock),
  ]
}
