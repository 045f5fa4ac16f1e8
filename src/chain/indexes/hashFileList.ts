import { decodeRLP, encodeRLP } from '../../primitives/rlp.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey } from '../../storage/columns.ts'
import { DatabaseError, type DatabaseReader, type KeyReader } from '../../storage/database.ts'
import {
  decodeHashFile,
  encodeHashFile,
  HASHED,
  type Hashed,
  type HashFile,
  hashFileName,
  hashPrefix,
  heightsInFile,
} from './hashFile.ts'

/*
 * The list of files that have the hashes of blocks in segments. A hash may be in any of them, so a
 * look-up reads all. Two neighbouring files are merged as soon as they have about the same length
 * (`nextMerge`), so that ten thousand segments have at most fourteen. makeHashFiles.ts makes and
 * lists them.
 */

/** Returns the key of the list. */
export function hashFilesKey(of: Hashed): Uint8Array {
  return columnKey(Column.hashFile, Uint8Array.of(HASHED.indexOf(of)))
}

/** Reads the list of files, in the order of their heights; no two files have the same height. */
export function readHashFiles(db: KeyReader, of: Hashed): readonly HashFile[] {
  const bytes = db.get(hashFilesKey(of))
  return bytes === undefined ? [] : (decodeRLP(bytes) as Uint8Array[][]).map((items) => decodeHashFile(of, items))
}

export function writeHashFiles(batch: WriteBatch, of: Hashed, files: readonly HashFile[]): void {
  if (files.length === 0) batch.del(hashFilesKey(of))
  else batch.put(hashFilesKey(of), encodeRLP(files.map(encodeHashFile)))
}

/** Reads the lists of both kinds of file: hashes of blocks and of transactions. */
export function readAllHashFiles(db: KeyReader): readonly HashFile[] {
  return HASHED.flatMap((of) => readHashFiles(db, of))
}

/** Whether a file is still in the list. */
export function isListed(db: KeyReader, file: HashFile): boolean {
  return readHashFiles(db, file.of).some((other) => hashFileName(other) === hashFileName(file))
}

/** Whether listed files have the hashes of a block, or of its transactions. */
export function readHashCoverage(db: KeyReader): (of: Hashed, height: number) => boolean {
  const files = readAllHashFiles(db)
  return (of, height) => files.some((file) => file.of === of && height >= file.first && height <= file.last)
}

/**
 * Returns the heights of blocks in segments, ascending, that have this hash or transactions with
 * it. The caller compares, since other hashes may begin as it does.
 * @param hash its first 6 bytes, or more; nothing has a shorter one
 * @throws DatabaseError when a file is damaged
 */
export function findHashHeights(
  db: Pick<DatabaseReader, 'location' | 'get' | 'newest' | 'onDamage'>,
  of: Hashed,
  hash: Uint8Array,
): readonly number[] {
  const prefix = hashPrefix(hash)
  if (prefix === undefined) return []
  for (let files = readHashFiles(db, of); ; ) {
    let current: HashFile | undefined
    try {
      return files.flatMap((file) => {
        current = file
        return heightsInFile(db.location, file, prefix)
      })
    } catch (error) {
      if (!(error instanceof DatabaseError && error.code === 'corrupt') || current === undefined) throw error
      // A file that is no longer listed may be removed while snapshots still list it: another file
      // has its hashes, or they were dropped.
      files = readHashFiles(db.newest ?? db, of)
      if (!isListed(db.newest ?? db, current)) continue
      db.onDamage?.(error)
      throw error
    }
  }
}

/** Files do not become longer than this by merging: it bounds the time, and the disk, that one takes. Some two gigabytes. */
const MAX_MERGED_HASHES = 2 ** 28

/**
 * Returns the two files to merge next; undefined when no merge is due. After the merges each file
 * has at least twice, or at most half as many blocks as its neighbours, and none is shorter than
 * both, so that lengths grow up to the longest and fall behind it. Their number is at most twice
 * the logarithm of the number of segments, and each hash is rewritten about as often.
 */
export function nextMerge(files: readonly HashFile[]): readonly [HashFile, HashFile] | undefined {
  let best: readonly [HashFile, HashFile] | undefined
  for (let i = 0; i + 1 < files.length; i++) {
    const [a, b] = [files[i]!, files[i + 1]!]
    if (a.last + 1 !== b.first || a.count + b.count > MAX_MERGED_HASHES) continue
    const [shorter, longer] = lengthOf(a) < lengthOf(b) ? [a, b] : [b, a]
    const beyond = shorter === a ? files[i - 1] : files[i + 2]
    const isBetweenLonger = beyond !== undefined && lengthOf(beyond) >= lengthOf(longer)
    if (lengthOf(longer) >= 2 * lengthOf(shorter) && !isBetweenLonger) continue
    if (best === undefined || lengthOf(a) + lengthOf(b) < lengthOf(best[0]) + lengthOf(best[1])) best = [a, b]
  }
  return best
}

function lengthOf({ first, last }: HashFile): number {
  return last - first + 1
}
