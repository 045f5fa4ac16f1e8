import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type BlockId, equalBlockId } from '../chain/comet/types.ts'
import { syncDirectory, writeFileDurably } from '../storage/writeFileDurably.ts'
import { Recovery, RecoveryError } from './recovery.ts'
import { newerEntry } from './signer.ts'
import { nodeDisk, openWal, Wal, type WalOptions } from './wal.ts'
import { isSignerEntry, type SignerEntry } from './walEntry.ts'

interface RestoredHead {
  readonly height: number
  readonly blockId: BlockId
}

interface SetAsideOptions {
  readonly wal: Pick<WalOptions, 'directory' | 'genesisHash' | 'randomBytes' | 'warn'>
  /** files with pending evidence, a directory in that of the log */
  readonly evidenceDirectory: string
  readonly chainId: string
  /** of an encoded block */
  readonly maxBlockBytes: number
}

/**
 * Makes the write-ahead log fit a database that was restored from a snapshot. The signer's memory
 * stays in any case. The log's decided blocks stay when they continue the restored head: the start
 * executes them. Otherwise they belong to another history, or some between are missing: the log is
 * moved away as a whole, and a new one has the newest signature only. May be called again after an
 * interruption:
 *
 * 1. The new log is written next to the old one, and synced.
 * 2. The old one gets another name.
 * 3. The new one gets its name. Where there is only a new one, the steps before are done.
 * @returns where the old log is now; undefined when it stays
 * @throws WalError when the log cannot be read
 */
export async function setLogAside(options: SetAsideOptions, head: RestoredHead): Promise<string | undefined> {
  const { directory } = options.wal
  const fresh = `${directory}.new`
  if (!existsSync(directory)) {
    if (existsSync(fresh)) await place(fresh, directory)
    return undefined
  }
  await rm(fresh, { recursive: true, force: true })
  const { recovery, lastSigned } = await readLog(options, head.height)
  if (isContinuation(recovery, head, options.maxBlockBytes)) return undefined
  // 1.
  await nodeDisk.makeDirectory(fresh)
  const log = new Wal({ ...options.wal, directory: fresh }, nodeDisk, [], lastSigned)
  await log.startSegment(1)
  await log.close()
  if (existsSync(options.evidenceDirectory)) {
    await copyEvidence(options.evidenceDirectory, join(fresh, options.evidenceDirectory.slice(directory.length)))
  }
  syncDirectory(fresh)
  syncDirectory(dirname(directory))
  // 2.
  const aside = unusedName(directory, head.height)
  await rename(directory, aside)
  // 3.
  await place(fresh, directory)
  return aside
}

async function readLog(
  { wal, chainId }: SetAsideOptions,
  height: number,
): Promise<{ readonly recovery: Recovery; readonly lastSigned: SignerEntry | undefined }> {
  const recovery = new Recovery(chainId, height)
  let lastSigned: SignerEntry | undefined
  const log = await openWal(wal, (entry) => {
    recovery.add(entry)
    if (entry.kind === 'lastSigned') lastSigned ??= entry.entry
    else if (isSignerEntry(entry)) lastSigned = newerEntry(lastSigned, entry)
  })
  await log.close()
  return { recovery, lastSigned }
}

/** Whether the log's decided blocks from the head on are the head itself and blocks that follow it without a gap. */
function isContinuation(recovery: Recovery, head: RestoredHead, maxBlockBytes: number): boolean {
  const own = recovery.decidedBlockId(head.height)
  if (own !== undefined && !equalBlockId(own, head.blockId)) return false
  let last = head.blockId
  for (let height = head.height + 1; height <= recovery.highestDecided; height++) {
    const decided = decidedBlock(recovery, height, maxBlockBytes)
    if (decided === undefined || !equalBlockId(decided.block.header.lastBlockId, last)) return false
    last = decided.blockId
  }
  return true
}

function decidedBlock(recovery: Recovery, height: number, maxBlockBytes: number): ReturnType<Recovery['decided']> {
  try {
    return recovery.decided(height, maxBlockBytes)
  } catch (error) {
    if (error instanceof RecoveryError) return undefined
    throw error
  }
}

/**
 * Copies the evidence, synced: no power failure may lose the proof that a validator signed twice.
 */
async function copyEvidence(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const name of await readdir(from)) {
    writeFileDurably(join(to, name), await readFile(join(from, name), 'utf8'), 0o600)
  }
}

/** `wal.aside-100`, or with a further number where that is taken. */
function unusedName(directory: string, height: number): string {
  for (let number = 1; ; number++) {
    const name = `${directory}.aside-${height}${number === 1 ? '' : `-${number}`}`
    if (!existsSync(name)) return name
  }
}

async function place(fresh: string, directory: string): Promise<void> {
  await rename(fresh, directory)
  syncDirectory(dirname(directory))
}
