import type { ConsensusWal } from '../../src/consensus/environment.ts'
import { newerEntry } from '../../src/consensus/signer.ts'
import {
  encodeWalEntry,
  entryHeight,
  isSignerEntry,
  type SignedEntry,
  type SignerEntry,
  type WalEntry,
} from '../../src/consensus/walEntry.ts'
import {
  encodeSegmentHeader,
  encodeSyncMark,
  frameRecord,
  readSegment,
  SALT_LENGTH,
} from '../../src/consensus/walSegment.ts'
import { bytesKey, concatBytes } from '../../src/primitives/bytes.ts'
import type { Random } from '../fuzz/random.ts'
import type { SimDisk } from './simDisk.ts'

interface SimLogOptions {
  readonly disk: SimDisk
  readonly genesisHash: Uint8Array
  readonly random: Random
  /** a segment that has reached this size is followed by a new one */
  readonly segmentBytes: number
}

interface Segment {
  readonly name: string
  salt: Uint8Array
  /** highest height of its entries */
  height: number
  length: number
}

/**
 * The write-ahead log on a modelled disk: production's records, segments and reading, with wal.ts's batching of syncs
 * driven by virtual time in place of promises.
 */
export class SimLog implements ConsensusWal {
  readonly #options: SimLogOptions
  readonly #segments: Segment[] = []
  #lastSigned: SignerEntry | undefined
  #number = 1
  #pending: WalEntry[] = []
  #waiting: ((error?: Error) => void)[] = []
  #flushing = false
  #failure: Error | undefined
  #closed = false
  /** signatures that are on stable storage, by height: what may leave the process */
  readonly #durable = new Map<number, Set<string>>()

  /**
   * Opens what the disk has and gives every entry to `replay`, oldest first. A torn end is cut off.
   * @throws WalError for damage that no crash explains
   */
  constructor(options: SimLogOptions, replay: (entry: WalEntry) => void) {
    this.#options = options
    const { disk, genesisHash } = options
    const names = disk.names()
    for (const [index, name] of names.entries()) {
      const bytes = disk.read(name)
      const segment: Segment = { name, salt: new Uint8Array(SALT_LENGTH), height: 0, length: 0 }
      const content = readSegment(name, bytes, genesisHash, (entry) => {
        if (entry.kind !== 'lastSigned') segment.height = Math.max(segment.height, entryHeight(entry))
        this.#remember(entry)
        replay(entry)
      })
      if (content === undefined) throw new Error(`${name}: a segment is made with its header`)
      if (content.length < bytes.length) {
        if (index < names.length - 1) throw new Error(`${name}: torn before the last segment`)
        disk.truncate(name, content.length)
      }
      segment.salt = content.salt
      segment.length = content.length
      this.#segments.push(segment)
      this.#number = Number(name) + 1
    }
    if (this.#segments.length === 0) this.#startSegment()
    disk.syncNow()
  }

  /** Whether the message with this signature is on stable storage. */
  isDurable(height: number, signature: Uint8Array): boolean {
    return this.#durable.get(height)?.has(bytesKey(signature)) ?? false
  }

  /** Everything appended so far is written. */
  get isComplete(): boolean {
    return this.#pending.length === 0 && this.#failure === undefined
  }

  append(entry: WalEntry): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#closed) throw new Error('the log is closed')
    this.#pending.push(entry)
  }

  sync(done: (error?: Error) => void): void {
    this.#waiting.push(done)
    if (!this.#flushing) this.#flush()
  }

  prune(height: number): void {
    while (this.#segments.length > 1 && this.#segments[0]!.height <= height) {
      this.#options.disk.remove(this.#segments.shift()!.name)
    }
    for (const at of this.#durable.keys()) if (at <= height - 2) this.#durable.delete(at)
  }

  /** What is pending is written, as by a process that dies just after writing. */
  writePending(): void {
    if (this.#failure === undefined && this.#pending.length > 0) this.#write()
  }

  close(): void {
    this.#closed = true
    this.#waiting = []
  }

  #remember(entry: WalEntry): void {
    if (entry.kind === 'lastSigned') {
      this.#lastSigned ??= entry.entry
      return
    }
    if (!isSignerEntry(entry)) return
    this.#lastSigned = newerEntry(this.#lastSigned, entry)
    if (entry.kind !== 'asked') this.#addDurable(entry)
  }

  #addDurable(entry: SignedEntry): void {
    const { height, signature } = entry.kind === 'proposal' ? entry.proposal : entry.vote
    let set = this.#durable.get(height)
    if (set === undefined) {
      set = new Set()
      this.#durable.set(height, set)
    }
    set.add(bytesKey(signature))
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#flushing = true
    const finish = (error?: Error): void => {
      if (this.#closed) return
      this.#flushing = false
      if (error !== undefined) this.#failure ??= error
      for (const done of waiting) done(this.#failure)
      if (!this.#closed && this.#waiting.length > 0 && !this.#flushing) this.#flush()
    }
    if (this.#failure !== undefined) {
      finish(this.#failure)
      return
    }
    const { disk } = this.#options
    let batch: readonly WalEntry[]
    try {
      batch = this.#write()
    } catch (error) {
      finish(error as Error)
      return
    }
    const segment = this.#segments.at(-1)!
    disk.sync(segment.name, (error) => {
      if (this.#closed) return
      if (error !== undefined) {
        finish(error)
        return
      }
      for (const entry of batch) this.#remember(entry)
      try {
        if (segment.length >= this.#options.segmentBytes) this.#startSegment()
      } catch (cause) {
        finish(cause as Error)
        return
      }
      finish()
    })
  }

  #write(): readonly WalEntry[] {
    const batch = this.#pending
    if (batch.length === 0) return batch
    const segment = this.#segments.at(-1)!
    const records = batch.map((entry) => frameRecord(segment.salt, encodeWalEntry(entry)))
    const bytes = concatBytes(encodeSyncMark(segment.length, segment.salt), ...records)
    this.#options.disk.append(segment.name, bytes)
    this.#pending = []
    segment.length += bytes.length
    for (const entry of batch) segment.height = Math.max(segment.height, entryHeight(entry))
    return batch
  }

  #startSegment(): void {
    const { disk, genesisHash, random } = this.#options
    const name = String(this.#number++).padStart(8, '0')
    const salt = random.bytes(SALT_LENGTH)
    const parts = [encodeSegmentHeader(genesisHash, salt)]
    const entry = this.#lastSigned
    if (entry !== undefined) parts.push(frameRecord(salt, encodeWalEntry({ kind: 'lastSigned', entry })))
    const bytes = concatBytes(...parts)
    disk.createDurably(name, bytes)
    this.#segments.push({ name, salt, height: 0, length: bytes.length })
  }
}
