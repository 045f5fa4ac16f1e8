import type { Address } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { encodeAccountLeaf, storageRootIn } from './accountLeaf.ts'
import { compareKeys } from './changes.ts'
import type { Account } from './reader.ts'
import { countGenerations, evictBelow, generationToKeep } from './trieEviction.ts'
import { TrieLog } from './trieLog.ts'
import type { TrieNode } from './trieNode.ts'
import { ACCOUNT_TRIE, storageTrie } from './triePath.ts'
import { encodeString } from './trieRlp.ts'
import { loadRoot, type TrieSource, type TrieUpdate, updateTrie } from './trieUpdate.ts'

/** An account whose leaf or storage changes. */
export interface TrieAccountChange {
  readonly address: Address
  /** undefined deletes the account; then `slots` must unset all of its storage */
  readonly current: Account | undefined
  /** new values; no bytes unset the slot */
  readonly slots: readonly { readonly slot: Uint8Array; readonly current: Uint8Array }[]
}

/** What an update of the state trie comes to; nothing of it is in effect before `adopt`. */
export interface TrieCommit {
  readonly root: Hash
  /** what changes in the database */
  readonly log: TrieLog
  readonly accounts: TrieNode | undefined
  /** roots of the storage tries that changed, by `bytesKey(address)` */
  readonly storages: ReadonlyMap<string, TrieNode | undefined>
  /** new nodes */
  readonly made: number
}

/**
 * The state trie of one head with its storage tries ("secure": paths are keccak256 of address and slot). Nodes are stored
 * by path, in their latest version only, and loaded when an update meets them; a bounded number stays in memory from
 * block to block. Several updates of one head may be computed; one is adopted, the rest just dropped.
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
   * Computes the root after `changes` (no address twice): storage tries first, then the accounts' leaves.
   * @param height of the block, for the history; undefined when none is kept of it
   */
  compute(changes: readonly TrieAccountChange[], height?: number): TrieCommit {
    const generation = this.#generation + 1
    const storages = new Map<string, TrieNode | undefined>()
    const log = new TrieLog(height)
    const updates: TrieUpdate[] = []
    let made = 0
    for (const { address, current, slots } of changes) {
      let storageRoot: string | undefined
      if (slots.length > 0) {
        const owner = storageTrie(address)
        const root = this.#storages.get(bytesKey(address)) ?? loadRoot(owner, this.#source, generation)
        const result = updateTrie(owner, root, sortUpdates(slots.map(slotUpdate)), this.#source, log, generation)
        storages.set(bytesKey(address), result.root)
        made += result.made
        this.#resident += result.loaded + 1
        storageRoot = bytesKey(result.rootHash)
      }
      updates.push({ key: bytesKey(keccak256(address)), next: (leaf) => nextLeaf(leaf, current, storageRoot) })
    }
    if (!this.#accountsLoaded) {
      this.#accounts = loadRoot(ACCOUNT_TRIE, this.#source, generation)
      this.#accountsLoaded = true
    }
    const result = updateTrie(ACCOUNT_TRIE, this.#accounts, sortUpdates(updates), this.#source, log, generation)
    made += result.made
    // What an update loads stays below the present nodes, also when the update is dropped.
    this.#resident += result.loaded
    return { root: result.rootHash, log, accounts: result.root, storages, made }
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

  /** Brings the nodes in memory down to half of the limit, the longest unused first. */
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

function slotUpdate({ slot, current }: { slot: Uint8Array; current: Uint8Array }): TrieUpdate {
  const value = current.length === 0 ? undefined : bytesKey(encodeString(current))
  return { key: bytesKey(keccak256(slot)), next: () => value }
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

function sortUpdates(updates: TrieUpdate[]): TrieUpdate[] {
  return updates.sort((a, b) => compareKeys(a.key, b.key))
}

const NO_NODES: TrieSource = { get: () => undefined }

/** State root of accounts with their storage, without a database. Values of slots: minimal big-endian bytes. */
export function stateRootOf(
  accounts: Iterable<{
    readonly address: Address
    readonly account: Account
    readonly slots: Iterable<readonly [Uint8Array, Uint8Array]>
  }>,
): Hash {
  const changes: TrieAccountChange[] = []
  for (const { address, account, slots } of accounts) {
    changes.push({ address, current: account, slots: [...slots].map(([slot, current]) => ({ slot, current })) })
  }
  return new StateTrie(NO_NODES, 0).compute(changes).root
}
