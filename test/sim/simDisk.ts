import type { Random } from '../fuzz/random.ts'
import type { EventQueue } from './eventQueue.ts'

/** What a disk does wrong, changeable at any time. */
interface DiskFaults {
  /** least and most time of a sync */
  syncMs: readonly [least: number, most: number]
  /** one sync in that many takes `stallMs`; 0: none */
  stallOneIn: number
  stallMs: number
  /** further writes or syncs fail with this message */
  failure: string | undefined
}

/** A file of the write-ahead log. */
interface DiskFile {
  bytes: Uint8Array
  length: number
  /** bytes that are on stable storage */
  syncedLength: number
}

/** What becomes of bytes that were written and not synced. */
export type CrashKind =
  /** the process dies, the machine lives: written bytes stay */
  | 'process'
  /** the machine dies: any part of the unsynced bytes may be there, also with damage */
  | 'power'

/** A disk with the files of one log. Writing is at once, syncing takes virtual time. */
export class SimDisk {
  readonly faults: DiskFaults = { syncMs: [0.2, 1.5], stallOneIn: 0, stallMs: 500, failure: undefined }
  readonly #queue: EventQueue
  readonly #random: Random
  /** names in order of making */
  readonly #files = new Map<string, DiskFile>()

  constructor(queue: EventQueue, random: Random) {
    this.#queue = queue
    this.#random = random
  }

  names(): string[] {
    return [...this.#files.keys()]
  }

  /** What a reader finds: a view. */
  read(name: string): Uint8Array {
    const file = this.#files.get(name)!
    return file.bytes.subarray(0, file.length)
  }

  remove(name: string): void {
    this.#files.delete(name)
  }

  truncate(name: string, length: number): void {
    const file = this.#files.get(name)!
    file.length = length
    file.syncedLength = Math.min(file.syncedLength, length)
  }

  /** A file that is made, written, synced and renamed in one go, with its directory. */
  createDurably(name: string, bytes: Uint8Array): void {
    this.#check()
    this.#files.set(name, { bytes: bytes.slice(), length: bytes.length, syncedLength: bytes.length })
  }

  append(name: string, bytes: Uint8Array): void {
    this.#check()
    const file = this.#files.get(name)!
    const end = file.length + bytes.length
    if (end > file.bytes.length) {
      const grown = new Uint8Array(Math.max(end, 2 * file.bytes.length))
      grown.set(file.bytes.subarray(0, file.length))
      file.bytes = grown
    }
    file.bytes.set(bytes, file.length)
    file.length = end
  }

  /** Everything written to the file so far is on stable storage when `done` is called without an error. */
  sync(name: string, done: (error?: Error) => void): void {
    const file = this.#files.get(name)!
    const { length } = file
    this.#queue.after(this.#syncMs(), () => {
      try {
        this.#check()
      } catch (error) {
        done(error as Error)
        return
      }
      file.syncedLength = Math.max(file.syncedLength, length)
      done()
    })
  }

  /** As though all writes had been synced just before. */
  syncNow(): void {
    for (const file of this.#files.values()) file.syncedLength = file.length
  }

  crash(kind: CrashKind): void {
    if (kind === 'process') return
    for (const file of this.#files.values()) {
      const { syncedLength, length } = file
      const kept = this.#random.between(syncedLength, length)
      file.length = kept
      if (kept === syncedLength || this.#random.oneIn(2)) continue
      this.#damage(file.bytes, syncedLength, kept)
    }
  }

  /** A stray bit in what was never synced, or a block of zeros there: blocks reach a disk in any order. */
  #damage(bytes: Uint8Array, from: number, to: number): void {
    const at = this.#random.between(from, to - 1)
    if (this.#random.oneIn(2)) bytes[at]! ^= 1 << this.#random.below(8)
    else bytes.fill(0, at, Math.min(to, at + 1 + this.#random.below(512)))
  }

  /** The newest file, with where its unsynced bytes begin; undefined when there is none. */
  get tail(): { readonly name: string; readonly syncedLength: number; readonly length: number } | undefined {
    const last = [...this.#files].at(-1)
    if (last === undefined) return undefined
    const [name, { syncedLength, length }] = last
    return { name, syncedLength, length }
  }

  /** Another disk with the same bytes. */
  copy(): SimDisk {
    const copy = new SimDisk(this.#queue, this.#random)
    for (const [name, file] of this.#files) copy.#files.set(name, { ...file, bytes: file.bytes.slice(0, file.length) })
    return copy
  }

  /** Bytes from `from` on read as zero. */
  zero(name: string, from: number): void {
    const file = this.#files.get(name)!
    file.bytes.fill(0, from, file.length)
  }

  /** Flips a bit anywhere in a file: damage that no crash explains. */
  flipBit(name: string, at: number, bit: number): void {
    this.#files.get(name)!.bytes[at]! ^= 1 << bit
  }

  #syncMs(): number {
    const { syncMs, stallOneIn, stallMs } = this.faults
    if (stallOneIn > 0 && this.#random.oneIn(stallOneIn)) return stallMs
    return syncMs[0] + (syncMs[1] - syncMs[0]) * (this.#random.uint32() / 2 ** 32)
  }

  #check(): void {
    if (this.faults.failure !== undefined) throw new Error(this.faults.failure)
  }
}
