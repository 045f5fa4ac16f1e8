import { basename, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type ConsensusBlock, dataHash, decodeBlock, encodeBlock } from '../../chain/comet/block.ts'
import { encodeValidatorSet } from '../../chain/comet/lightBlock.ts'
import type { ValidatorSet } from '../../chain/comet/types.ts'
import { ConsensusDecodingError } from '../../chain/comet/wire.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { completeHashFiles } from '../../chain/indexes/makeHashFiles.ts'
import { readCompleteFrom } from '../../chain/retention/completeBlocks.ts'
import type { StoredBlock } from '../../chain/segments/blockFrame.ts'
import { readFilled } from '../../chain/segments/moveBlocks.ts'
import {
  createSegmentCache,
  firstOfSegment,
  lastOfSegment,
  type NamedSegment,
  readFromIndex,
  type SegmentCache,
  segmentName,
} from '../../chain/segments/segments.ts'
import { openChainReader, readBase } from '../../chain/store/chainReader.ts'
import type { EncodedBlock } from '../../chain/store/linkedBlocks.ts'
import { type OlderBlock, type VerifiedBlock, verifyOlderBlocks } from '../../chain/store/olderBlocks.ts'
import { findSet } from '../../chain/store/validatorRecords.ts'
import { type OlderBlockInFile, writeOlderBlocks, writeOlderSegment } from '../../chain/store/writeOlderBlocks.ts'
import { type OlderBlocksTip, olderBlocksTip, tipBelow } from '../../execution/backfillBlocks.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../../storage/columns.ts'
import { Database } from '../../storage/database.ts'
import { salvageTo } from '../../storage/salvage.ts'
import { readSegmentIndex, type SegmentIndex, segmentFiles } from '../../storage/segmentFile.ts'
import { type OwnBlocksRequest, wholeSegment } from './ownBlocks.ts'
import { linkSegment } from './rebuildFromBlocks.ts'

export interface TakeOverRequest extends OwnBlocksRequest {
  /** directory of the database that was restored from a snapshot, which no process has open */
  readonly target: string
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisHash'>
}

/** Blocks that a restored database has from the damaged one. */
export interface TakenOver {
  /** lowest block that it has now */
  readonly lowest: number
  /** files of old blocks that were taken over */
  readonly files: number
  /** files of old blocks that only the damaged database has, and the last block in them */
  readonly left: { readonly files: number; readonly last: number } | undefined
}

/**
 * Adds the older blocks of the damaged database to one that was restored from a snapshot, from the snapshot's blocks downwards
 * to the first gap. It takes headers, commits and validators, as the backfill would fetch them from peers
 * (src/execution/backfillBlocks.ts), with the same proof. Each block is the one that the block above it names, and its validators have
 * the hash in its header. A whole file of old blocks becomes part of the new database by a link, when all its blocks are proved;
 * other blocks come from whatever can be read in LevelDB. The files keep the transactions of these blocks, but the node does not
 * serve them: the snapshot proves no results. May be called again when it was interrupted or killed.
 * @throws `signal.reason`
 */
export async function takeOverBlocks(request: TakeOverRequest): Promise<TakenOver> {
  const scratch = await Database.open(join(request.sortDirectory, 'older'))
  try {
    const database = await Database.open(request.target)
    try {
      await salvage(request, scratch, openChainReader(database).headHeight)
      return await takeDownwards(request, new OldBlocks(request, scratch, database), database)
    } finally {
      await database.close()
    }
  } finally {
    await scratch.close()
  }
}

async function takeDownwards(request: TakeOverRequest, source: OldBlocks, database: Database): Promise<TakenOver> {
  const { location, signal, progressOf } = request
  const highest = readCompleteFrom(database)
  const progress = progressOf({ title: 'copying older blocks', unit: 'blocks' })
  const pause = async (height: number): Promise<void> => {
    await setImmediate()
    signal.throwIfAborted()
    progress.update(highest - height)
  }
  let files = 0
  try {
    for (;;) {
      const from = readCompleteFrom(database)
      if (from <= 1) break
      await pause(from)
      const file = from === readBase(database) ? await source.fileOf(from - 1) : undefined
      if (file !== undefined && isLinkable(database, file.index)) {
        if (!(await takeFile(request, database, source, file, pause))) break
        files++
      } else if (!(await takeBlocks(request, database, source))) {
        break
      }
    }
    const lowest = readBase(database)
    await completeHashFiles(database, () => pause(lowest))
    return { lowest, files, left: filesBelow(location, lowest) }
  } finally {
    progress.end()
  }
}

/** Copies what can be read of LevelDB's blocks and sets of validators to where it can be looked up. */
async function salvage(request: TakeOverRequest, scratch: Database, headHeight: number): Promise<void> {
  const { location, progressOf, signal } = request
  const progress = progressOf({ title: 'searching for readable blocks', unit: 'entries' })
  const pause = async (entries: number): Promise<void> => {
    progress.update(entries)
    await setImmediate()
    signal.throwIfAborted()
  }
  const isBlock = (key: Uint8Array): boolean =>
    (key[0] === Column.header || key[0] === Column.consensusBlock) && readHeight(key, 1) <= headHeight
  const isSet = (key: Uint8Array): boolean => key[0] === Column.validatorSet
  try {
    const { header, consensusBlock, validatorSet } = Column
    await salvageTo(scratch, { location, first: header, last: consensusBlock, isWanted: isBlock }, pause)
    await salvageTo(scratch, { location, first: validatorSet, last: validatorSet, isWanted: isSet }, pause)
  } finally {
    progress.end()
  }
}

/** A whole file of old blocks. */
interface OldFile {
  readonly index: SegmentIndex
  readonly isBare: boolean
}

/** Blocks and validators by height, without any proof. */
class OldBlocks {
  readonly #request: TakeOverRequest
  readonly #scratch: Database
  readonly #restored: Database
  readonly #cache: SegmentCache = createSegmentCache()
  readonly #names: readonly NamedSegment[]
  /** of the last block that was asked for */
  #file: OldFile | undefined
  /** names of files that no source has whole */
  readonly #damaged = new Set<string>()

  constructor(request: TakeOverRequest, scratch: Database, restored: Database) {
    this.#request = request
    this.#scratch = scratch
    this.#restored = restored
    this.#names = namedSegments(request.location)
  }

  /** Returns the whole file that has a block; undefined when there is no such file. */
  async fileOf(height: number): Promise<OldFile | undefined> {
    const has = ({ first, last }: NamedSegment): boolean => height >= first && height <= last
    if (this.#file !== undefined && has(this.#file.index)) return this.#file
    const usual: NamedSegment = { first: firstOfSegment(height), last: lastOfSegment(height) }
    for (const name of [...this.#names.filter(has), usual, { ...usual, isBare: true }]) {
      if (this.#damaged.has(segmentName(name))) continue
      const path = await wholeSegment(this.#request, name)
      if (path !== undefined) {
        this.#file = { index: readSegmentIndex(path), isBare: name.isBare === true }
        return this.#file
      }
      this.#damaged.add(segmentName(name))
    }
    return undefined
  }

  /** The lowest block from which on, up to this one, no file begins that ends below it. */
  lowestBeside(height: number): number {
    const ends = this.#names.map(({ last }) => last + 1).filter((end) => end <= height)
    return Math.max(firstOfSegment(height), ...ends)
  }

  /** A block as it was stored, with or without its transactions; undefined when it is nowhere. */
  async read(height: number): Promise<EncodedBlock | undefined> {
    if (height >= readBase(this.#restored)) return storedIn(this.#restored, height)
    const file = await this.fileOf(height)
    if (file === undefined) return storedIn(this.#scratch, height)
    const { block, header } = this.inFile(file.index, height)
    return block && { block, header }
  }

  inFile(index: SegmentIndex, height: number): StoredBlock {
    return readFromIndex(index, this.#cache, height)
  }

  validators(hash: Uint8Array): ValidatorSet | undefined {
    return findSet(this.#scratch, hash) ?? findSet(this.#restored, hash)
  }
}

/** Reads a block in LevelDB. */
function storedIn(db: Database, height: number): EncodedBlock | undefined {
  const header = db.get(columnKey(Column.header, heightBytes(height)))
  const block = db.get(columnKey(Column.consensusBlock, heightBytes(height)))
  return header && block && { header, block }
}

/** Returns the files of old blocks in a database's directory, by their names. */
function namedSegments(location: string): readonly NamedSegment[] {
  return segmentFiles(location).flatMap((path) => {
    const [, first, last, bare] = /^(\d+)-(\d+)(-bare)?\.segment$/.exec(basename(path)) ?? []
    return first === undefined ? [] : [{ first: Number(first), last: Number(last), isBare: bare !== undefined }]
  })
}

function filesBelow(location: string, lowest: number): TakenOver['left'] {
  const left = namedSegments(location).filter(({ first }) => first < lowest)
  return left.length === 0 ? undefined : { files: left.length, last: Math.max(...left.map(({ last }) => last)) }
}

/** Whether the database can list a file: it has no block above the chain, and LevelDB no block below. */
function isLinkable(database: Database, { last }: SegmentIndex): boolean {
  return last <= openChainReader(database).headHeight && readFilled(database) === readBase(database)
}

/** Blocks that are read and verified at once. */
const BLOCKS_AT_ONCE = 256

/** Takes over a file whose blocks below the base are all proved, and whose others are those of the database. @returns whether it is such a file */
async function takeFile(
  request: TakeOverRequest,
  database: Database,
  source: OldBlocks,
  { index, isBare }: OldFile,
  pause: (height: number) => Promise<void>,
): Promise<boolean> {
  const { first, last, bytes, sha256, path } = index
  const base = readBase(database)
  for (let height = base; height <= last; height++) {
    if (!isSame(source.inFile(index, height), storedIn(database, height))) return false
  }
  const lowest = Math.max(1, first)
  const blocks: OlderBlockInFile[] = []
  let tip = olderBlocksTip(database)
  for (let height = base - 1; height >= lowest; height = tip.link.height) {
    const proved = await provedBlocks(request, source, tip, Math.min(BLOCKS_AT_ONCE, height - lowest + 1))
    if (proved.length === 0) return false
    blocks.push(...proved.map(withoutBytes))
    tip = tipBelow(tip, proved)
    await pause(tip.link.height)
  }
  const genesis = first > 0 ? undefined : keccak256(source.inFile(index, 0).header)
  if (genesis !== undefined && !equalBytes(tip.link.ethereumHash, genesis)) return false
  await linkSegment(path, request.target)
  const batch = new WriteBatch()
  const segment = { first, last, bytes, sha256, isBare }
  writeOlderSegment(batch, database, { segment, blocks, genesis })
  await database.write(batch, { sync: true })
  return true
}

/** Copies the values, since a view would hold the bytes of the block, or of a whole file, in memory. */
function withoutBytes({ height, hash, consensusHash, validatorsHash, validators }: VerifiedBlock): OlderBlockInFile {
  return {
    height,
    hash: hash.slice(),
    consensusHash: consensusHash.slice(),
    validatorsHash: validatorsHash.slice(),
    validators: validators?.slice(),
  }
}

/** Writes a few blocks to LevelDB, or the validators of those that the snapshot brought. @returns whether there is at least one */
async function takeBlocks(request: TakeOverRequest, database: Database, source: OldBlocks): Promise<boolean> {
  const tip = olderBlocksTip(database)
  const highest = tip.link.height
  const base = readBase(database)
  const lowest = Math.max(1, highest >= base ? base : source.lowestBeside(highest))
  const proved = await provedBlocks(request, source, tip, Math.min(BLOCKS_AT_ONCE, highest - lowest + 1))
  if (proved.length === 0) return false
  const batch = new WriteBatch()
  writeOlderBlocks(batch, database, proved)
  await database.write(batch, { sync: true })
  return true
}

/** Whether two blocks are the same apart from the transactions, which one of them may not have any more. */
function isSame(a: StoredBlock, b: EncodedBlock | undefined): boolean {
  const bodiless = (bytes: Uint8Array | undefined) => bytes && encodeBlock({ ...decodeBlock(bytes), txs: [] })
  const [one, other] = [bodiless(a.block), bodiless(b?.block)]
  if (one === undefined || other === undefined || b === undefined) return false
  return equalBytes(one, other) && equalBytes(a.header, b.header)
}

/** Yields the blocks below the complete ones, down to the first one that is missing or not proved. */
async function provedBlocks(
  { chain: { chainId } }: TakeOverRequest,
  source: OldBlocks,
  tip: OlderBlocksTip,
  count: number,
): Promise<readonly VerifiedBlock[]> {
  const highest = tip.link.height
  const blocks: OlderBlock[] = []
  for (let height = highest; blocks.length < count; height--) {
    const found = await source.read(height)
    const block = found && decodedBlock(found.block)
    if (found === undefined || block === undefined) break
    const { validatorsHash, nextValidatorsHash } = block.header
    // As `readOlderBlock` returns it.
    const set = equalBytes(validatorsHash, nextValidatorsHash) ? undefined : source.validators(validatorsHash)
    const validators = set && encodeValidatorSet(set)
    blocks.push({ block: encodeBlock({ ...block, txs: [] }), header: found.header, validators })
  }
  const next = await source.read(highest - blocks.length)
  const hashBelow = next && decodedBlock(next.block)?.header.validatorsHash
  const setBelow = hashBelow && source.validators(hashBelow)
  const below = setBelow && encodeValidatorSet(setBelow)
  // When one of them is false, those above it are found in some steps.
  for (let length = blocks.length; length > 0; length >>>= 1) {
    const verified = verifyOlderBlocks({ blocks: blocks.slice(0, length), below }, { ...tip, chainId })
    if (typeof verified !== 'string') return verified
  }
  return []
}

/** Returns undefined when the bytes are not a block with all or none of its transactions. */
function decodedBlock(bytes: Uint8Array): ConsensusBlock | undefined {
  try {
    const block = decodeBlock(bytes)
    return block.txs.length === 0 || equalBytes(dataHash(block.txs), block.header.dataHash) ? block : undefined
  } catch (error) {
    if (!(error instanceof ConsensusDecodingError)) throw error
    return undefined
  }
}
