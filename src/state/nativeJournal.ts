import { bytesKey, compareKeys, equalBytes, keyBytes } from '../primitives/bytes.ts'
import type { NativeChange } from './changes.ts'
import type { StateReader } from './reader.ts'
import { SortedKeys } from './sortedKeys.ts'
import type { UndoLog } from './undoLog.ts'
import { WORK_GAS, WorkMeter } from './workMeter.ts'
import type { NativeStore } from './world.ts'

/** State that all entries of a journal share: an undo has only its entry, and must update this too. */
interface Shared {
  /** How many changes were made or undone; a walk that finds another number than at its beginning cannot continue. */
  writes: number
  /** keys that the reader does not have and that have a value now */
  readonly added: SortedKeys
}

interface NativeEntry {
  readonly name: string
  /** value in the state below the journal */
  readonly base: Uint8Array | undefined
  value: Uint8Array | undefined
  readonly shared: Shared
}

/** The native modules' part of the journal: changed entries by raw key, on top of those of a reader. */
export class NativeJournal implements NativeStore {
  readonly #reader: Pick<StateReader, 'getNative' | 'nativeRange'>
  readonly #undo: UndoLog
  readonly #entries = new Map<string, NativeEntry>()
  readonly #shared: Shared = { writes: 0, added: new SortedKeys() }
  readonly work = new WorkMeter()

  constructor(reader: Pick<StateReader, 'getNative' | 'nativeRange'>, undo: UndoLog) {
    this.#reader = reader
    this.#undo = undo
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.work.add(WORK_GAS.read)
    const { value } = this.#entry(bytesKey(key))
    if (value !== undefined) this.work.add(value.length * WORK_GAS.readByte)
    return value
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
    this.work.add(WORK_GAS.write + (key.length + value.length) * WORK_GAS.writeByte)
    this.#write(this.#entry(bytesKey(key)), new Uint8Array(value))
  }

  delete(key: Uint8Array): void {
    this.work.add(WORK_GAS.write)
    this.#write(this.#entry(bytesKey(key)), undefined)
  }

  *range(
    prefix: Uint8Array,
    { start, reverse = false }: { readonly start?: Uint8Array; readonly reverse?: boolean } = {},
  ): Generator<readonly [Uint8Array, Uint8Array], void, void> {
    const shared = this.#shared
    const { writes } = shared
    this.work.add(WORK_GAS.range)
    for (const name of this.#merged(prefix, start, reverse)) {
      this.work.add(WORK_GAS.step)
      const entry = this.#entries.get(name)
      if (entry !== undefined && entry.value === undefined) continue
      this.work.add(WORK_GAS.read)
      const key = keyBytes(name)
      const value = entry?.value ?? this.#stored(key)
      this.work.add(value.length * WORK_GAS.readByte)
      yield [key, value]
      if (shared.writes !== writes) throw new Error('a native entry was written during a walk over entries')
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

  /**
   * Yields the keys of the reader and added keys, in order. Keys of the reader may have been
   * deleted.
   */
  *#merged(prefix: Uint8Array, start: Uint8Array | undefined, reverse: boolean): Generator<string, void, void> {
    const added = this.#shared.added.walk(bytesKey(prefix), start && bytesKey(start), reverse)
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
      entry = { name, base, value: base, shared: this.#shared }
      this.#entries.set(name, entry)
    }
    return entry
  }

  #write(entry: NativeEntry, value: Uint8Array | undefined): void {
    this.#undo.record(setValue, entry, entry.value)
    setValue(entry, value)
  }
}

/** Also the undo of a change: a key that is added and reverted again costs later walks nothing. */
function setValue(entry: NativeEntry, value: Uint8Array | undefined): void {
  const { name, base, shared } = entry
  if (base === undefined && (entry.value === undefined) !== (value === undefined)) {
    if (value === undefined) shared.added.remove(name)
    else shared.added.add(name)
  }
  entry.value = value
  shared.writes++
}

function equalOptional(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return equalBytes(a, b)
}
