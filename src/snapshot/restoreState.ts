import type { Address } from '../primitives/address.ts'
import { bigIntToBytes, bytesToBigInt, bytesToHex, concatBytes, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, type Hash, keccak256, ZERO_HASH } from '../primitives/hash.ts'
import {
  accountKey,
  codeKey,
  encodeAccount,
  encodeCount,
  nativeKey,
  nativePageKey,
  slotCountKey,
  slotKey,
} from '../state/flatState.ts'
import { readStateHead, writeOldestHeight, writeStateHead } from '../state/head.ts'
import { DirectoryBuilder } from '../state/nativeDirectory.ts'
import { NATIVE_ACCOUNT } from '../state/prepareChanges.ts'
import { ACCOUNT_TRIE, NODE_KEY_BYTES, setPath, storageTrie, trieNodeKey, writeNodeKey } from '../state/trieNode.ts'
import { WriteBatch } from '../storage/batch.ts'
import { BatchWriter } from '../storage/batchWriter.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, prefixEnd, readHeight } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'
import type { WritableDatabase } from '../storage/database.ts'
import { type AccountEntry, ChunkError, type SlotEntry, type StateChunk } from './chunk.ts'
import { type TrieSinks, verifyChunk } from './verifyChunk.ts'

/** The chunks of a snapshot were all true, and did not make up the whole state. */
export class IncompleteStateError extends Error {
  override readonly name = 'IncompleteStateError'

  constructor(missing: string) {
    super(`the snapshot is not complete: ${missing}; take another one`)
  }
}

// Records of the column `restore`, by the byte that follows it in their keys.

/** no more -> height ‖ root: the state that is being restored */
const TARGET = 0
/** name of a chunk -> no bytes: the database has its entries */
const CHUNK = 1
/** owner of a trie ‖ first key of a chunk's range -> its last key ‖ number of its entries, in the form of a height */
const RANGE = 2
/** address -> no bytes: its storage is in chunks of their own */
const STORAGE = 3
/** code hash -> no bytes: an account has this code */
const CODE = 4

const HASH_BYTES = 32

/**
 * Writes the state of a snapshot into an empty database. Chunks come in any order, except that
 * contract code comes after all accounts: the state root does not cover code by itself, and only
 * code that an account has is written. Each chunk is verified and written, with a record that it is
 * done, in one synced batch. So a restore that was interrupted at any moment is opened again, and
 * continues with the chunks that are missing. Only the restore reads the database before `finish`,
 * which checks that the state is complete and writes its head last.
 */
export class StateRestore {
  readonly #database: WritableDatabase
  readonly #height: number
  readonly #root: Hash
  #isFinished: boolean

  private constructor(database: WritableDatabase, height: number, root: Hash, isFinished: boolean) {
    this.#database = database
    this.#height = height
    this.#root = root
    this.#isFinished = isFinished
  }

  /**
   * Begins a restore, or resumes one.
   * @param root state root of block `height`, which the caller has verified
   * @throws Error when the database has another state, or a part of one
   */
  static async open(database: WritableDatabase, height: number, root: Hash): Promise<StateRestore> {
    const target = concatBytes(heightBytes(height), root)
    const head = readStateHead(database)
    const begun = database.get(recordKey(TARGET))
    const isFinished = head !== undefined && head.height === height && equalBytes(head.root, root)
    if ((head !== undefined && !isFinished) || (begun !== undefined && !equalBytes(begun, target))) {
      throw new Error(`${database.location} has another state than that of block ${height}: remove it to begin anew`)
    }
    if (head === undefined && begun === undefined) {
      const batch = new WriteBatch()
      batch.put(recordKey(TARGET), target)
      await database.write(batch, { sync: true })
    }
    return new StateRestore(database, height, root, isFinished)
  }

  /** Returns whether the chunk with this name was written. */
  has(name: Hash): boolean {
    return this.#isFinished || this.#database.get(recordKey(CHUNK, name)) !== undefined
  }

  /**
   * Verifies a chunk and writes its entries, on stable storage when this resolves.
   * @param name of its own that the chunk has in the snapshot: the sha256 of its file
   * @throws ChunkError when it is not part of the state; then nothing is written
   */
  async write(name: Hash, chunk: StateChunk): Promise<void> {
    if (this.has(name)) return
    const batch = new WriteBatch()
    verifyChunk(chunk, this.#root, nodeSinks(batch))
    if (chunk.kind === 'codes') this.#checkWanted(chunk.codes)
    addEntries(batch, chunk)
    batch.put(recordKey(CHUNK, name), EMPTY_BYTES)
    await this.#database.write(batch, { sync: true })
  }

  /**
   * Checks that accounts have the code: a snapshot with a true state could otherwise fill the disk
   * with code. @throws ChunkError
   */
  #checkWanted(codes: readonly Uint8Array[]): void {
    for (const code of codes) {
      const hash = keccak256(code)
      if (this.#database.get(recordKey(CODE, hash)) === undefined)
        throw new ChunkError('it has contract code that no account has')
      if (this.#database.get(codeKey(hash)) !== undefined)
        throw new ChunkError('it has contract code that another chunk has')
    }
  }

  /**
   * Completes the state, after which it is as a node has it that executed all blocks, without history. May be called again when it was cut
   * off. The steps:
   *
   * 1. the chunks' ranges must cover all accounts, all storages that are not with their accounts, and all native entries. Then all nodes of
   *    all tries are there, and the root is compared once more;
   * 2. the code of each account must be there;
   * 3. what is in no chunk follows from the entries: numbers of slots, the directory of native keys;
   * 4. the head, which makes it a state: last of all, so that it is never read unfinished;
   * 5. the records of the restore are removed.
   * @throws IncompleteStateError
   */
  async finish(): Promise<void> {
    if (!this.#isFinished) {
      await this.#checkRanges()
      this.#checkRoot()
      await this.#checkCodes()
      await this.#writeDirectory()
      const batch = new WriteBatch()
      writeStateHead(batch, this.#height, this.#root)
      writeOldestHeight(batch, this.#height)
      await this.#database.write(batch, { sync: true })
      this.#isFinished = true
    }
    await this.#removeRecords()
  }

  /** Checks the ranges of all tries, and counts the slots of the storages in chunks, whose ranges have numbers of entries. */
  async #checkRanges(): Promise<void> {
    await this.#countEntries(ACCOUNT_TRIE, 'accounts')
    const batches = new BatchWriter(this.#database)
    for await (const [address] of this.#records(STORAGE)) {
      const isNative = equalBytes(address, NATIVE_ACCOUNT)
      const what = isNative ? 'native entries' : `storage of ${bytesToHex(address)}`
      const count = await this.#countEntries(storageTrie(address), what)
      if (!isNative) batches.batch.put(slotCountKey(address), encodeCount(count))
      await batches.flushLarge()
    }
    await batches.flush()
  }

  /**
   * Returns the number of entries in the ranges of a trie.
   * @throws IncompleteStateError when the ranges have gaps, or overlap: chunks of one snapshot do neither
   */
  async #countEntries(owner: Uint8Array, what: string): Promise<number> {
    let count = 0
    let next: Hash | undefined = ZERO_HASH
    for await (const [first, value] of this.#records(RANGE, owner)) {
      if (next === undefined || !equalBytes(first, next)) break
      count += readHeight(value, HASH_BYTES)
      next = keyAfter(value.subarray(0, HASH_BYTES))
    }
    if (next !== undefined) throw new IncompleteStateError(`no chunk of ${what} begins at ${bytesToHex(next)}`)
    return count
  }

  #checkRoot(): void {
    const rlp = this.#database.get(trieNodeKey(ACCOUNT_TRIE, '', 0))
    const root = rlp === undefined ? EMPTY_TRIE_ROOT : keccak256(rlp)
    if (!equalBytes(root, this.#root)) throw damagedContents('the restored state has another root')
  }

  async #checkCodes(): Promise<void> {
    for await (const [hash] of this.#records(CODE)) {
      if (this.#database.get(codeKey(hash)) !== undefined) continue
      throw new IncompleteStateError(`the code with the hash ${bytesToHex(hash)} is missing`)
    }
  }

  async #writeDirectory(): Promise<void> {
    const batches = new BatchWriter(this.#database)
    const builder = new DirectoryBuilder((page, bytes) => batches.batch.put(nativePageKey(page), bytes))
    const start = columnKey(Column.native)
    for await (const [key] of this.#database.entries({ start, end: prefixEnd(start) })) {
      builder.add(key.slice(start.length))
      await batches.flushLarge()
    }
    builder.finish()
    await batches.flush()
  }

  async #removeRecords(): Promise<void> {
    const batches = new BatchWriter(this.#database)
    for (const kind of [CHUNK, RANGE, STORAGE, CODE]) {
      for await (const [rest] of this.#records(kind)) {
        batches.batch.del(recordKey(kind, rest))
        await batches.flushLarge()
      }
    }
    batches.batch.del(recordKey(TARGET))
    await batches.flush()
  }

  /** Records whose keys begin with `prefix` after the kind, each with the rest of its key. */
  async *#records(kind: number, prefix = EMPTY_BYTES): AsyncGenerator<readonly [Uint8Array, Uint8Array], void, void> {
    const start = recordKey(kind, prefix)
    for await (const [key, value] of this.#database.entries({ start, end: prefixEnd(start) })) {
      yield [key.slice(start.length), value]
    }
  }
}

/** Adds flat entries, and the records of what `finish` has to check. */
function addEntries(batch: WriteBatch, chunk: StateChunk): void {
  switch (chunk.kind) {
    case 'accounts':
      for (const account of chunk.accounts) addAccount(batch, account)
      addRange(batch, ACCOUNT_TRIE, chunk.first, chunk.last, chunk.accounts.length)
      break
    case 'storage':
      addSlots(batch, chunk.address, chunk.slots)
      addRange(batch, storageTrie(chunk.address), chunk.first, chunk.last, chunk.slots.length)
      break
    case 'native':
      for (const { key, value } of chunk.entries) batch.put(nativeKey(key), value)
      addRange(batch, storageTrie(NATIVE_ACCOUNT), chunk.first, chunk.last, chunk.entries.length)
      break
    case 'codes':
      for (const code of chunk.codes) batch.put(codeKey(keccak256(code)), code)
  }
}

function addAccount(batch: WriteBatch, account: AccountEntry): void {
  const { address, codeHash, slots } = account
  batch.put(accountKey(address), encodeAccount(account))
  if (!equalBytes(codeHash, EMPTY_CODE_HASH)) batch.put(recordKey(CODE, codeHash), EMPTY_BYTES)
  if (slots === undefined) {
    batch.put(recordKey(STORAGE, address), EMPTY_BYTES)
  } else if (slots.length > 0) {
    addSlots(batch, address, slots)
    batch.put(slotCountKey(address), encodeCount(slots.length))
  }
}

function addSlots(batch: WriteBatch, address: Address, slots: readonly SlotEntry[]): void {
  for (const { slot, value } of slots) batch.put(slotKey(address, slot), value)
}

function addRange(batch: WriteBatch, owner: Uint8Array, first: Hash, last: Hash, count: number): void {
  const value = new Uint8Array(HASH_BYTES + HEIGHT_BYTES)
  value.set(last)
  value.set(heightBytes(count), HASH_BYTES)
  batch.put(recordKey(RANGE, owner, first), value)
}

/** Sinks that put the nodes of all tries under their keys. */
function nodeSinks(batch: WriteBatch): TrieSinks {
  const key = new Uint8Array(NODE_KEY_BYTES)
  const path = new Uint8Array(HASH_BYTES)
  return (owner) => (text, depth, rlp) => {
    const length = writeNodeKey(key, owner, setPath(path, text, depth), depth)
    batch.put(key.subarray(0, length), rlp)
  }
}

function recordKey(kind: number, ...parts: Uint8Array[]): Uint8Array {
  return columnKey(Column.restore, Uint8Array.of(kind), ...parts)
}

/** Returns undefined after the highest key */
function keyAfter(key: Hash): Hash | undefined {
  const next = bytesToBigInt(key) + 1n
  return next >> 256n === 0n ? bigIntToBytes(next, HASH_BYTES) : undefined
}
