import { bytesKey, bytesKeyOf, EMPTY_BYTES, equalBytes, keyBytes } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import type { DatabaseReader } from '../storage/database.ts'
import type { AccountChange, SlotChange, StateChanges } from './changes.ts'
import type { StateHead } from './head.ts'
import { NATIVE_ACCOUNT, nativeSlots, withNativeAccount } from './prepareChanges.ts'
import { type NodeReader, nodeAt, prove } from './proof.ts'
import { equalAccounts, type StateReader } from './reader.ts'
import { StateTrie, type TrieAccountChange } from './trie.ts'
import { ACCOUNT_TRIE, storageTrie, type TrieSource, trieNodeKey } from './trieNode.ts'

/** Computes the roots of states that are stored nowhere: of blocks that are only simulated. */
export interface StateRoots {
  /**
   * Returns the root after `changes`: all changes since the stored state, those of earlier calls
   * among them.
   * @param pause awaited between reads of nodes; if it throws, the work ends
   */
  after(changes: StateChanges, pause?: () => Promise<void>): Promise<Hash>
}

/**
 * Opens the computation of roots on the state after block `height`, which `reader` shows.
 * `snapshot` is a database snapshot whose head record is `head`; it must stay open. A call takes
 * all changes since the stored state, and computes only the hashes that have changed since the
 * previous call. `onNode` gets the stored nodes that are read. For `hashSeed` see
 * {@link StateTrie}.
 */
export function openStateRoots(
  snapshot: DatabaseReader,
  reader: StateReader,
  head: StateHead,
  height: number,
  onNode?: (rlp: Uint8Array) => void,
  hashSeed = 0n,
): StateRoots {
  const nodes = height === head.height ? headNodes(snapshot) : formerNodes(snapshot, height)
  /**
   * by `bytesKey` of their keys: nodes that were read, and those of earlier calls, which are stored
   * nowhere; undefined: no such node
   */
  const present = new Map<string, Uint8Array | undefined>()
  const source: TrieSource = {
    get: (key) => {
      const name = bytesKey(key)
      if (present.has(name)) return present.get(name)
      const node = nodes.get(key)
      if (node !== undefined) onNode?.(node)
      present.set(name, node)
      return node
    },
  }
  const trie = new StateTrie(source, RESIDENT_BYTES, hashSeed)
  let known: ReadonlyMap<string, AccountChange> = new Map()
  return {
    after: async (changes, pause = async () => undefined) => {
      const all = byAddress(reader, changes)
      await pause()
      const delta = trieChanges(known, all)
      let root: Hash | undefined
      // Pieces may read nodes that the whole does not need, which `onNode` must not see.
      for (const piece of onNode === undefined ? inPieces(delta) : [delta]) {
        await pause()
        const commit = await nodes.compute(() => trie.compute(piece), piece, pause)
        commit.batch.forEach((key, node) => {
          present.set(bytesKey(key), node?.slice())
        })
        trie.adopt(commit, source)
        root = commit.root
      }
      known = all
      return root!
    },
  }
}

/** Of nodes in the module of tries, besides those in `present`. */
const RESIDENT_BYTES = 4 << 20

/** Accounts and slots between two pauses: some tens of milliseconds of work. */
const PIECE = 2_000

/** Yields the same changes, one piece after another; at least one piece. */
function* inPieces(changes: readonly TrieAccountChange[]): Iterable<readonly TrieAccountChange[]> {
  let piece: TrieAccountChange[] = []
  let size = 0
  for (const change of changes) {
    let { slots } = change
    let isWiped = change.isWiped ?? false
    // A deleted account is deleted with all of its storage.
    while (change.current !== undefined && size + slots.length > PIECE) {
      const room = Math.max(1, PIECE - size)
      piece.push({ ...change, isWiped, slots: slots.slice(0, room) })
      yield piece
      slots = slots.slice(room)
      isWiped = false
      piece = []
      size = 0
    }
    piece.push({ ...change, isWiped, slots })
    size += 1 + slots.length
    if (size < PIECE) continue
    yield piece
    piece = []
    size = 0
  }
  yield piece
}

/** Where the owner ends in the database key of a storage trie's node. */
const OWNER_END = 1 + storageTrie(new Uint8Array(20)).length

/** Returns the changed accounts, with native entries as slots of the reserved account. */
function byAddress(reader: StateReader, changes: StateChanges): Map<string, AccountChange> {
  return new Map(
    withNativeAccount(reader, changes).map((change) => [
      bytesKey(change.address),
      equalBytes(change.address, NATIVE_ACCOUNT) ? { ...change, slots: nativeSlots(changes) } : change,
    ]),
  )
}

/**
 * Returns the changes that turn the trie with the changes `before` into the trie with the changes
 * `after`.
 */
function trieChanges(
  before: ReadonlyMap<string, AccountChange>,
  after: ReadonlyMap<string, AccountChange>,
): readonly TrieAccountChange[] {
  const all: TrieAccountChange[] = []
  for (const [name, change] of after) {
    const known = before.get(name)
    const { address, current, wiped } = change
    if (wiped && known?.wiped !== true) {
      all.push({
        address,
        current,
        isWiped: true,
        slots: change.slots.map(({ slot, current: value }) => ({ slot, current: value })),
      })
      continue
    }
    const slots = slotDifferences(known?.slots ?? [], change)
    const was = known === undefined ? change.previous : known.current
    if (slots.length > 0 || !equalAccounts(was, current)) all.push({ address, current, slots })
  }
  for (const [name, { address, previous, slots }] of before) {
    // The account is as in the stored state, so there was no wipe.
    if (!after.has(name)) {
      all.push({
        address,
        current: previous,
        slots: slots.map(({ slot, previous: value }) => ({ slot, current: value })),
      })
    }
  }
  return all
}

function slotDifferences(
  known: readonly SlotChange[],
  { wiped, slots }: AccountChange,
): { readonly slot: Uint8Array; readonly current: Uint8Array }[] {
  const left = new Map(known.map((change) => [bytesKey(change.slot), change]))
  const differences: { readonly slot: Uint8Array; readonly current: Uint8Array }[] = []
  for (const { slot, previous, current } of slots) {
    const key = bytesKey(slot)
    const was = left.get(key)?.current ?? (wiped ? EMPTY_BYTES : previous)
    left.delete(key)
    if (!equalBytes(was, current)) differences.push({ slot, current })
  }
  // The others have their stored value again.
  for (const [key, { previous }] of left) {
    differences.push({ slot: keyBytes(key), current: wiped ? EMPTY_BYTES : previous })
  }
  return differences
}

/** The stored nodes of one height. */
interface StoredNodes extends TrieSource {
  /** Runs `compute`, which reads nodes; it may run several times, the last one to its end. */
  compute<T>(compute: () => T, changes: readonly TrieAccountChange[], pause: () => Promise<void>): Promise<T>
}

function headNodes(snapshot: DatabaseReader): StoredNodes {
  return { get: (key) => snapshot.get(key), compute: async (compute) => compute() }
}

/** Thrown when an old trie node must be read before the work can continue. */
class NodeNeeded extends Error {
  override readonly name = 'NodeNeeded'
  readonly key: Uint8Array

  constructor(key: Uint8Array) {
    super('an old trie node is needed')
    this.key = key
  }
}

/**
 * Reads old nodes, which is possible only asynchronously. Nodes on the paths to changed keys are
 * read beforehand; neighbours of deleted nodes are read when an update turns out to need them.
 */
function formerNodes(snapshot: DatabaseReader, height: number): StoredNodes {
  const read = new Map<string, Uint8Array | undefined>()
  const load = async (owner: Uint8Array, path: string, depth: number): Promise<Uint8Array | undefined> => {
    const name = bytesKey(trieNodeKey(owner, path, depth))
    if (!read.has(name)) read.set(name, await nodeAt(snapshot, owner, path, depth, height))
    return read.get(name)
  }
  return {
    get: (key) => {
      const name = bytesKey(key)
      if (!read.has(name)) throw new NodeNeeded(new Uint8Array(key))
      return read.get(name)
    },
    compute: async (compute, changes, pause) => {
      await loadPaths(load, changes, pause)
      for (;;) {
        try {
          return compute()
        } catch (error) {
          if (!(error instanceof NodeNeeded)) throw error
          const { key } = error
          const ownerEnd = key[1] === ACCOUNT_TRIE[0] ? 1 + ACCOUNT_TRIE.length : OWNER_END
          await pause()
          await load(key.subarray(1, ownerEnd), bytesKeyOf(key, ownerEnd + 1, key.length), key[ownerEnd]!)
        }
      }
    },
  }
}

async function loadPaths(
  load: NodeReader,
  changes: readonly TrieAccountChange[],
  pause: () => Promise<void>,
): Promise<void> {
  for (const { address, slots } of changes) {
    await pause()
    await prove(load, ACCOUNT_TRIE, bytesKey(keccak256(address)))
    for (const { slot } of slots) {
      await pause()
      await prove(load, storageTrie(address), bytesKey(keccak256(slot)))
    }
  }
}
