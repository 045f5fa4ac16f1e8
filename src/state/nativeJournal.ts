import { bytesKey, compareKeys, equalBytes, keyBytes } from '../primitives/bytes.ts'
import type { NativeChange } from './changes.ts'
import type { StateReader } from './reader.ts'
import { SortedKeys } from './sortedKeys.ts'
import type { UndoLog } from './undoLog.ts'
import type { NativeStore } from './world.ts'

interface NativeEntry {
  /** value in the state below the journal */
  readonly base: Uint8Array | undefined
  value: Uint8Array | undefined
  /** the journal's, so that undoing a change counts as one too */
  readonly writes: WriteCount
}

/** How many changes were made or undone; a walk that finds another number than at its beginning can not go on. */
interface WriteCount {
  value: number
}

/** The native modules' part of the journal: changed entries by raw key, on top of those of a reader. */
export class NativeJournal implements NativeStore {
  readonly #reader: Pick<StateReader, 'getNative' | 'nativeRange'>
  readonly #undo: UndoLog
  readonly #entries = new Map<string, NativeEntry>()
  /** keys that the reader does not have and that were set at least once */
  readonly #added = new SortedKeys()
  readonly #writes: WriteCount = { value: 0 }

  constructor(reader: Pick<StateReader, 'getNative' | 'nativeRange'>, undo: UndoLog) {
    this.#reader = reader
    this.#undo = undo
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#entry(bytesKey(key)).value
  }

  watch(key: Uint8Array): { readonly value: Uint8Array | undefined } {
    return this.#entry(bytesKey(key))
  }

  /** Whether an entry has the value that it has in the reader; it does not look there where the journal has not looked yet. */
  isStored(key: Uint8Array): boolean {
    const entry = this.#entries.get(bytesKey(key))
    return entry === undefined || equalOptional(entry.base, entry.value)
  }

  /** @throws Error (a bug) when `value` is empty: an empty leaf could not be distinguished from an absent one */
  set(key: Uint8Array, value: Uint8Array): void {
    if (value.length === 0) throw new Error('a native entry is never empty')
    const name = bytesKey(key)
    const entry = this.#entry(name)
    if (entry.base === undefined) this.#added.add(name)
    this.#write(entry, new Uint8Array(value))
  }

  delete(key: Uint8Array): void {
    this.#write(this.#entry(bytesKey(key)), undefined)
  }

  iterate(prefix: Uint8Array): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    const found: { key: Uint8Array; value: Uint8Array | undefined }[] = []
    for (const name of this.#merged(prefix, undefined, false)) {
      const entry = this.#entries.get(name)
      if (entry === undefined || entry.value !== undefined) found.push({ key: keyBytes(name), value: entry?.value })
    }
    return this.#walk(found)
  }

  *range(
    prefix: Uint8Array,
    { start, reverse = false }: { readonly start?: Uint8Array; readonly reverse?: boolean } = {},
  ): Generator<readonly [Uint8Array, Uint8Array], void, void> {
    const writes = this.#writes.value
    for (const name of this.#merged(prefix, start, reverse)) {
      const entry = this.#entries.get(name)
      const key = keyBytes(name)
      if (entry === undefined) yield [key, this.#stored(key)]
      else if (entry.value !== undefined) yield [key, entry.value]
      if (this.#writes.value !== writes) throw new Error('a native entry was written during a walk over entries')
    }
  }

  changes(): NativeChange[] {
    const names = [...this.#entries.keys()].sort(compareKeys)
    const out: NativeChange[] = []
    for (const name of names) {
      const { base, value } = this.#entries.get(name)!
      if (!equalOptional(base, value)) out.push({ key: keyBytes(name), previous: base, current: value })
    }
    return out
  }

  /** An entry of `found` without a value had not changed when the iteration began, so it has the reader's value. */
  *#walk(
    found: readonly { key: Uint8Array; value: Uint8Array | undefined }[],
  ): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    for (const { key, value } of found) {
      yield [key, value ?? this.#stored(key)]
    }
  }

  /** Keys of the reader and added keys, in order. Added keys may have been deleted again. */
  *#merged(prefix: Uint8Array, start: Uint8Array | undefined, reverse: boolean): Generator<string, void, void> {
    const added = this.#added.walk(bytesKey(prefix), start && bytesKey(start), reverse)
    let next = added.next()
    for (const key of this.#reader.nativeRange(prefix, start, reverse)) {
      const stored = bytesKey(key)
      for (; next.done !== true && (reverse ? next.value > stored : next.value < stored); next = added.next()) {
        yield next.value
      }
      yield stored
    }
    for (; next.done !== true; next = added.next()) yield next.value
  }

  #stored(key: Uint8Array): Uint8Array {
    const bytes = this.#reader.getNative(key)
    if (bytes === undefined) throw new Error('the native directory names a key that has no entry')
    return bytes
  }

  #entry(name: string): NativeEntry {
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      const base = this.#reader.getNative(keyBytes(name))
      entry = { base, value: base, writes: this.#writes }
      this.#entries.set(name, entry)
    }
    return entry
  }

  #write(entry: NativeEntry, value: Uint8Array | undefined): void {
    this.#undo.record(restoreValue, entry, entry.value)
    entry.value = value
    entry.writes.value++
  }
}

function restoreValue(entry: NativeEntry, previous: Uint8Array | undefined): void {
  entry.value = previous
  entry.writes.value++
}

function equalOptional(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return equalBytes(a, b)
}
