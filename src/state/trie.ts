import type { Address } from '../primitives/address.ts'
import { bytesKey, bytesKeyOf, bytesToBigInt, bytesToHex, compareKeys, writeBigInt } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, toHash } from '../primitives/hash.ts'
import { keccakKey } from '../primitives/keccak.ts'
import { decodeRLP, encodeRLP, writeHeader } from '../primitives/rlp.ts'
import { type Filled, WriteBatch } from '../storage/batch.ts'
import { Column, HEIGHT_BYTES, writeHeight } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'
import type { BulkReader } from '../storage/database.ts'
import { loadPaths, type TrieToLoad } from './loadPaths.ts'
import type { Account } from './reader.ts'
import {
  ACCOUNT_TRIE,
  NODE_KEY_BYTES,
  storageTrie,
  type TrieChild,
  type TrieNode,
  writeNodeRecord,
} from './trieNode.ts'
import { findLeaf, loadRoot, type TrieSink, type TrieSource, type TrieUpdate, updateTrie } from './trieUpdate.ts'
import { KeyList } from './varint.ts'

/** An account whose leaf or storage changes. */
export interface TrieAccountChange {
  readonly address: Address
  /** whether the flat state has the account; undefined: that is not compared with the trie */
  readonly isThere?: boolean
  /** undefined deletes the account; then `slots` must unset all of its storage */
  readonly current: Account | undefined
  /** none of the former slots is left; only where nothing is stored, as their nodes stay in the database */
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
  /** the changes in the database */
  readonly log: TrieLog
  readonly accounts: TrieNode | undefined
  /** roots of the storage tries that changed, by `bytesKey(address)` */
  readonly storages: ReadonlyMap<string, TrieNode | undefined>
  /** new nodes */
  readonly made: number
}

/**
 * The state trie of one head with its storage tries ("secure": paths are keccak256 of address and slot). Nodes are stored by
 * path, in their latest version only, and loaded when an update reaches them; a bounded number stays in memory from block to
 * block. Several updates of one head may be computed; at most one is adopted, the others need no clean-up.
 */
export class StateTrie {
  readonly #limit: number
  #source: TrieSource
  #accounts: TrieNode | undefined
  #accountsLoaded = false
  #storages = new Map<string, TrieNode>()
  #generation = 0
  /** upper bound of the nodes in memory */
  #resident = 0

  /** `source` reads the stored nodes of the head; at most about `limit` nodes stay in memory between blocks. */
  constructor(source: TrieSource, limit: number) {
    this.#source = source
    this.#limit = limit
  }

  /**
   * Computes the state root after `changes` (no address twice):
   *
   * 1. each changed storage trie, since the account's leaf holds its root;
   * 2. the account trie, in one walk over all changed leaves in the order of their hashed addresses;
   * 3. within each trie, `updateTrie` encodes and hashes the new nodes, children first, and logs the changes to the database.
   *
   * Nodes in memory do not change, except that children are loaded, so another update of the same head can follow.
   * @param height of the block, for the history; undefined when no history is kept
   * @throws DatabaseError when only one of flat state and trie has what changes
   */
  compute(changes: readonly TrieAccountChange[], height?: number): TrieCommit {
    return this.computePlan(planUpdate(changes), height)
  }

  /**
   * Loads the nodes that a large plan reaches: other threads read them.
   * @param bulk reads what the trie's source reads
   */
  async load(plan: TriePlan, bulk: BulkReader): Promise<void> {
    if (plan.size < LEAST_BULK) return
    const generation = this.#generation + 1
    const tries: TrieToLoad[] = []
    const add = (owner: Uint8Array, root: TrieNode | undefined, updates: readonly TrieUpdate[]): void => {
      if (root !== undefined) tries.push({ owner, root, updates })
    }
    for (const { owner, isWiped, updates } of plan.storages) {
      if (!isWiped) add(owner, this.#storageRoot(owner, generation), updates)
    }
    add(ACCOUNT_TRIE, this.#accountRoot(generation), plan.accounts)
    this.#resident += await loadPaths(tries, bulk, generation)
  }

  /** As {@link compute}. */
  computePlan({ storages: storageUpdates, accounts: updates }: TriePlan, height?: number): TrieCommit {
    const generation = this.#generation + 1
    const storages = new Map<string, TrieNode | undefined>()
    const log = new TrieLog(height)
    let made = 0
    // 1. Storage tries.
    for (const storage of storageUpdates) {
      const { owner, name, isWiped } = storage
      const root = isWiped ? undefined : this.#storageRoot(owner, generation)
      const result = updateTrie(owner, root, storage.updates, this.#source, log, generation)
      storages.set(name, result.root)
      made += result.made
      this.#resident += result.loaded + 1
      storage.root = bytesKey(result.rootHash)
    }
    // 2. The account trie.
    const accounts = this.#accountRoot(generation)
    const result = updateTrie(ACCOUNT_TRIE, accounts, updates, this.#source, log, generation)
    made += result.made
    // Loaded nodes stay attached to the present nodes, also when this update is not adopted.
    this.#resident += result.loaded
    return { root: result.rootHash, log, accounts: result.root, storages, made }
  }

  /** Whether the head has this key, in the trie of `owner`; see `TriePresence`. Loaded nodes stay in memory for the next update. */
  has(owner: Uint8Array, path: Uint8Array | undefined): boolean {
    const generation = this.#generation + 1
    const root =
      owner.length === ACCOUNT_TRIE.length ? this.#accountRoot(generation) : this.#storageRoot(owner, generation)
    if (root === undefined || path === undefined) return root !== undefined
    const { isThere, loaded } = findLeaf(owner, root, bytesKey(path), this.#source, generation)
    this.#resident += loaded
    return isThere
  }

  /** Makes a computed update the head. `source` reads the stored nodes of the new head. */
  adopt(commit: TrieCommit, source: TrieSource): void {
    this.#source = source
    this.#accounts = commit.accounts
    for (const [key, root] of commit.storages) {
      if (root === undefined) this.#storages.delete(key)
      else this.#storages.set(key, root)
    }
    this.#generation++
    this.#resident += commit.made
    if (this.#resident > this.#limit) this.#evict()
  }

  #accountRoot(generation: number): TrieNode | undefined {
    if (!this.#accountsLoaded) {
      this.#accounts = loadRoot(ACCOUNT_TRIE, this.#source, generation)
      this.#accountsLoaded = true
    }
    return this.#accounts
  }

  #storageRoot(owner: Uint8Array, generation: number): TrieNode | undefined {
    const name = bytesKey(owner.subarray(1))
    const known = this.#storages.get(name)
    if (known !== undefined) return known
    const root = loadRoot(owner, this.#source, generation)
    if (root !== undefined) {
      this.#storages.set(name, root)
      this.#resident++
    }
    return root
  }

  /** Drops nodes from memory, the least recently used first, until half of the limit is left. */
  #evict(): void {
    const counts = new Map<number, number>()
    if (this.#accounts !== undefined) countGenerations(this.#accounts, counts)
    for (const root of this.#storages.values()) countGenerations(root, counts)
    const generation = generationToKeep(counts, this.#limit / 2)
    if (this.#accounts !== undefined) evictBelow(this.#accounts, generation)
    for (const [key, root] of this.#storages) {
      if (root.usedAt < generation) this.#storages.delete(key)
      else evictBelow(root, generation)
    }
    this.#resident = 0
    for (const [used, count] of counts) if (used >= generation) this.#resident += count
  }
}

/** Changes of a block, from which on what they need of the database is read by other threads. */
export const LEAST_BULK = 256

/** Changes in the form and order in which the tries take them. */
export interface TriePlan {
  readonly storages: readonly StorageUpdate[]
  readonly accounts: readonly TrieUpdate[]
  /** number of updates */
  readonly size: number
}

interface StorageUpdate {
  readonly owner: Uint8Array
  /** `bytesKey` of the address */
  readonly name: string
  readonly isWiped: boolean
  readonly updates: readonly TrieUpdate[]
  /** hash of the new root once it is computed, as a string */
  root: string | undefined
}

export function planUpdate(changes: readonly TrieAccountChange[]): TriePlan {
  const storages: StorageUpdate[] = []
  const accounts: TrieUpdate[] = []
  let size = changes.length
  for (const { address, isThere, current, isWiped = false, slots } of changes) {
    let storage: StorageUpdate | undefined
    if (slots.length > 0 || isWiped) {
      const updates = sortUpdates(slots.map(slotUpdate))
      storage = { owner: storageTrie(address), name: bytesKey(address), isWiped, updates, root: undefined }
      storages.push(storage)
      size += slots.length
    }
    const next = (leaf: string | undefined): string | undefined => {
      if (isThere !== undefined && isThere !== (leaf !== undefined)) throw differentAccount(address)
      return nextLeaf(leaf, current, storage?.root)
    }
    accounts.push({ key: keccakKey(address), next })
  }
  return { storages, accounts: sortUpdates(accounts), size }
}

function slotUpdate({ slot, previous, current }: TrieSlotChange): TrieUpdate {
  const value = current.length === 0 ? undefined : bytesKey(encodeRLP(current))
  const next = (leaf: string | undefined): string | undefined => {
    if (previous !== undefined && previous.length > 0 !== (leaf !== undefined)) {
      throw damagedContents(`only one of state and trie has the slot ${bytesToHex(slot)}`)
    }
    return value
  }
  return { key: keccakKey(slot), next }
}

function differentAccount(address: Address): Error {
  return damagedContents(`only one of state and trie has the account ${bytesToHex(address)}`)
}

function sortUpdates(updates: TrieUpdate[]): TrieUpdate[] {
  return updates.sort((a, b) => compareKeys(a.key, b.key))
}

const EMPTY_ROOT = bytesKey(EMPTY_TRIE_ROOT)

/** `storageRoot` is undefined when the storage does not change. */
function nextLeaf(
  leaf: string | undefined,
  current: Account | undefined,
  storageRoot: string | undefined,
): string | undefined {
  const root = storageRoot ?? (leaf === undefined ? EMPTY_ROOT : storageRootIn(leaf))
  if (current !== undefined) return encodeAccountLeaf(current, root)
  if (root !== EMPTY_ROOT) throw new Error('an account is deleted that still has storage')
  return undefined
}

/** The changes of one block to the stored nodes of all tries, with their history, ready for the block's batch. */
class TrieLog implements TrieSink {
  readonly batch = new WriteBatch()
  /** keys of the nodes that changed; empty without a history */
  readonly keys = new KeyList()
  readonly #height: number | undefined
  readonly #historyKey = { bytes: new Uint8Array(NODE_KEY_BYTES + HEIGHT_BYTES), length: 0 }

  /** @param height of the block; undefined when no history is kept of it */
  constructor(height: number | undefined) {
    this.#height = height
  }

  write(key: Filled, previous: TrieNode | undefined, current: Filled | undefined): void {
    if (current === undefined) this.batch.delFilled(key)
    else this.batch.putFilled(key, current)
    if (this.#height === undefined) return
    const historyKey = this.#historyKey
    const out = historyKey.bytes
    const { bytes, length } = key
    out[0] = Column.trieHistory
    for (let i = 1; i < length; i++) out[i] = bytes[i]!
    writeHeight(out, length, this.#height)
    historyKey.length = length + HEIGHT_BYTES
    this.batch.putFilled(historyKey, writeNodeRecord(previous))
    this.keys.add(bytes, length)
  }
}

/** Reused memory for an account's leaf: nonce of 8 bytes, balance of 32, two hashes, headers of up to 3 bytes. */
const scratch = new Uint8Array(160)
const HASH_ITEM = 33

/**
 * Value of an account's leaf in the state trie, as a string: RLP of [nonce, balance, storage root, code hash].
 * @param storageRoot 32 bytes as a string
 */
export function encodeAccountLeaf({ nonce, balance, codeHash }: Account, storageRoot: string): string {
  // The list of an account has more than 55 and less than 256 bytes, so its header has two.
  let at = writeInteger(2, nonce)
  at = writeInteger(at, balance)
  if (at > 2 + 9 + 33) throw new RangeError('a nonce has at most 8 bytes, a balance 32')
  scratch[at++] = 0xa0
  for (let i = 0; i < 32; i++) scratch[at++] = storageRoot.charCodeAt(i)
  scratch[at++] = 0xa0
  for (let i = 0; i < 32; i++) scratch[at++] = codeHash[i]!
  writeHeader(scratch, 0, 0xc0, at - 2)
  return bytesKeyOf(scratch, 0, at)
}

/** Writes an integer's RLP and gives the position after it. */
function writeInteger(at: number, value: bigint): number {
  const end = writeBigInt(scratch, at + 1, value)
  const length = end - at - 1
  if (length === 1 && scratch[at + 1]! < 0x80) {
    scratch[at] = scratch[at + 1]!
    return at + 1
  }
  scratch[at] = 0x80 + length
  return end
}

/** The storage root, as a string, in a leaf that {@link encodeAccountLeaf} made. */
export function storageRootIn(leaf: string): string {
  return leaf.slice(leaf.length - HASH_ITEM - 32, leaf.length - HASH_ITEM)
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

/** Adds to `counts` how many nodes of each generation are in memory under `root`. */
function countGenerations(root: TrieNode, counts: Map<number, number>): void {
  counts.set(root.usedAt, (counts.get(root.usedAt) ?? 0) + 1)
  if (root.kind === 'branch') {
    for (const child of root.children) if (typeof child === 'object') countGenerations(child, counts)
  } else if (root.kind === 'extension' && typeof root.child === 'object') {
    countGenerations(root.child, counts)
  }
}

/** The lowest generation that together with all newer ones has at most `limit` nodes; Infinity when the newest has more. */
function generationToKeep(counts: ReadonlyMap<number, number>, limit: number): number {
  let kept = 0
  let lowest = Number.POSITIVE_INFINITY
  for (const [generation, count] of [...counts].sort((a, b) => b[0] - a[0])) {
    kept += count
    if (kept > limit) break
    lowest = generation
  }
  return lowest
}

/** Drops the nodes below `node` that were last used before `generation`, and keeps their references. */
function evictBelow(node: TrieNode, generation: number): void {
  if (node.kind === 'branch') {
    for (let i = 0; i < 16; i++) node.children[i] = evicted(node.children[i], generation)
  } else if (node.kind === 'extension') {
    node.child = evicted(node.child, generation)
  }
}

function evicted<Child extends TrieChild | undefined>(child: Child, generation: number): Child | string {
  if (typeof child !== 'object') return child
  if (child.usedAt >= generation || child.ref === undefined) {
    evictBelow(child, generation)
    return child
  }
  return child.ref
}
