import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { compareBytes } from '../primitives/bytes.ts'

/** A key and its value, of any length. */
export type SortEntry = readonly [key: Uint8Array, value: Uint8Array]

export interface SortOptions {
  /** an existing directory for files named `<name>-<number>`; these names must not be used elsewhere meanwhile */
  readonly directory: string
  readonly name?: string
  /** approximate memory of the sort; a single larger entry takes what it needs */
  readonly memoryBytes?: number
}

const MEMORY_BYTES = 64 << 20
/** Files that are merged at once: more would make each one's part of the memory too small for long reads. */
const MERGED_FILES = 16
/** Per entry: the position of its frame and the beginning of its key, as numbers. */
const INDEX_BYTES = 16
/** Length of the key and of the value in front of them, 4 bytes each, big-endian. */
const FRAME_BYTES = 8

/**
 * Yields the entries of `source` in ascending order of their keys; those with the same key in the
 * order in which they came. What does not fit the memory is sorted in parts, each written to a
 * file, and merged. The files are removed when the iteration ends, whether it comes to the end, its
 * consumer stops or anything throws.
 * @throws the system error of a failed write or read; what `source` throws
 */
export async function* sortEntries(
  source: AsyncIterable<SortEntry> | Iterable<SortEntry>,
  { directory, name = 'sort', memoryBytes = MEMORY_BYTES }: SortOptions,
): AsyncGenerator<SortEntry, void, void> {
  const files = new SortFiles(join(directory, name), Math.max(1, Math.floor(memoryBytes / (MERGED_FILES + 1))))
  try {
    let part = new SortedPart(memoryBytes)
    for await (const [key, value] of source) {
      if (part.bytes > 0 && part.bytes + entryBytes(key, value) > memoryBytes) {
        files.add(part.sorted())
        part = new SortedPart(memoryBytes)
      }
      part.add(key, value)
    }
    if (files.isEmpty) {
      yield* part.sorted()
    } else {
      files.add(part.sorted())
      yield* files.merged()
    }
  } finally {
    files.remove()
  }
}

function entryBytes(key: Uint8Array, value: Uint8Array): number {
  return FRAME_BYTES + key.length + value.length + INDEX_BYTES
}

/** Entries in one piece of memory, which takes a fraction of what an object for each would. */
class SortedPart {
  #frames = Buffer.allocUnsafeSlow(1 << 12)
  #end = 0
  readonly #starts: number[] = []
  /** the first 6 bytes of each key: most comparisons need no more */
  readonly #beginnings: number[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  /** memory that counts against the limit */
  get bytes(): number {
    return this.#end + this.#starts.length * INDEX_BYTES
  }

  add(key: Uint8Array, value: Uint8Array): void {
    const end = this.#end + FRAME_BYTES + key.length + value.length
    if (end > this.#frames.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, Math.min(this.#frames.length * 2, this.#limit)))
      this.#frames.copy(larger, 0, 0, this.#end)
      this.#frames = larger
    }
    this.#starts.push(this.#end)
    this.#beginnings.push(beginningOf(key))
    this.#end = writeFrame(this.#frames, this.#end, key, value)
  }

  *sorted(): Generator<SortEntry, void, void> {
    const beginnings = this.#beginnings
    const order = Uint32Array.from(this.#starts, (_, index) => index)
    order.sort((a, b) => beginnings[a]! - beginnings[b]! || this.#compare(a, b) || a - b)
    for (const index of order) yield readFrame(this.#frames, this.#starts[index]!, this.#end)!.entry
  }

  #compare(a: number, b: number): number {
    const frames = this.#frames
    const startA = this.#starts[a]!
    const startB = this.#starts[b]!
    const keyA = startA + FRAME_BYTES
    const keyB = startB + FRAME_BYTES
    return frames.compare(frames, keyB, keyB + frames.readUInt32BE(startB), keyA, keyA + frames.readUInt32BE(startA))
  }
}

/**
 * Returns the first 6 bytes of a key as a number; zeros follow a shorter one, which the comparison
 * of whole keys then decides.
 */
function beginningOf(key: Uint8Array): number {
  let value = 0
  for (let i = 0; i < 6; i++) value = value * 256 + (key[i] ?? 0)
  return value
}

function writeFrame(out: Buffer, at: number, key: Uint8Array, value: Uint8Array): number {
  out.writeUInt32BE(key.length, at)
  out.writeUInt32BE(value.length, at + 4)
  out.set(key, at + FRAME_BYTES)
  out.set(value, at + FRAME_BYTES + key.length)
  return at + FRAME_BYTES + key.length + value.length
}

/**
 * Reads the entry whose frame begins at `at`, in memory of its own, and where the frame ends;
 * undefined when that is behind `limit`.
 */
function readFrame(bytes: Buffer, at: number, limit: number): { entry: SortEntry; end: number } | undefined {
  if (at + FRAME_BYTES > limit) return undefined
  const keyEnd = at + FRAME_BYTES + bytes.readUInt32BE(at)
  const end = keyEnd + bytes.readUInt32BE(at + 4)
  if (end > limit) return undefined
  return { entry: [copyOf(bytes, at + FRAME_BYTES, keyEnd), copyOf(bytes, keyEnd, end)], end }
}

function copyOf(bytes: Buffer, start: number, end: number): Uint8Array {
  const copy = new Uint8Array(end - start)
  copy.set(bytes.subarray(start, end))
  return copy
}

/** The files of one sort: each holds frames in ascending order of their keys. */
class SortFiles {
  readonly #prefix: string
  readonly #bufferBytes: number
  /** open files in the order of the entries that they hold; `level`: how often those were merged */
  readonly #files: { readonly file: number; readonly path: string; readonly level: number }[] = []
  #made = 0

  /** @param prefix of the paths of its files */
  constructor(prefix: string, bufferBytes: number) {
    this.#prefix = prefix
    this.#bufferBytes = bufferBytes
  }

  get isEmpty(): boolean {
    return this.#made === 0
  }

  /** Writes a file of the entries that follow those of all other files. Files of one level are merged when there are many of them. */
  add(sorted: Iterable<SortEntry>): void {
    this.#write(sorted, 0)
    for (;;) {
      const { level } = this.#files.at(-1)!
      const first = this.#files.findIndex((file) => file.level === level)
      if (this.#files.length - first < MERGED_FILES) return
      this.#mergeFrom(first, level + 1)
    }
  }

  /** Yields all entries of all files. */
  *merged(): Generator<SortEntry, void, void> {
    // The newest files are the smallest ones.
    while (this.#files.length > MERGED_FILES) {
      this.#mergeFrom(this.#files.length - MERGED_FILES, this.#files.at(-MERGED_FILES)!.level)
    }
    yield* mergeSorted(this.#files.map(({ file }) => this.#read(file)))
  }

  remove(): void {
    for (const { file, path } of this.#files.splice(0)) close(file, path)
  }

  #mergeFrom(first: number, level: number): void {
    const sources = this.#files.slice(first)
    this.#write(mergeSorted(sources.map(({ file }) => this.#read(file))), level)
    for (const { file, path } of this.#files.splice(first, sources.length)) close(file, path)
  }

  #write(sorted: Iterable<SortEntry>, level: number): void {
    const path = `${this.#prefix}-${this.#made++}`
    const file = openSync(path, 'w+')
    this.#files.push({ file, path, level })
    let buffer = Buffer.allocUnsafeSlow(this.#bufferBytes)
    let end = 0
    for (const [key, value] of sorted) {
      const length = FRAME_BYTES + key.length + value.length
      if (end + length > buffer.length) {
        writeAll(file, buffer.subarray(0, end))
        end = 0
        if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length)
      }
      end = writeFrame(buffer, end, key, value)
    }
    writeAll(file, buffer.subarray(0, end))
  }

  *#read(file: number): Generator<SortEntry, void, void> {
    let buffer = Buffer.allocUnsafeSlow(this.#bufferBytes)
    /** the file's bytes before this position have been read; the newest `end` of them are in the buffer */
    let offset = 0
    let end = 0
    for (;;) {
      let at = 0
      for (let frame = readFrame(buffer, at, end); frame !== undefined; frame = readFrame(buffer, at, end)) {
        at = frame.end
        yield frame.entry
      }
      // What is left is the beginning of a frame, which may be longer than the buffer.
      const rest = buffer.subarray(at, end)
      if (rest.length === buffer.length) buffer = Buffer.allocUnsafeSlow(buffer.length * 2)
      buffer.set(rest)
      const read = readSync(file, buffer, rest.length, buffer.length - rest.length, offset)
      if (read === 0) return
      offset += read
      end = rest.length + read
    }
  }
}

function close(file: number, path: string): void {
  closeSync(file)
  rmSync(path, { force: true })
}

/** Writes all bytes, since a single call may write only a part. */
function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}

/** Merges sorted sources; of equal keys that of the earlier source comes first. */
function* mergeSorted(sources: readonly Iterator<SortEntry, void, void>[]): Generator<SortEntry, void, void> {
  /** a binary heap: the next entry of each source that has one, the lowest at its root */
  const heap: { entry: SortEntry; readonly index: number }[] = []
  const isBefore = (a: number, b: number): boolean => {
    const order = compareBytes(heap[a]!.entry[0], heap[b]!.entry[0])
    return order < 0 || (order === 0 && heap[a]!.index < heap[b]!.index)
  }
  const sink = (from: number): void => {
    for (let at = from; ; ) {
      let lowest = at
      for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && isBefore(child, lowest)) lowest = child
      if (lowest === at) return
      const moved = heap[at]!
      heap[at] = heap[lowest]!
      heap[lowest] = moved
      at = lowest
    }
  }
  for (const [index, source] of sources.entries()) {
    const next = source.next()
    if (!next.done) heap.push({ entry: next.value, index })
  }
  for (let at = heap.length >> 1; at >= 0; at--) sink(at)
  while (heap.length > 0) {
    const top = heap[0]!
    yield top.entry
    const next = sources[top.index]!.next()
    if (next.done) {
      const last = heap.pop()!
      if (last !== top) heap[0] = last
    } else {
      top.entry = next.value
    }
    sink(0)
  }
}
