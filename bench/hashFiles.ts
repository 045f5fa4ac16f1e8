/**
 * Processor time to find a hash of a block in many segments, by the files that have them (src/chain/indexes/hashFile.ts), and to merge two
 * such files. There are as many files as there can be at most: one for each power of two below the number of segments. The files are in
 * the system's memory when they are read.
 *
 *   node bench/hashFiles.ts [segments] [hashes of a block]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  FileHashes,
  type HashCursor,
  type HashFile,
  hashFilePath,
  MergedHashes,
  writeHashFile,
} from '../src/chain/indexes/hashFile.ts'
import { findHashHeights, writeHashFiles } from '../src/chain/indexes/hashFileList.ts'
import { SEGMENT_BLOCKS } from '../src/chain/segments/segments.ts'
import { WriteBatch } from '../src/storage/batch.ts'
import { Database } from '../src/storage/database.ts'

const [segments = 4_095, perBlock = 2] = process.argv.slice(2).map(Number)
const LOOK_UPS = 20_000
const pause = async (): Promise<void> => undefined
const directory = mkdtempSync(join(tmpdir(), 'coind-hash-bench-'))
const database = await Database.open(join(directory, 'db'))
const { location } = database
mkdirSync(join(location, 'segments'))

/** Numbers spread as those of hashes are, ascending. */
class RandomHashes implements HashCursor {
  prefix = 0
  height = 0
  readonly #file: { readonly first: number; readonly last: number; readonly count: number }
  #left: number

  constructor(file: { readonly first: number; readonly last: number; readonly count: number }) {
    this.#file = file
    this.#left = file.count
    this.advance()
  }

  advance(): void {
    const { first, last, count } = this.#file
    if (this.#left-- === 0) {
      this.prefix = Number.POSITIVE_INFINITY
      return
    }
    this.prefix = Math.min(2 ** 48 - 1, this.prefix + Math.floor((-Math.log(1 - Math.random()) * 2 ** 48) / count))
    this.height = first + Math.floor(Math.random() * (last - first + 1))
  }
}

async function make(first: number, length: number): Promise<HashFile> {
  const last = first + length * SEGMENT_BLOCKS - 1
  const range = { first, last, count: length * SEGMENT_BLOCKS * perBlock }
  const source = { ...range, of: 'blocks', isMerged: true } as const
  return await writeHashFile(location, { ...source, hashes: new RandomHashes(range) }, pause)
}

/** Returns the processor time of this process, all threads. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

const files: HashFile[] = []
for (let length = 2 ** Math.floor(Math.log2(segments)), left = segments; left > 0; length /= 2) {
  if (length > left) continue
  files.push(await make((files.at(-1)?.last ?? -1) + 1, length))
  left -= length
}
const list = new WriteBatch()
writeHashFiles(list, 'blocks', files)
await database.write(list, { sync: false })
const count = files.reduce((sum, file) => sum + file.count, 0)
const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
console.log(
  `${segments} segments: ${count} hashes in ${files.length} files, ${(bytes / count).toFixed(2)} bytes a hash`,
)

/** Returns some hashes of the largest file. */
function present(): readonly number[] {
  const [largest] = files
  const hashes = new FileHashes(hashFilePath(location, largest!), largest!)
  return Array.from({ length: LOOK_UPS }, () => {
    for (let i = 0; i < 50; i++) hashes.advance()
    return hashes.prefix
  })
}

const absent = Array.from({ length: LOOK_UPS }, () => Math.floor(Math.random() * 2 ** 48))
for (const [name, prefixes] of [
  ['absent', absent],
  ['present', present()],
  ['absent', absent],
] as const) {
  const hash = Buffer.alloc(32)
  let found = 0
  const beganMs = cpuMs()
  for (const prefix of prefixes) {
    hash.writeUIntBE(prefix, 0, 6)
    found += findHashHeights(database, 'blocks', hash).length
  }
  const microseconds = ((cpuMs() - beganMs) * 1_000) / prefixes.length
  console.log(
    `  ${name}: ${microseconds.toFixed(0)} µs a look-up, ${(found / prefixes.length).toFixed(4)} heights each`,
  )
}

const [a, b] = [files[0]!, await make(files.at(-1)!.last + 1, (files[0]!.last + 1) / SEGMENT_BLOCKS)]
const [from, to] = [a, b].map((file) => new FileHashes(hashFilePath(location, file), file))
const merged = { of: 'blocks', first: a.first, last: b.last, isMerged: true, count: a.count + b.count } as const
const beganMs = cpuMs()
await writeHashFile(location, { ...merged, hashes: new MergedHashes(from!, to!) }, pause)
const nanoseconds = ((cpuMs() - beganMs) * 1e6) / merged.count
const memory = process.resourceUsage().maxRSS / 1_024
console.log(
  `  merged ${merged.count} hashes: ${nanoseconds.toFixed(0)} ns each; at most ${memory.toFixed(0)} MB of memory`,
)

await database.close()
rmSync(directory, { recursive: true })
