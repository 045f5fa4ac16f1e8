import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey } from '../../../src/primitives/bytes.ts'
import { loadPaths } from '../../../src/state/loadPaths.ts'
import { TrieEngine } from '../../../src/state/trieEngine.ts'
import { ACCOUNT_TRIE } from '../../../src/state/trieNode.ts'
import { runs } from '../../propertyRuns.ts'
import {
  hashedLeaves,
  type KeyUpdate,
  packUpdates,
  StoredNodes,
  sortLeaves,
  trieKey,
  updateKeys,
} from '../../support/state/trieLeaves.ts'

/** What an update does: its root, what it writes, and which nodes it reads one by one. */
function update(stored: StoredNodes, engine: TrieEngine, changes: readonly KeyUpdate[]) {
  const reads: string[] = []
  const source = {
    get: (key: Uint8Array) => {
      reads.push(bytesKey(key))
      return stored.get(key)
    },
  }
  const { rootHash, batch } = updateKeys(engine, source, changes, 1)
  const writes: string[] = []
  batch.forEach((key, value) => {
    writes.push(`${bytesKey(key)} ${value && bytesKey(value)}`)
  })
  return { rootHash, writes, reads }
}

const createEngine = () => new TrieEngine(1 << 20, 0n)
const bulkOf = (stored: StoredNodes, asked: number[] = []) => ({
  getMany: async (keys: readonly Uint8Array[]) => {
    asked.push(keys.length)
    return keys.map((key) => stored.get(key))
  },
})
const load = (
  stored: StoredNodes,
  engine: TrieEngine,
  changes: readonly KeyUpdate[],
  asked: number[] = [],
  isCurrent = () => true,
) => loadPaths([{ owner: ACCOUNT_TRIE, updates: packUpdates(changes) }], bulkOf(stored, asked), engine, isCurrent)

describe('loadPaths', () => {
  const stored = new StoredNodes(hashedLeaves(3_000))
  const changes = [...hashedLeaves(400), ...hashedLeaves(100, 7)].map(({ key }, index) => ({
    key,
    value: index % 3 === 0 ? undefined : Uint8Array.of(1, index),
  }))

  it('loads what an update of many keys reads, in a few reads', async () => {
    const expected = update(stored, createEngine(), changes)
    const engine = createEngine()
    const asked: number[] = []
    await load(stored, engine, changes, asked)
    const { reads, ...result } = update(stored, engine, changes)
    expect(result).toEqual({ rootHash: expected.rootHash, writes: expected.writes })
    expect(asked.reduce((sum, count) => sum + count, 0) + reads.length).toBe(expected.reads.length)
    // What is left are children of branches that the update leaves with one, and the deepest nodes.
    expect(reads.length).toBeLessThan(expected.reads.length / 5)
    expect(asked.length).toBeLessThan(20)
  })

  it('loads parts of a trie side by side, of which nothing is in memory', async () => {
    let reading = 0
    let most = 0
    const bulk = {
      getMany: async (keys: readonly Uint8Array[]) => {
        most = Math.max(most, ++reading)
        await new Promise((resolve) => setImmediate(resolve))
        reading--
        return keys.map((key) => stored.get(key))
      },
    }
    await loadPaths([{ owner: ACCOUNT_TRIE, updates: packUpdates(changes) }], bulk, createEngine(), () => true)
    expect(most).toBe(3)
  })

  it('keeps nothing that was read of a head that is none any more', async () => {
    const engine = createEngine()
    await load(stored, engine, changes, [], () => false)
    expect(update(stored, engine, changes).reads).toEqual(update(stored, createEngine(), changes).reads)
  })

  it('keeps each node once when two load the same, and leaves it to the update that a node is missing', async () => {
    const engine = createEngine()
    await Promise.all([load(stored, engine, changes), load(stored, engine, changes)])
    expect(update(stored, engine, changes).rootHash).toEqual(update(stored, createEngine(), changes).rootHash)
    const damaged = new StoredNodes(hashedLeaves(3_000))
    for (const [name, rlp] of damaged.nodes) if (rlp.length < 100) damaged.nodes.delete(name)
    const other = createEngine()
    await load(damaged, other, changes)
    expect(() => update(damaged, other, changes)).toThrow('missing')
  })

  it('changes nothing of an update of any keys, with extensions and embedded nodes', async () => {
    const value = fc.oneof(fc.constant(undefined), fc.uint8Array({ minLength: 1, maxLength: 40 }))
    const leaves = fc.uniqueArray(fc.tuple(trieKey, fc.string({ minLength: 1, maxLength: 3 })), {
      minLength: 1,
      maxLength: 150,
      selector: ([key]) => key,
    })
    const someChanges = fc.uniqueArray(fc.tuple(trieKey, value), {
      minLength: 32,
      maxLength: 100,
      selector: ([key]) => key,
    })
    await fc.assert(
      fc.asyncProperty(leaves, someChanges, async (present, changed) => {
        const nodes = new StoredNodes(sortLeaves(present.map(([key, text]) => ({ key, value: text }))))
        const updates = changed.map(([key, next]) => ({ key, value: next }))
        const expected = update(nodes, createEngine(), updates)
        const engine = createEngine()
        await load(nodes, engine, updates)
        const { rootHash, writes } = update(nodes, engine, updates)
        expect({ rootHash, writes }).toEqual({ rootHash: expected.rootHash, writes: expected.writes })
      }),
      { numRuns: runs(100) },
    )
  })
})
