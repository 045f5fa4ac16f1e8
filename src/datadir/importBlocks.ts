import { open } from 'node:fs/promises'
import { encodeBlock, headerHash } from '../chain/comet/block.ts'
import { verifyCommit } from '../chain/comet/commit.ts'
import { createPartSet } from '../chain/comet/partSet.ts'
import { equalBlockId } from '../chain/comet/types.ts'
import { validatorSetHash } from '../chain/comet/validatorSet.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import type { Application, ApplicationInfo } from '../consensus/application.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import { BLOCKS_FILES, type BlocksFile, type BlocksManifest } from '../snapshot/blocksManifest.ts'
import { MANIFEST_NAME, MAX_MANIFEST_BYTES } from '../snapshot/manifest.ts'
import { filesIn } from '../snapshot/snapshotFiles.ts'
import type { Progress } from '../telemetry/progress.ts'
import { type BlockFileEntry, BlockFileError, type PlacedEntry, readBlockBytes, readBlockFile } from './blockFile.ts'

interface ImportTarget {
  readonly application: Application
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisHash'>
  /** ends the import before the next block */
  readonly signal?: AbortSignal
  readonly onBlock?: (height: number) => void
}

export interface ImportRequest extends ImportTarget {
  readonly path: string
  /** receives how many of the file's bytes are done */
  readonly progress?: Pick<Progress, 'update'>
}

export interface DirectoryImportRequest extends ImportTarget {
  /** a directory, or web servers; neither is trusted */
  readonly files: {
    manifest(): Promise<BlocksManifest>
    /** @throws what ends the import; the signal's reason */
    fetch(file: BlocksFile, signal: AbortSignal): Promise<Uint8Array>
  }
  /** receives how many blocks are done */
  readonly progress?: Pick<Progress, 'update'>
}

/** Opens the files of a directory that `exportDirectory` wrote. */
export function blocksIn(directory: string): DirectoryImportRequest['files'] {
  const files = filesIn(directory)
  const read = async (name: string, maxBytes: number): Promise<Uint8Array> => {
    const bytes = await files.read(name, maxBytes)
    if (bytes === undefined) throw new BlockFileError(`${directory} has no ${name}`)
    return bytes
  }
  return {
    manifest: async () => BLOCKS_FILES.read(await read(MANIFEST_NAME, MAX_MANIFEST_BYTES)),
    fetch: async (file) => {
      const name = BLOCKS_FILES.nameOf(file)
      const bytes = await read(name, file.bytes)
      if (equalBytes(sha256(bytes), file.sha256)) return bytes
      throw new BlockFileError(`${name} in ${directory} is damaged: its bytes do not have the hash in ${MANIFEST_NAME}`)
    },
  }
}

/** First and last height that were executed; `to` < `from` when there was none. */
interface ImportedRange {
  readonly from: number
  readonly to: number
}

/**
 * Verifies and executes the blocks of a file that follow the newest block of the chain; earlier ones are skipped. The last ones may
 * not be on stable storage before the executor is closed.
 * @returns the first and last height that were executed (`to` < `from` when there was none)
 * @throws BlockFileError when a block is not the chain's next one or its commit is not valid
 */
export async function importBlocks(request: ImportRequest): Promise<ImportedRange> {
  const { application, chain, path, progress } = request
  const from = (await application.info()).height + 1
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    await execute(request, readBlockFile(file, chain.genesisHash), ({ offset }) => progress?.update(offset, size))
  } finally {
    await file.close()
  }
  return { from, to: (await application.info()).height }
}

/** Files that are fetched ahead, while the blocks of the one before are executed. */
const FILES_AHEAD = 2

/**
 * Imports the blocks of a directory (`exportDirectory`), and fetches the next files meanwhile. A later import fetches again what
 * was fetched but not executed.
 * @throws BlockFileError, also for a manifest of another chain; ManifestError; what `files` throws
 */
export async function importDirectory(request: DirectoryImportRequest): Promise<ImportedRange> {
  const { application, chain, files, progress, signal } = request
  const manifest = await files.manifest()
  if (manifest.chainId !== chain.chainId || !equalBytes(manifest.genesisHash, chain.genesisHash)) {
    throw new BlockFileError(
      `the blocks belong to the chain ${manifest.chainId} with the genesis ${bytesToHex(manifest.genesisHash)}, this node to ${chain.chainId} with ${bytesToHex(chain.genesisHash)}`,
    )
  }
  const from = (await application.info()).height + 1
  const waiting = manifest.files.filter(({ last }) => last >= from)
  const total = manifest.files.at(-1)!.last - from + 1
  const ended = new AbortController()
  const either = AbortSignal.any([ended.signal, ...(signal === undefined ? [] : [signal])])
  const begin = (file: BlocksFile) => {
    const bytes = files.fetch(file, either)
    // It is awaited when its turn comes; until then a failure must not count as unhandled.
    bytes.catch(() => undefined)
    return { file, bytes }
  }
  const coming = waiting.splice(0, FILES_AHEAD).map(begin)
  try {
    for (let next = coming.shift(); next !== undefined && !either.aborted; next = coming.shift()) {
      const blocks = readBlockBytes(await next.bytes, chain.genesisHash)
      const another = waiting.shift()
      if (another !== undefined) coming.push(begin(another))
      try {
        await execute(request, blocks, ({ block }) => progress?.update(block.header.height - from + 1, total))
      } catch (error) {
        if (!(error instanceof BlockFileError)) throw error
        throw new BlockFileError(`blocks ${next.file.first} to ${next.file.last}: ${error.message}`, { cause: error })
      }
    }
  } catch (error) {
    // The operator's signal ends it as it does within a file.
    if (!signal?.aborted) throw error
  } finally {
    ended.abort()
    await Promise.allSettled(coming.map(({ bytes }) => bytes))
  }
  return { from, to: (await application.info()).height }
}

async function execute(
  { application, chain, signal, onBlock }: ImportTarget,
  blocks: AsyncIterable<PlacedEntry>,
  onEntry: (entry: PlacedEntry) => void,
): Promise<void> {
  let info = await application.info()
  for await (const entry of blocks) {
    if (signal?.aborted) return
    onEntry(entry)
    const { height } = entry.block.header
    const next = info.height + 1
    if (height < next) continue
    if (height > next) throw new BlockFileError(`block ${next} is missing: the file continues with block ${height}`)
    const blockId = checkedBlockId(entry, chain, info)
    checkAncestry(entry, info)
    await application.finalizeBlock({ block: entry.block, blockId, seenCommit: entry.commit, catchingUp: true })
    onBlock?.(height)
    info = await application.info()
  }
}

/** Returns the block's ID, if more than two thirds of the height's validators signed it. */
function checkedBlockId(
  { block, commit }: BlockFileEntry,
  chain: ImportTarget['chain'],
  { validators, nextValidators }: ApplicationInfo,
) {
  const { height, chainId, validatorsHash, nextValidatorsHash } = block.header
  const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encodeBlock(block)).header }
  if (chainId !== chain.chainId) throw new BlockFileError(`block ${height} belongs to the chain ${chainId}`)
  if (!equalBytes(validatorsHash, validatorSetHash(validators))) {
    throw new BlockFileError(`block ${height} names other validators than this chain has at its height`)
  }
  if (!equalBytes(nextValidatorsHash, validatorSetHash(nextValidators))) {
    throw new BlockFileError(`block ${height} names other validators for block ${height + 1} than this chain has`)
  }
  const verdict = verifyCommit({ chainId, height, blockId, validators }, commit)
  if (!verdict.valid) throw new BlockFileError(`the commit of block ${height} is invalid: ${verdict.reason}`)
  return blockId
}

function checkAncestry({ block: { header } }: BlockFileEntry, { lastBlockId, lastResultsHash }: ApplicationInfo): void {
  if (lastBlockId !== undefined && !equalBlockId(lastBlockId, header.lastBlockId)) {
    throw new BlockFileError(`block ${header.height} does not follow this chain's block ${header.height - 1}`)
  }
  if (!equalBytes(lastResultsHash, header.lastResultsHash)) {
    throw new BlockFileError(`block ${header.height} was decided on other results of block ${header.height - 1}`)
  }
}
