import { createMPT } from '@ethereumjs/mpt'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey, compareKeys, keyBytes } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import { trieHistoryKey } from '../../../src/state/history.ts'
import { buildTrie } from '../../../src/state/trieBuilder.ts'
import { TrieEngine } from '../../../src/state/trieEngine.ts'
import { ACCOUNT_TRIE, decodeNode, decodeNodeRecord, trieNodeKey } from '../../../src/state/trieNode.ts'
import { readKeyList } from '../../../src/state/varint.ts'
import { Column } from '../../../src/storage/columns.ts'
import { runs } from '../../propertyRuns.ts'
import { type KeyUpdates, updateKeys } from '../../support/state/trieLeaves.ts'

/** Keys that share long prefixes and fork at any depth, so that extensions and embedded nodes come up. */
const key = fc
  .tuple(fc.constantFrom(0, 1, 30, 31), fc.nat(3), fc.constantFrom(0x00, 0x01, 0x10, 0xff))
  .map(([at, more, value]) => {
    const bytes = new Uint8Array(32)
    bytes[at] = value
    bytes[31] = bytes[31]! | more
    return bytesKey(bytes)
  })
const value = fc.oneof(
  fc.constant(undefined),
  fc.uint8Array({ minLength: 1, maxLength: 3 }),
  fc.uint8Array({ minLength: 33, maxLength: 80 }),
)
const block = fc.dictionary(key, value, { maxKeys: 12 }).map((changes) => new Map(Object.entries(changes)))

const HEIGHT = 0x1_0203_0405
/** Fewer bytes than the nodes of most tries here have. */
const FEW_BYTES = 700

class StoredTrie {
  readonly nodes = new Map<string, Uint8Array>()
  /** how many nodes can be read until a read fails */
  reads = Number.POSITIVE_INFINITY
  readonly #seed: bigint
  #engine: TrieEngine

  constructor(seed = 0n) {
    this.#seed = seed
    this.#engine = new TrieEngine(FEW_BYTES, seed)
  }

  get(nodeKey: Uint8Array): Uint8Array | undefined {
    if (this.reads-- === 0) throw new Error('a read fails')
    return this.nodes.get(bytesKey(nodeKey))
  }

  compute(changes: ReadonlyMap<string, Uint8Array | undefined>): KeyUpdates {
    return updateKeys(
      this.#engine,
      this,
      [...changes].map(([key, value]) => ({ key, value })),
      HEIGHT,
    )
  }

  adopt(result: KeyUpdates): void {
    const history = new Map<string, Uint8Array>()
    const former = new Map(this.nodes)
    result.batch.forEach((key, value) => {
      if (key[0] === Column.trieHistory) history.set(bytesKey(key), value!.slice())
      else if (value === undefined) expect(this.nodes.delete(bytesKey(key))).toBe(true)
      else this.nodes.set(bytesKey(key), value.slice())
    })
    // The history has what each changed node was before, and nothing else.
    const names = readKeyList(result.names)
    expect(history.size).toBe(names.length)
    for (const name of names) {
      const record = decodeNodeRecord(history.get(bytesKey(trieHistoryKey(name, HEIGHT)))!)
      const rlp = former.get(bytesKey(name))
      if (record === undefined || 'rlp' in record) {
        expect(record?.rlp).toEqual(rlp)
      } else {
        expect(record.hash).toEqual(keccak256(rlp!))
        const node = decodeNode(rlp!, '', 0)
        if (node.kind !== 'branch') throw new Error('the record is of a branch')
        expect(node.children.map((child) => child !== undefined)).toEqual(
          node.children.map((_, nibble) => (record.mask & (1 << nibble)) !== 0),
        )
      }
    }
    this.#engine.adopt(result.log)
  }

  /** Forgets all nodes in memory. */
  reopen(): void {
    this.#engine = new TrieEngine(FEW_BYTES, this.#seed)
  }
}

/** All nodes of a trie that is built at once. */
function builtNodes(content: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  const nodes = new Map<string, Uint8Array>()
  const leaves = [...content].map(([key, value]) => ({ key, value: bytesKey(value) }))
  leaves.sort((a, b) => compareKeys(a.key, b.key))
  buildTrie(leaves, (path, depth, rlp) => nodes.set(bytesKey(trieNodeKey(ACCOUNT_TRIE, path, depth)), rlp.slice()))
  return nodes
}

async function expectedRoot(content: ReadonlyMap<string, Uint8Array>): Promise<Uint8Array> {
  const trie = await createMPT()
  for (const [name, bytes] of content) await trie.put(keyBytes(name), bytes)
  return trie.root()
}

function applied(
  content: ReadonlyMap<string, Uint8Array>,
  changes: ReadonlyMap<string, Uint8Array | undefined>,
): Map<string, Uint8Array> {
  const next = new Map(content)
  for (const [name, bytes] of changes) {
    if (bytes === undefined) next.delete(name)
    else next.set(name, bytes)
  }
  return next
}

describe('an update of a trie', () => {
  it('has the roots of @ethereumjs/mpt over many blocks, with nodes in memory or loaded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(block, block, fc.boolean()), { maxLength: 8 }), async (blocks) => {
        const trie = new StoredTrie()
        let content = new Map<string, Uint8Array>()
        for (const [changes, dropped, reopen] of blocks) {
          if (reopen) trie.reopen()
          // Another update of the same trie, before and after, leaves no trace.
          const first = trie.compute(dropped)
          const result = trie.compute(changes)
          expect(trie.compute(dropped).rootHash).toEqual(first.rootHash)
          expect(first.rootHash).toEqual(await expectedRoot(applied(content, dropped)))
          content = applied(content, changes)
          expect(result.rootHash).toEqual(await expectedRoot(content))
          trie.adopt(result)
        }
        // The stored nodes are those of a trie built at once, none more and none less.
        expect(new Map([...trie.nodes].sort())).toEqual(new Map([...builtNodes(content)].sort()))
      }),
      { numRuns: runs(60) },
    )
  })

  it('leaves nothing behind when a read fails in the middle, in its own trie and in another one of the same thread', () => {
    const step = fc.record({ trie: fc.nat(1), changes: block, failing: block, reads: fc.nat(6), reopen: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const tries = [0n, 77n].map((seed) => ({ trie: new StoredTrie(seed), content: new Map<string, Uint8Array>() }))
        for (const { trie: index, changes, failing, reads, reopen } of steps) {
          const { trie, content } = tries[index]!
          if (reopen) trie.reopen()
          trie.reads = reads
          try {
            trie.compute(failing)
          } catch (error) {
            expect(error).toHaveProperty('message', 'a read fails')
          }
          trie.reads = Number.POSITIVE_INFINITY
          trie.adopt(trie.compute(changes))
          tries[index]!.content = applied(content, changes)
        }
        for (const { trie, content } of tries) {
          expect(new Map([...trie.nodes].sort())).toEqual(new Map([...builtNodes(content)].sort()))
        }
      }),
      { numRuns: runs(60) },
    )
  })

  it.each([2 ** 32, Number.POSITIVE_INFINITY])(
    'needs nothing stored where all nodes may stay in memory (%d bytes)',
    async (limit) => {
      const engine = new TrieEngine(limit, 0n)
      const none = { get: () => undefined }
      const content = new Map([7, 8, 9].map((byte) => [bytesKey(new Uint8Array(32).fill(byte)), Uint8Array.of(byte)]))
      engine.adopt(
        updateKeys(
          engine,
          none,
          [...content].map(([key, value]) => ({ key, value })),
        ).log,
      )
      const [first] = content.keys()
      content.set(first!, Uint8Array.of(1))
      const { rootHash } = updateKeys(engine, none, [{ key: first!, value: Uint8Array.of(1) }])
      expect(rootHash).toEqual(await expectedRoot(content))
    },
  )

  it('writes nothing when nothing changes', () => {
    const trie = new StoredTrie()
    const name = bytesKey(new Uint8Array(32).fill(7))
    const other = bytesKey(new Uint8Array(32).fill(0x70))
    const content = new Map([
      [name, Uint8Array.of(1)],
      [bytesKey(new Uint8Array(32).fill(8)), Uint8Array.of(2)],
    ])
    trie.adopt(trie.compute(content))
    trie.reopen()
    expect(trie.compute(new Map([...content, [other, undefined]])).batch.length).toBe(0)
  })

  it('says that a node is missing', () => {
    const trie = new StoredTrie()
    const content = [7, 8, 9].map((byte) => [bytesKey(new Uint8Array(32).fill(byte)), Uint8Array.of(byte)] as const)
    trie.adopt(trie.compute(new Map(content)))
    trie.reopen()
    for (const nodeKey of [...trie.nodes.keys()]) if (nodeKey.length > 3) trie.nodes.delete(nodeKey)
    expect(() => trie.compute(new Map([[content[0]![0], Uint8Array.of(9)]]))).toThrow('missing')
  })

  it('takes values of any size, and more nodes than its log has room for', async () => {
    const trie = new StoredTrie()
    const keys = Array.from({ length: 1_000 }, (_, i) => bytesKey(keccak256(Uint8Array.of(i >> 8, i))))
    const long = new Uint8Array(300_000).fill(7)
    const content = new Map(keys.map((key, i) => [key, i === 500 ? long : new Uint8Array(1 + (i % 300)).fill(i)]))
    const result = trie.compute(content)
    expect(result.rootHash).toEqual(await expectedRoot(content))
    trie.adopt(result)
    expect(new Map([...trie.nodes].sort())).toEqual(new Map([...builtNodes(content)].sort()))
    const emptied = trie.compute(new Map(keys.map((key) => [key, undefined])))
    expect(emptied.rootHash).toEqual(await expectedRoot(new Map()))
    trie.adopt(emptied)
    expect(trie.nodes.size).toBe(0)
  })

  it('refuses an update of a key that is not as it was expected to be', () => {
    const trie = new StoredTrie()
    const keys = [1, 2, 3].map((byte) => bytesKey(new Uint8Array(32).fill(byte)))
    trie.adopt(trie.compute(new Map([[keys[0]!, Uint8Array.of(1)]])))
    const engine = new TrieEngine(0, 0n)
    const value = Uint8Array.of(9)
    const expecting = (key: string | undefined, isThere: boolean) => () =>
      updateKeys(engine, trie, [
        { key: keys[2]!, value },
        { key: key!, value, isThere },
      ])
    expect(expecting(keys[0], true)).not.toThrow()
    expect(expecting(keys[1], false)).not.toThrow()
    expect(expecting(keys[0], false)).toThrow('failure 1 of update 0')
    expect(expecting(keys[1], true)).toThrow('failure 1 of update 0')
  })
})
