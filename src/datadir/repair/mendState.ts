import type { Address } from '../../primitives/address.ts'
import { bytesKey, compareBytes, EMPTY_BYTES, keyBytes } from '../../primitives/bytes.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import { decodeRLP } from '../../primitives/rlp.ts'
import { encodeAccount } from '../../state/flatState.ts'
import type { StateColumns } from '../../state/olderState.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../../state/prepareChanges.ts'
import { proveRange, RangeProofError, verifyPath } from '../../state/rangeProof.ts'
import { decodeAccountLeaf } from '../../state/trie.ts'
import { ACCOUNT_TRIE, storageTrie } from '../../state/trieNode.ts'
import { Column } from '../../storage/columns.ts'
import { DatabaseError, type DatabaseReader } from '../../storage/database.ts'

/** Values that replace damaged entries, by key; undefined where there must be no entry. */
export type Mended = ReadonlyMap<string, Uint8Array | undefined>

/**
 * Returns the value of an account, a slot or a native entry as the state's trie has it, proved
 * against the state root; no bytes where the trie proves that it has no such entry.
 * @param key of a flat entry, with its column
 * @returns undefined when it cannot be proved: nodes on the way are damaged too
 */
export function valueInTrie(db: StateColumns, stateRoot: Hash, key: Uint8Array): Uint8Array | undefined {
  const rest = key.subarray(1)
  try {
    switch (key[0]) {
      case Column.account: {
        const leaf = leafOf(db, ACCOUNT_TRIE, stateRoot, keccak256(rest))
        return leaf === undefined ? EMPTY_BYTES : encodeAccount(decodeAccountLeaf(leaf).account)
      }
      case Column.slot:
        return storedIn(db, stateRoot, rest.slice(0, 20), rest.slice(20))
      case Column.native:
        return storedIn(db, stateRoot, NATIVE_ACCOUNT, nativeSlot(rest))
      default:
        return undefined
    }
  } catch (error) {
    const isDamage = error instanceof DatabaseError && error.code === 'corrupt'
    if (isDamage || error instanceof RangeProofError) return undefined
    throw error
  }
}

function storedIn(db: StateColumns, stateRoot: Hash, address: Address, slot: Uint8Array): Uint8Array {
  const account = leafOf(db, ACCOUNT_TRIE, stateRoot, keccak256(address))
  if (account === undefined) return EMPTY_BYTES
  const leaf = leafOf(db, storageTrie(address), decodeAccountLeaf(account).storageRoot, keccak256(slot))
  return leaf === undefined ? EMPTY_BYTES : (decodeRLP(leaf) as Uint8Array)
}

function leafOf(db: StateColumns, owner: Uint8Array, root: Hash, path: Hash): Uint8Array | undefined {
  const leaf = verifyPath(root, path, proveRange(db, owner, path, path))
  return leaf === undefined ? undefined : keyBytes(leaf)
}

/**
 * Returns the database with other values, or no values, instead of damaged ones, which are never
 * read. Its ranges are read upwards, without limit.
 */
export function mendedReader(db: DatabaseReader, mended: Mended): DatabaseReader {
  const names = [...mended.keys()].map(keyBytes).sort(compareBytes)
  return {
    location: db.location,
    onDamage: db.onDamage,
    get: (key) => {
      const name = bytesKey(key)
      return mended.has(name) ? mended.get(name) : db.get(key)
    },
    entries: async function* ({ start, end }) {
      let from = start
      for (const key of names) {
        if (compareBytes(key, start) < 0 || (end !== undefined && compareBytes(key, end) >= 0)) continue
        yield* db.entries({ start: from, end: key })
        const value = mended.get(bytesKey(key))
        if (value !== undefined) yield [key, value]
        from = Uint8Array.of(...key, 0)
      }
      yield* db.entries({ start: from, end })
    },
  }
}
