import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKeyOf, compareKeys } from '../../../src/primitives/bytes.ts'
import { loadPaths } from '../../../src/state/loadPaths.ts'
import { ACCOUNT_TRIE } from '../../../src/state/trieNode.ts'
import { loadRoot, type TrieUpdate, updateTrie } from '../../../src/state/trieUpdate.ts'
import type { Filled } from '../../../src/storage/batch.ts'
import { runs } from '../../propertyRuns.ts'
import { hashedLeaves, StoredNodes, trieKey } from './trieLeaves.ts'

/** What an update does: its root, what it stores, and which nodes it reads one by one. */
function update(stored: StoredNodes, root: ReturnType<typeof loadRoot>, updates: readonly TrieUpdate[]) {
  const writes: string[] = []
  const reads: string[] = []
  const source = {
    get: (key: Uint8Array) => {
      reads.push(bytesKeyOf(key, 0, key.length))
      return stored.get(key)
    },
  }
  const write = (key: Filled, _: unknown, rlp: Filled | undefined) =>
    writes.push(`${bytesKeyOf(key.bytes, 0, key.length)} ${rlp && bytesKeyOf(rlp.bytes, 0, rlp.length)}`)
  const { rootHash } = updateTrie(ACCOUNT_TRIE, root, updates, source, { write }, 2)
  return { rootHash, writes, reads }
}

const rootOf = (stored: StoredNodes) => loadRoot(ACCOUNT_TRIE, stored, 1)!
const bulkOf = (stored: StoredNodes, asked: number[] = []) => ({
  getMany: async (keys: readonly Uint8Array[]) => {
    asked.push(keys.length)
    return keys.map((key) => stored.get(key))
  },
})

describe('loadPaths', () => {
  it('loads what an update of many keys reads, in a few reads', async () => {
    const stored = new StoredNodes(hashedLeaves(3_000))
    const keys = [...hashedLeaves(400), ...hashedLeaves(100, 7)].map(({ key }) => key).sort(compareKeys)
    const updates = keys.map((key, index) => ({ key, next: () => (index % 3 === 0 ? undefined : `value ${index}`) }))
    const expected = update(stored, rootOf(stored), updates)
    const root = rootOf(stored)
    const asked: number[] = []
    const loaded = await loadPaths([{ owner: ACCOUNT_TRIE, root, updates }], bulkOf(stored, asked), 2)
    const { reads, ...result } = update(stored, root, updates)
    expect(result).toEqual({ rootHash: expected.rootHash, writes: expected.writes })
    expect(loaded).toBe(asked.reduce((sum, count) => sum + count, 0))
    expect(loaded + reads.length).toBe(expected.reads.length)
    // What is left are children of branches that the update leaves with one, and the deepest nodes.
    expect(reads.length).toBeLessThan(expected.reads.length / 10)
    expect(asked.length).toBeLessThan(20)
  })

  it('attaches each node once when two load the same', async () => {
    const stored = new StoredNodes(hashedLeaves(500))
    const updates = hashedLeaves(300).map(({ key }) => ({ key, next: () => 'another' }))
    const root = rootOf(stored)
    const tries = [{ owner: ACCOUNT_TRIE, root, updates }]
    const bulk = bulkOf(stored)
    const [first, second] = await Promise.all([loadPaths(tries, bulk, 2), loadPaths(tries, bulk, 2)])
    const alone = await loadPaths([{ owner: ACCOUNT_TRIE, root: rootOf(stored), updates }], bulk, 2)
    expect(first + second).toBe(alone)
    expect(update(stored, root, updates).rootHash).toEqual(update(stored, rootOf(stored), updates).rootHash)
  })

  it('changes nothing of an update of any keys, with extensions and embedded nodes', async () => {
    const value = fc.oneof(fc.constant(undefined), fc.string({ minLength: 1, maxLength: 40 }))
    const leaves = fc.uniqueArray(fc.tuple(trieKey, fc.string({ minLength: 1, maxLength: 3 })), {
      minLength: 1,
      maxLength: 150,
      selector: ([key]) => key,
    })
    const changes = fc.uniqueArray(fc.tuple(trieKey, value), {
      minLength: 32,
      maxLength: 100,
      selector: ([key]) => key,
    })
    await fc.assert(
      fc.asyncProperty(leaves, changes, async (present, changed) => {
        const sorted = present.map(([key, value]) => ({ key, value })).sort((a, b) => compareKeys(a.key, b.key))
        const stored = new StoredNodes(sorted)
        const updates = changed
          .map(([key, next]) => ({ key, next: () => next }))
          .sort((a, b) => compareKeys(a.key, b.key))
        const expected = update(stored, rootOf(stored), updates)
        const root = rootOf(stored)
        await loadPaths([{ owner: ACCOUNT_TRIE, root, updates }], bulkOf(stored), 2)
        const { rootHash, writes } = update(stored, root, updates)
        expect({ rootHash, writes }).toEqual({ rootHash: expected.rootHash, writes: expected.writes })
      }),
      { numRuns: runs(100) },
    )
  })
})
