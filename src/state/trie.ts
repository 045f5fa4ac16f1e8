import {
  FAILURE_PRESENCE,
  UPDATE_BYTES,
  UPDATE_EXPECTED,
  UPDATE_FLAGS,
  UPDATE_IS_CHECKED,
  UPDATE_KEEPS_STORAGE,
  UPDATE_LENGTH,
  UPDATE_VALUE,
} from '../../assembly/trie/trieLayout.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKeyOf, bytesToBigInt, bytesToHex, equalBytes, writeBigInt } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, toHash } from '../primitives/hash.ts'
import { decodeRLP, headerLength, writeHeader } from '../primitives/rlp.ts'
import { WriteBatch } from '../storage/batch.ts'
import { damagedContents } from '../storage/damage.ts'
import type { BulkReader } from '../storage/database.ts'
import { loadPaths } from './loadPaths.ts'
import type { Account } from './reader.ts'
import { type PackedOperations, TrieEngine, type UpdateList } from './trieEngine.ts'
import { ACCOUNT_TRIE, storageTrie, type TrieSource } from './trieNode.ts'

/** An account whose leaf or storage changes. */
export interface TrieAccountChange {
  readonly address: Address
  /** whether the flat state has the account; undefined: that is not compared with the trie */
  readonly isThere?: boolean
  /** undefined deletes the account; then `slots` must unset all of its storage */
  readonly current: Account | undefined
  /**
   * whether no previous slot is left; only where nothing is stored, as their nodes stay in the
   * database
   */
  readonly isWiped?: boolean
  readonly slots: readonly TrieSlotChange[]
}

interface TrieSlotChange {
  readonly slot: Uint8Array
  /** value in the flat state; no bytes: unset; undefined: that is not compared with the trie */
  readonly previous?: Uint8Array
  /** new value; no bytes: the slot is unset */
  readonly current: Uint8Array
}

/** The result of an update of the state trie. It has no effect before `adopt`. */
export interface TrieCommit {
  readonly root: Hash
  /** the changes in the database, with their history */
  readonly batch: WriteBatch
  /** keys of the nodes that changed, as a `KeyList` has them; empty without a history */
  readonly keys: Uint8Array
  /** contents of `batch` */
  readonly log: readonly PackedOperations[]
}

/**
 * The state trie of one head with its storage tries ("secure": paths are keccak256 of address and slot). Nodes are stored by
 * path, in their latest version only, and loaded when an update reaches them; a bounded number stays in memory from block to
 * block. Several updates of one head may be computed; at most one is adopted, the others need no clean-up.
 */
export class StateTrie {
  readonly #engine: TrieEngine
  #source: TrieSource
  /** changes with each head: nodes that were read for the previous head are not cached */
  #generation = 0

  /** `source` reads the stored nodes of the head. For `limit` and `seed` see {@link TrieEngine}. */
  constructor(source: TrieSource, limit: number, seed = 0n) {
    this.#source = source
    this.#engine = new TrieEngine(limit, seed)
  }

  /** As {@link computePlan}. */
  compute(changes: readonly TrieAccountChange[], height?: number): TrieCommit {
    return this.computePlan(this.plan(changes), height)
  }

  /** Returns `changes` (no address twice) in the form and order in which the tries take them. */
  plan(changes: readonly TrieAccountChange[]): TriePlan {
    const storages: StorageUpdate[] = []
    let size = changes.length
    for (const change of changes) {
      const { address, isWiped = false, slots } = change
      if (slots.length === 0 && !isWiped) continue
      const updates = slotUpdates(slots)
      this.#engine.sort(updates, SLOT_BYTES)
      storages.push({ owner: storageTrie(address), change, isWiped, updates, leaf: 0 })
      size += slots.length
    }
    const accounts = accountUpdates(changes, storages)
    this.#engine.sort(accounts, ADDRESS_BYTES)
    return { changes, storages, accounts, size }
  }

  /**
   * Loads the nodes that a large plan reaches: other threads read them.
   * @param bulk reads the same nodes as the trie's source
   */
  async load(plan: TriePlan, bulk: BulkReader): Promise<void> {
    if (plan.size < LEAST_BULK) return
    const generation = this.#generation
    const tries = plan.storages.filter(({ isWiped }) => !isWiped).map(({ owner, updates }) => ({ owner, updates }))
    tries.push({ owner: ACCOUNT_TRIE, updates: plan.accounts })
    await loadPaths(tries, bulk, this.#engine, () => this.#generation === generation)
  }

  /**
   * Computes the state root after a plan:
   *
   * 1. each changed storage trie, since the account's leaf holds its root;
   * 2. the account trie, in one walk over all changed leaves in the order of their hashed addresses.
   *
   * Nodes in memory do not change, except that others are loaded, so another update of the same head can follow.
   * @param height of the block, for the history; undefined when no history is written
   * @throws DatabaseError when only one of flat state and trie has a changed entry
   */
  computePlan({ changes, storages, accounts }: TriePlan, height?: number): TrieCommit {
    const log: PackedOperations[] = []
    const source = this.#source
    const engine = this.#engine
    let root: Hash = EMPTY_TRIE_ROOT
    const keys = engine.log(height, source, log, () => {
      // 1. Storage tries.
      for (const { owner, change, isWiped, updates, leaf } of storages) {
        const failure = (_: number, index: number) => differentSlot(change.slots[index]!)
        const rootHash = engine.update(owner, updates, isWiped, { source, log, failure })
        if (change.current !== undefined) accounts.bytes.set(rootHash, leaf)
        else if (!equalBytes(rootHash, EMPTY_TRIE_ROOT)) throw deletedWithStorage()
      }
      // 2. The account trie.
      const failure = (kind: number, index: number) =>
        kind === FAILURE_PRESENCE ? differentAccount(changes[index]!.address) : deletedWithStorage()
      root = engine.update(ACCOUNT_TRIE, accounts, false, { source, log, failure })
    })
    const batch = new WriteBatch()
    for (const { bytes, operations } of log) batch.addPacked(bytes, operations)
    return { root, batch, keys, log }
  }

  /** Whether the head has this key, in the trie of `owner`; see `TriePresence`. Loaded nodes stay in memory for the next update. */
  has(owner: Uint8Array, path: Uint8Array | undefined): boolean {
    return this.#engine.has(owner, path, this.#source)
  }

  /** Makes a computed update the head. `source` reads the stored nodes of the new head. */
  adopt(commit: TrieCommit, source: TrieSource): void {
    this.#source = source
    this.#generation++
    this.#engine.adopt(commit.log)
  }
}

/**
 * Number of a block's changes from which on other threads read the nodes and records that they
 * need.
 */
export const LEAST_BULK = 256

/** Changes in the form and order in which the tries take them. */
export interface TriePlan {
  readonly changes: readonly TrieAccountChange[]
  readonly storages: readonly StorageUpdate[]
  readonly accounts: UpdateList
  /** number of updates */
  readonly size: number
}

interface StorageUpdate {
  readonly owner: Uint8Array
  readonly change: TrieAccountChange
  readonly isWiped: boolean
  readonly updates: UpdateList
  /** where the storage root is in the updates of accounts */
  leaf: number
}

const SLOT_BYTES = 32
const ADDRESS_BYTES = 20

function slotUpdates(slots: readonly TrieSlotChange[]): UpdateList {
  let values = 0
  for (const { current } of slots) values += valueLength(current)
  const { bytes, view } = createUpdates(slots.length, values)
  let value = slots.length * UPDATE_BYTES
  for (let i = 0; i < slots.length; i++) {
    const { slot, previous, current } = slots[i]!
    const length = valueLength(current)
    writeUpdate(bytes, view, i, slot, value, length, presence(previous && previous.length > 0))
    if (length > current.length) writeHeader(bytes, value, 0x80, current.length)
    bytes.set(current, value + length - current.length)
    value += length
  }
  return { bytes, count: slots.length }
}

/** Returns the length of a slot's leaf: RLP of its value; 0 when it is unset. */
function valueLength(value: Uint8Array): number {
  const { length } = value
  return length === 0 || (length === 1 && value[0]! < 0x80) ? length : headerLength(length) + length
}

function accountUpdates(changes: readonly TrieAccountChange[], storages: readonly StorageUpdate[]): UpdateList {
  const { bytes, view } = createUpdates(changes.length, changes.length * LONGEST_LEAF)
  let value = changes.length * UPDATE_BYTES
  let storage = 0
  for (let i = 0; i < changes.length; i++) {
    const change = changes[i]!
    const { address, isThere, current } = change
    const hasStorage = storages[storage]?.change === change
    const length = current === undefined ? 0 : writeAccountLeaf(bytes, value, current)
    const root = value + length - ROOT_FROM_END
    if (hasStorage) storages[storage++]!.leaf = root
    if (length > 0) bytes.set(EMPTY_TRIE_ROOT, root)
    const flags = presence(isThere) | (hasStorage ? 0 : UPDATE_KEEPS_STORAGE)
    writeUpdate(bytes, view, i, address, value, length, flags)
    value += length
  }
  return { bytes: bytes.subarray(0, value), count: changes.length }
}

function createUpdates(count: number, valueBytes: number): { readonly bytes: Uint8Array; readonly view: DataView } {
  const bytes = new Uint8Array(count * UPDATE_BYTES + valueBytes)
  return { bytes, view: new DataView(bytes.buffer) }
}

function presence(isThere: boolean | undefined): number {
  return isThere === undefined ? 0 : UPDATE_IS_CHECKED | (isThere ? UPDATE_EXPECTED : 0)
}

function writeUpdate(
  bytes: Uint8Array,
  view: DataView,
  index: number,
  preimage: Uint8Array,
  value: number,
  length: number,
  flags: number,
): void {
  const at = index * UPDATE_BYTES
  for (let i = 0; i < preimage.length; i++) bytes[at + i] = preimage[i]!
  view.setUint32(at + UPDATE_VALUE, value, true)
  view.setUint32(at + UPDATE_LENGTH, length, true)
  view.setUint32(at + UPDATE_FLAGS, flags, true)
}

function differentAccount(address: Address): Error {
  return damagedContents(`only one of state and trie has the account ${bytesToHex(address)}`)
}

function differentSlot({ slot }: TrieSlotChange): Error {
  return damagedContents(`only one of state and trie has the slot ${bytesToHex(slot)}`)
}

function deletedWithStorage(): Error {
  return new Error('an account is deleted that still has storage')
}

/** Nonce of 8 bytes, balance of 32, two hashes, headers of 1 byte, of the list 2. */
const LONGEST_LEAF = 2 + 9 + 33 + 33 + 33
/** A leaf ends with storage root and code hash, each behind a byte. */
const ROOT_FROM_END = 65

const scratch = new Uint8Array(LONGEST_LEAF + 32)

/**
 * Returns the value of an account's leaf in the state trie, as a string: RLP of [nonce, balance,
 * storage root, code hash].
 * @param storageRoot 32 bytes as a string
 */
export function encodeAccountLeaf(account: Account, storageRoot: string): string {
  const length = writeAccountLeaf(scratch, 0, account)
  for (let i = 0; i < 32; i++) scratch[length - ROOT_FROM_END + i] = storageRoot.charCodeAt(i)
  return bytesKeyOf(scratch, 0, length)
}

/** Writes an account's leaf, without the storage root, and returns its length. */
function writeAccountLeaf(out: Uint8Array, start: number, { nonce, balance, codeHash }: Account): number {
  if (nonce >> 64n !== 0n || balance >> 256n !== 0n) throw new RangeError('a nonce has at most 8 bytes, a balance 32')
  // The list of an account has more than 55 and less than 256 bytes, so its header has two.
  let at = writeInteger(out, start + 2, nonce)
  at = writeInteger(out, at, balance)
  out[at] = 0xa0
  at += 33
  out[at++] = 0xa0
  for (let i = 0; i < 32; i++) out[at++] = codeHash[i]!
  writeHeader(out, start, 0xc0, at - start - 2)
  return at - start
}

/** Writes an integer's RLP and returns the position after it. */
function writeInteger(out: Uint8Array, at: number, value: bigint): number {
  const end = writeBigInt(out, at + 1, value)
  const length = end - at - 1
  if (length === 1 && out[at + 1]! < 0x80) {
    out[at] = out[at + 1]!
    return at + 1
  }
  out[at] = 0x80 + length
  return end
}

/** @throws Error when `leaf` is not such a value */
export function decodeAccountLeaf(leaf: Uint8Array): { account: Account; storageRoot: Hash } {
  const items = decodeRLP(leaf)
  if (items instanceof Uint8Array || items.length !== 4 || !items.every((item) => item instanceof Uint8Array)) {
    throw new Error('not an account leaf')
  }
  const [nonce, balance, storageRoot, codeHash] = items as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
  return {
    account: { nonce: bytesToBigInt(nonce), balance: bytesToBigInt(balance), codeHash: toHash(codeHash) },
    storageRoot: toHash(storageRoot),
  }
}
