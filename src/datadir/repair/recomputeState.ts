import { setImmediate } from 'node:timers/promises'
import type { Address } from '../../primitives/address.ts'
import {
  bytesKey,
  bytesToBigInt,
  bytesToHex,
  compareBytes,
  EMPTY_BYTES,
  equalBytes,
  keyBytes,
} from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../../primitives/hash.ts'
import { encodeRLP } from '../../primitives/rlp.ts'
import { type StateSortOptions, sortedNative } from '../../snapshot/sortedState.ts'
import { codeKey, decodeAccount, nativePageKey } from '../../state/flatState.ts'
import { walkKeys } from '../../state/nativeDirectory.ts'
import type { StateColumns } from '../../state/olderState.ts'
import { NATIVE_ACCOUNT } from '../../state/prepareChanges.ts'
import { encodeAccountLeaf } from '../../state/trie.ts'
import { TrieBuilder } from '../../state/trieBuilder.ts'
import { ACCOUNT_TRIE, NODE_KEY_BYTES, setPath, storageTrie, writeNodeKey } from '../../state/trieNode.ts'
import { Column, columnKey, prefixEnd } from '../../storage/columns.ts'
import { damagedContents } from '../../storage/damage.ts'
import { DatabaseError } from '../../storage/database.ts'
import { type SortEntry, sortEntries } from '../../storage/externalSort.ts'
import type { ProgressOf } from '../../telemetry/progress.ts'

/** Receives entries that do not follow from accounts, slots and native entries; each is called with the right values. */
export interface StateDifferences {
  /** a node of a trie. Both arrays are overwritten after the call */
  readonly node: (key: Uint8Array, rlp: Uint8Array) => void
  /** the number of slots that an account has */
  readonly slotCount: (address: Address, count: number) => void
  /** the directory of native keys as a whole */
  readonly directory: () => void
  /** a code that an account has is missing, or is another one */
  readonly code: (hash: Hash) => void
}

interface RecomputeRequest {
  /** an existing directory for the files of sorts */
  readonly sortDirectory: string
  readonly progressOf: ProgressOf
  readonly signal: AbortSignal
  /** what the progress is called */
  readonly title: string
  /** awaited after every few thousand entries */
  readonly pause?: () => Promise<void>
}

const ENTRIES_PER_PAUSE = 2_000
const ADDRESS_BYTES = 20

/**
 * Computes the state root from accounts, slots and native entries, without the nodes of tries in the database, and reports where
 * the rest of the state differs from what follows from them. If the root is the one that the validators decided, accounts, slots
 * and native entries are proved, and the rest can be written anew from them.
 * @throws DatabaseError when an entry cannot be read; `signal.reason`
 */
export async function recomputeState(
  db: StateColumns,
  { sortDirectory, progressOf, signal, title, pause }: RecomputeRequest,
  differs: StateDifferences,
): Promise<Hash> {
  const progress = progressOf({ title, unit: 'entries' })
  const onEntries = async (entries: number): Promise<void> => {
    progress.update(entries)
    await pause?.()
    await setImmediate()
    signal.throwIfAborted()
  }
  try {
    return await stateRoot(db, { directory: sortDirectory, pause: onEntries }, differs)
  } finally {
    progress.end()
  }
}

interface RootOptions extends StateSortOptions {
  /** awaited after every few thousand entries, with their number so far; what it throws ends the work */
  readonly pause: (entries: number) => Promise<void>
}

async function stateRoot(db: StateColumns, options: RootOptions, differs: StateDifferences): Promise<Hash> {
  let entries = 0
  const counted = async function* <T>(source: AsyncIterable<T>): AsyncGenerator<T, void, void> {
    for await (const entry of source) {
      if (++entries % ENTRIES_PER_PAUSE === 0) await options.pause(entries)
      yield entry
    }
  }
  const trie = (owner: Uint8Array): TrieBuilder => {
    const key = new Uint8Array(NODE_KEY_BYTES)
    const path = new Uint8Array(32)
    return new TrieBuilder(0, (text, depth, rlp) => {
      const name = key.subarray(0, writeNodeKey(key, owner, setPath(path, text, depth), depth))
      const stored = readable(db, name)
      if (stored === undefined || !equalBytes(stored, rlp)) differs.node(name, rlp)
    })
  }
  const rootOf = (builder: TrieBuilder): string => builder.finish() ?? bytesKey(EMPTY_TRIE_ROOT)

  const native = trie(storageTrie(NATIVE_ACCOUNT))
  for await (const { path, value } of counted(sortedNative(db, options))) {
    native.add(bytesKey(path), bytesKey(encodeRLP(value)))
  }
  const nativeRoot = rootOf(native)
  if (!(await isDirectoryRight(db))) differs.directory()

  /** Each account's path with its leaf. */
  const leaves = async function* (): AsyncGenerator<SortEntry, void, void> {
    const slots = new Peeked(counted(columnEntries(db, Column.slot)))
    const counts = new Peeked(columnEntries(db, Column.slotCount))
    const checked = new Set<string>()
    try {
      for await (const [key, value] of counted(columnEntries(db, Column.account))) {
        const address: Address = key.slice(1)
        await slots.skipBelow(address, () => {
          throw damagedContents('it has storage slots of a missing account')
        })
        await counts.skipBelow(address, (other) => differs.slotCount(other, 0))
        const storage = trie(storageTrie(address))
        let count = 0
        // Most accounts have no slots, and each sort takes some memory.
        if (await slots.isAt(address)) {
          for await (const [path, slot] of counted(sortEntries(slots.of(address), { ...options, name: 'slots' }))) {
            storage.add(bytesKey(path), bytesKey(encodeRLP(slot)))
            count++
          }
        }
        let stored = 0
        for await (const [, bytes] of counts.of(address)) stored = Number(bytesToBigInt(bytes))
        if (stored !== count) differs.slotCount(address, count)
        const account = decodeAccount(value)
        if (account === undefined) throw damagedContents(`the account ${bytesToHex(address)} has no value`)
        const { codeHash } = account
        if (!equalBytes(codeHash, EMPTY_CODE_HASH) && !checked.has(bytesKey(codeHash))) {
          checked.add(bytesKey(codeHash))
          const code = readable(db, codeKey(codeHash))
          if (code === undefined || !equalBytes(keccak256(code), codeHash)) differs.code(codeHash)
        }
        const root = equalBytes(address, NATIVE_ACCOUNT) ? nativeRoot : rootOf(storage)
        yield [keccak256(address), keyBytes(encodeAccountLeaf(account, root))]
      }
      await slots.skipBelow(undefined, () => {
        throw damagedContents('it has storage slots of a missing account')
      })
      await counts.skipBelow(undefined, (other) => differs.slotCount(other, 0))
    } finally {
      await slots.end()
      await counts.end()
    }
  }
  const accounts = trie(ACCOUNT_TRIE)
  for await (const [path, leaf] of counted(sortEntries(leaves(), { ...options, name: 'accounts' }))) {
    accounts.add(bytesKey(path), bytesKey(leaf))
  }
  return keyBytes(rootOf(accounts))
}

/** Reads a value for comparison. A damaged one counts as different. */
function readable(db: StateColumns, key: Uint8Array): Uint8Array | undefined {
  try {
    return db.get(key)
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'corrupt') return undefined
    throw error
  }
}

/** Whether the directory has exactly the keys of all native entries. */
async function isDirectoryRight(db: StateColumns): Promise<boolean> {
  try {
    const listed = walkKeys((page) => readable(db, nativePageKey(page)), EMPTY_BYTES)
    for await (const [key] of columnEntries(db, Column.native)) {
      const next = listed.next()
      if (next.done || !equalBytes(next.value, key.subarray(1))) return false
    }
    return listed.next().done === true
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'corrupt') return false
    throw error
  }
}

function columnEntries(db: StateColumns, column: number): AsyncIterable<SortEntry> {
  const start = columnKey(column)
  return db.entries({ start, end: prefixEnd(start) })
}

/** Entries whose keys continue with an address, to be read in step with the accounts. */
class Peeked {
  readonly #entries: AsyncIterator<SortEntry>
  #next: IteratorResult<SortEntry> | undefined

  constructor(entries: AsyncIterable<SortEntry>) {
    this.#entries = entries[Symbol.asyncIterator]()
  }

  /** Reads what belongs to addresses below this one; undefined: all that is left. */
  async skipBelow(address: Address | undefined, visit: (address: Address) => void): Promise<void> {
    for (;;) {
      const found = await this.#address()
      if (found === undefined || (address !== undefined && compareBytes(found, address) >= 0)) return
      visit(found)
      this.#next = undefined
    }
  }

  /** Whether there are entries of an address; all those below it must have been read. */
  async isAt(address: Address): Promise<boolean> {
    const found = await this.#address()
    return found !== undefined && equalBytes(found, address)
  }

  /** The entries of an address: the keccak256 of what follows it in the key, and the value. */
  async *of(address: Address): AsyncGenerator<SortEntry, void, void> {
    for (;;) {
      const found = await this.#address()
      if (found === undefined || !equalBytes(found, address)) return
      const [key, value] = this.#next!.value as SortEntry
      this.#next = undefined
      yield [keccak256(key.subarray(1 + ADDRESS_BYTES)), value]
    }
  }

  async end(): Promise<void> {
    await this.#entries.return?.()
  }

  async #address(): Promise<Address | undefined> {
    this.#next ??= await this.#entries.next()
    return this.#next.done ? undefined : this.#next.value[0].slice(1, 1 + ADDRESS_BYTES)
  }
}
