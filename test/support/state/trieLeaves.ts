import fc from 'fast-check'
import {
  UPDATE_BYTES,
  UPDATE_EXPECTED,
  UPDATE_FLAGS,
  UPDATE_INDEX,
  UPDATE_IS_CHECKED,
  UPDATE_LENGTH,
  UPDATE_VALUE,
} from '../../../assembly/trie/trieLayout.ts'
import { bytesKey, compareKeys, keyBytes } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import type { TrieLeaf } from '../../../src/state/trieBuilder.ts'
import { type PackedOperations, TrieEngine, type UpdateList } from '../../../src/state/trieEngine.ts'
import { ACCOUNT_TRIE, type TrieSource } from '../../../src/state/trieNode.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'

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

/** A changed key of a trie, as `bytesKey`; no value: it is unset. */
export interface KeyUpdate {
  readonly key: string
  readonly value?: Uint8Array | undefined
  /** whether the key has a value now; undefined: that is not checked */
  readonly isThere?: boolean
}

/** Updates of the keys themselves: the state's are of their hashes. */
export function packUpdates(changes: readonly KeyUpdate[]): UpdateList {
  const updates = changes.toSorted((a, b) => compareKeys(a.key, b.key))
  const start = updates.length * UPDATE_BYTES
  const bytes = new Uint8Array(updates.reduce((sum, { value }) => sum + (value?.length ?? 0), start))
  const view = new DataView(bytes.buffer)
  let at = start
  for (const [index, { key, value, isThere }] of updates.entries()) {
    const update = index * UPDATE_BYTES
    const flags = isThere === undefined ? 0 : UPDATE_IS_CHECKED | (isThere ? UPDATE_EXPECTED : 0)
    bytes.set(keyBytes(key), update)
    view.setUint32(update + UPDATE_VALUE, at, true)
    view.setUint32(update + UPDATE_LENGTH, value?.length ?? 0, true)
    view.setUint32(update + UPDATE_FLAGS, flags, true)
    view.setUint32(update + UPDATE_INDEX, index, true)
    if (value !== undefined) bytes.set(value, at)
    at += value?.length ?? 0
  }
  return { bytes, count: updates.length }
}

/** What an update of the account trie does: its root, and what it writes. */
export interface KeyUpdates {
  readonly rootHash: Uint8Array
  readonly log: readonly PackedOperations[]
  readonly batch: WriteBatch
  /** `KeyList` of the changed nodes */
  readonly names: Uint8Array
}

export function updateKeys(
  engine: TrieEngine,
  source: TrieSource,
  changes: readonly KeyUpdate[],
  height?: number,
): KeyUpdates {
  const log: PackedOperations[] = []
  let rootHash: Uint8Array = new Uint8Array(0)
  const failure = (kind: number, index: number) => new Error(`failure ${kind} of update ${index}`)
  const names = engine.log(height, source, log, () => {
    rootHash = engine.update(ACCOUNT_TRIE, packUpdates(changes), false, { source, log, failure })
  })
  const batch = new WriteBatch()
  for (const { bytes, operations } of log) batch.addPacked(bytes, operations)
  return { rootHash, log, batch, names }
}

/** The nodes that an update stores of a trie with these leaves. */
export class StoredNodes {
  readonly nodes = new Map<string, Uint8Array>()
  readonly root: Uint8Array

  constructor(leaves: readonly TrieLeaf[]) {
    const changes = leaves.map(({ key, value }) => ({ key, value: keyBytes(value) }))
    const { rootHash, batch } = updateKeys(new TrieEngine(1 << 20, 0n), this, changes)
    batch.forEach((key, rlp) => {
      if (rlp !== undefined) this.nodes.set(bytesKey(key), rlp.slice())
    })
    this.root = rootHash
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
