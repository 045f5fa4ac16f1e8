import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { FetchedMarks } from './fetchedMark.ts'
import { isSnapshotName, MANIFEST_NAME } from './manifest.ts'

/** A snapshot that is complete, as it is offered to peers. */
export interface OfferedSnapshot {
  readonly height: number
  /** sha256 of its manifest, which names it: two nodes with the same manifest have the same chunks */
  readonly manifest: Uint8Array
  /** of the manifest, and of all chunks together */
  readonly manifestBytes: number
  readonly chunkBytes: number
}

/** A part of a file, and the size of the whole. */
export interface FilePiece {
  readonly size: number
  readonly bytes: Uint8Array
}

/** A node's snapshots, as it serves them to peers. */
export interface SnapshotSource {
  /** Returns the offered snapshots, the newest first. */
  offers(): Promise<readonly OfferedSnapshot[]>
  /**
   * Reads the bytes of a manifest or chunk from `offset` on, at most `length`; fewer at the end of
   * the file.
   * @returns undefined when there is no such file (any more)
   */
  read(sha256: Uint8Array, offset: number, length: number): Promise<FilePiece | undefined>
}

/** For a node that serves none. */
export const NO_SNAPSHOTS: SnapshotSource = { offers: async () => [], read: async () => undefined }

const CHUNK = /^[0-9a-f]{64}\.zst$/

interface Shelved {
  readonly directory: string
  readonly offer: OfferedSnapshot
}

/**
 * Returns the snapshots below `root` (`HOMEDIR/snapshots`), each in a directory with its height as
 * name. They never change, but appear and disappear while the node runs; a manifest is read once. A
 * snapshot that a peer is fetching stays for a while, see fetchedMark.ts.
 * @param nowMs since the epoch
 */
export function snapshotsIn(root: string, nowMs: () => number): SnapshotSource {
  const known = new Map<string, Shelved>()
  const marks = new FetchedMarks(nowMs)

  const shelved = async (): Promise<readonly Shelved[]> => {
    const names = (await namesIn(root)).filter(isSnapshotName).sort((a, b) => Number(b) - Number(a))
    for (const [name, { directory }] of known) {
      if (names.includes(name)) continue
      known.delete(name)
      marks.forget(directory)
    }
    const found: Shelved[] = []
    for (const name of names) {
      const entry = known.get(name) ?? (await shelve(join(root, name), Number(name)))
      if (entry === undefined) continue
      known.set(name, entry)
      found.push(entry)
    }
    return found
  }

  return {
    offers: async () => (await shelved()).map(({ offer }) => offer),
    read: async (sha256, offset, length) => {
      for (const { directory, offer } of await shelved()) {
        const name = equalBytes(offer.manifest, sha256) ? MANIFEST_NAME : `${bytesToHex(sha256).slice(2)}.zst`
        const piece = await readPiece(join(directory, name), offset, length)
        if (piece === undefined) continue
        await marks.add(directory)
        return piece
      }
      return undefined
    },
  }
}

/** Returns undefined when it has been removed meanwhile. */
async function shelve(directory: string, height: number): Promise<Shelved | undefined> {
  try {
    const manifest = await readFile(join(directory, MANIFEST_NAME))
    let chunkBytes = 0
    for (const name of await readdir(directory)) {
      if (CHUNK.test(name)) chunkBytes += (await stat(join(directory, name))).size
    }
    const hash = new Uint8Array(createHash('sha256').update(manifest).digest())
    return { directory, offer: { height, manifest: hash, manifestBytes: manifest.length, chunkBytes } }
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

async function readPiece(path: string, offset: number, length: number): Promise<FilePiece | undefined> {
  let file: FileHandle
  try {
    file = await open(path)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
  try {
    const { size } = await file.stat()
    const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)))
    let filled = 0
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return { size, bytes: bytes.subarray(0, filled) }
  } finally {
    await file.close()
  }
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ENOTDIR'
}
