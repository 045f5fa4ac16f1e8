import fc from 'fast-check'
import { bytesKey, bytesKeyOf, compareKeys, keyBytes } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import type { TrieLeaf } from '../../../src/state/trieBuilder.ts'
import { ACCOUNT_TRIE } from '../../../src/state/trieNode.ts'
import { updateTrie } from '../../../src/state/trieUpdate.ts'
import type { Filled } from '../../../src/storage/batch.ts'

/** Keys that share long prefixes and fork at any depth, so that there are extensions and embedded nodes, and keys as of hashes. */
export const trieKey = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(0, 1, 16, 30, 31),
      fc.nat(3),
      fc.constantFrom(0x00, 0x01, 0x10, 0xff),
      fc.constantFrom(0, 255),
    )
    .map(([at, more, value, rest]) => {
      const bytes = new Uint8Array(32).fill(rest)
      bytes[at] = value
      bytes[31] = bytes[31]! ^ more
      return bytesKey(bytes)
    }),
  fc.nat(50).map((seed) => bytesKey(keccak256(Uint8Array.of(seed)))),
)

const trieValue = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 3 }),
  fc.uint8Array({ minLength: 33, maxLength: 80 }),
  fc.constant(new Uint8Array(300).fill(9)),
)

/** Leaves of a trie, ascending. */
export const trieLeaves = fc
  .dictionary(trieKey, trieValue, { maxKeys: 25, noNullPrototype: true })
  .map((content) => sortLeaves(Object.entries(content).map(([key, value]) => ({ key, value: bytesKey(value) }))))

export function sortLeaves(leaves: readonly TrieLeaf[]): TrieLeaf[] {
  return leaves.toSorted((a, b) => compareKeys(a.key, b.key))
}

/** Leaves with hashes as keys. */
export function hashedLeaves(count: number, seed = 0): TrieLeaf[] {
  return sortLeaves(
    Array.from({ length: count }, (_, i) => {
      const bytes = Uint8Array.of(seed, i >> 8, i)
      return { key: bytesKey(keccak256(bytes)), value: bytesKey(bytes) }
    }),
  )
}

/** The nodes that `updateTrie` stores of a trie with these leaves. */
export class StoredNodes {
  readonly nodes = new Map<string, Uint8Array>()
  readonly root: Uint8Array

  constructor(leaves: readonly TrieLeaf[]) {
    const updates = leaves.map(({ key, value }) => ({ key, next: () => value }))
    const write = (key: Filled, _: unknown, rlp: Filled | undefined) => {
      if (rlp !== undefined) this.nodes.set(bytesKeyOf(key.bytes, 0, key.length), rlp.bytes.slice(0, rlp.length))
    }
    this.root = updateTrie(ACCOUNT_TRIE, undefined, updates, this, { write }, 1).rootHash
  }

  get(nodeKey: Uint8Array): Uint8Array | undefined {
    return this.nodes.get(bytesKey(nodeKey))
  }
}

/** The key before or after another one. */
export function neighbour(key: string, step: 1 | -1): Uint8Array {
  const bytes = keyBytes(key)
  for (let i = 31; i >= 0; i--) {
    bytes[i] = bytes[i]! + step
    if (bytes[i] !== (step === 1 ? 0 : 255)) break
  }
  return bytes
}
