import { type BlockCache, createBlockCache } from '../chain/store/blockCache.ts'
import { type ChainReader, openChainReader } from '../chain/store/chainReader.ts'
import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseReader, KeyReader } from '../storage/database.ts'
import { CodeCache, HeadCache } from './caches.ts'
import { checkAbsent, storedTries } from './checkAbsent.ts'
import { accountKey, FlatReader } from './flatState.ts'
import { checkHeight, readStateHead, type StateHead } from './head.ts'
import { valueAt } from './history.ts'
import { type AccountProof, proofAt } from './proof.ts'
import type { StateReader } from './reader.ts'
import { addTouched, openStateRange, type StateRange, type TouchedState } from './stateRange.ts'
import { openStateRoots, type StateRoots } from './stateRoots.ts'

/** Blocks and state as of one published head, so that everything that one RPC request reads is consistent. */
export interface NodeView {
  readonly chain: ChainReader
  /** lowest block whose state is retained */
  readonly oldestState: number
  /**
   * @param onRead called before each read of the database, for which the caches had no answer; if
   * it throws, the read ends (a `StateReadError` with that cause)
   * @throws StateUnavailable below the pruning window
   */
  stateAt(height: number, onRead?: () => void): StateReader
  /**
   * Yields the addresses of the head's accounts, ascending from `start` (included) on, or with
   * `reverse` descending from it.
   */
  accounts(options?: { readonly start?: Address; readonly reverse?: boolean }): AsyncIterable<Address>
  /**
   * @param pause awaited between slots; if it throws, the proof ends
   * @throws StateUnavailable below the pruning window
   */
  proofAt(
    height: number,
    address: Address,
    slots: readonly Uint8Array[],
    pause?: () => Promise<void>,
  ): Promise<AccountProof>
  /**
   * Returns the state roots that further blocks on the state after block `height` would have.
   * `onNode` gets the stored trie nodes that are read for them.
   * @throws StateUnavailable below the pruning window
   */
  stateRoots(height: number, onNode?: (rlp: Uint8Array) => void): StateRoots
  /**
   * Accounts and slots after block `height`.
   * @throws StateUnavailable below the pruning window
   */
  rangeAt(height: number): StateRange
  /**
   * Adds the entries that block `height` wrote, if its state is retained, to `touched`.
   * @returns how many entries it wrote
   */
  addTouched(height: number, touched: TouchedState): number
}

/** Caches that the views of one thread share. */
export interface ViewCaches extends StateCaches {
  readonly blocks: BlockCache
}

/** @param hashSeed see `SlotCache`; it is random in a node that serves clients */
export function createViewCaches(hashSeed = 0n): ViewCaches {
  return { ...createStateCaches(undefined, undefined, hashSeed), blocks: createBlockCache() }
}

/**
 * Opens blocks and state as of `snapshot`, which must stay open as long as the view is used.
 * @throws Error when the database holds no chain
 */
export function openView(snapshot: DatabaseReader, caches: ViewCaches): NodeView {
  const head = readStateHead(snapshot)
  if (head === undefined) throw new Error('the database holds no state')
  return {
    chain: openChainReader(snapshot, caches.blocks),
    oldestState: head.oldestHeight,
    stateAt: (height, onRead) =>
      openStateAt(onRead === undefined ? snapshot : watched(snapshot, onRead), caches, head, height),
    accounts: (options = {}) => walkAccounts(snapshot, options),
    proofAt: (height, address, slots, pause) => proofAt(snapshot, head, height, address, slots, pause),
    stateRoots: (height, onNode) =>
      openStateRoots(snapshot, openStateAt(snapshot, caches, head, height), head, height, onNode, caches.hashSeed),
    rangeAt: (height) => openStateRange(snapshot, head, height),
    addTouched: (height, touched) => addTouched(snapshot, height, touched),
  }
}

export interface StateCaches {
  readonly codes: CodeCache
  /** entries at the head */
  readonly head: HeadCache
  /** see `SlotCache`; of the tries of simulated blocks too */
  readonly hashSeed: bigint
}

/** @param hashSeed see `SlotCache`; it is random in a node that serves clients */
export function createStateCaches(codeBytes = 16 << 20, headBytes = 16 << 20, hashSeed = 0n): StateCaches {
  return { codes: new CodeCache(codeBytes), head: new HeadCache(headBytes, hashSeed), hashSeed }
}

/**
 * Opens the state after block `height`, for any thread. `snapshot` is a database snapshot whose
 * head record is `head` (see `readStateHead`); it must stay open. `caches` may be shared by all
 * readers of a thread.
 * @throws StateUnavailable below the retained window
 */
export function openStateAt(snapshot: KeyReader, caches: StateCaches, head: StateHead, height: number): StateReader {
  checkHeight(head, height)
  return new FlatReader({
    value:
      height === head.height
        ? (key) => caches.head.get(snapshot, height, key)
        : (key) => {
            const value = valueAt(snapshot, key, height)
            // It has not changed since: an entry that the head lacks was absent then.
            if (value === undefined) checkAbsent(key, storedTries(snapshot), snapshot)
            return value
          },
    knownSlot: height === head.height ? (name, value) => caches.head.knownSlot(height, name, value) : undefined,
    code: (hash) => caches.codes.get(snapshot, hash),
  })
}

function watched(reader: KeyReader, onRead: () => void): KeyReader {
  return {
    get: (key) => {
      onRead()
      return reader.get(key)
    },
    onDamage: reader.onDamage,
  }
}

const ACCOUNTS = columnKey(Column.account)

async function* walkAccounts(
  db: Pick<DatabaseReader, 'entries'>,
  { start, reverse = false }: { readonly start?: Address; readonly reverse?: boolean },
): AsyncIterable<Address> {
  const from = start && accountKey(start)
  const range = reverse
    ? { start: ACCOUNTS, end: from ? concatBytes(from, Uint8Array.of(0)) : prefixEnd(ACCOUNTS), reverse }
    : { start: from ?? ACCOUNTS, end: prefixEnd(ACCOUNTS) }
  for await (const [key] of db.entries(range)) yield key.slice(ACCOUNTS.length)
}
