import { createMPT } from '@ethereumjs/mpt'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey, bytesKeyOf, compareKeys, keyBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNT_TRIE, type TrieNode } from '../../../src/state/trieNode.ts'
import { loadRoot, type TrieResult, type TrieSink, updateTrie } from '../../../src/state/trieUpdate.ts'
import { runs } from '../../propertyRuns.ts'

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

interface Update extends TrieResult {
  readonly writes: readonly {
    readonly nodeKey: string
    readonly stands: boolean
    readonly rlp: Uint8Array | undefined
  }[]
}

class StoredTrie {
  readonly nodes = new Map<string, Uint8Array>()
  root: TrieNode | undefined
  generation = 0

  get(nodeKey: Uint8Array): Uint8Array | undefined {
    return this.nodes.get(bytesKey(nodeKey))
  }

  compute(changes: ReadonlyMap<string, Uint8Array | undefined>): Update {
    const updates = [...changes]
      .sort((a, b) => compareKeys(a[0], b[0]))
      .map(([name, next]) => ({ key: name, next: () => next && bytesKey(next) }))
    const writes: { nodeKey: string; stands: boolean; rlp: Uint8Array | undefined }[] = []
    const sink: TrieSink = {
      write: ({ bytes, length }, previous, rlp) =>
        writes.push({
          nodeKey: bytesKeyOf(bytes, 0, length),
          stands: previous !== undefined,
          rlp: rlp?.bytes.slice(0, rlp.length),
        }),
    }
    return { ...updateTrie(ACCOUNT_TRIE, this.root, updates, this, sink, ++this.generation), writes }
  }

  adopt(result: Update): void {
    this.root = result.root
    for (const { nodeKey, stands, rlp } of result.writes) {
      expect(this.nodes.has(nodeKey)).toBe(stands)
      if (rlp === undefined) this.nodes.delete(nodeKey)
      else this.nodes.set(nodeKey, rlp)
    }
  }

  /** Forgets all nodes in memory. */
  reopen(): void {
    this.root = loadRoot(ACCOUNT_TRIE, this, this.generation)
  }
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

describe('updateTrie', () => {
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
        const fresh = new StoredTrie()
        fresh.adopt(fresh.compute(content))
        expect(new Map([...trie.nodes].sort())).toEqual(new Map([...fresh.nodes].sort()))
      }),
      { numRuns: runs(60) },
    )
  })

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
    expect(trie.compute(new Map([...content, [other, undefined]])).writes).toEqual([])
  })

  it('says that a node is missing', () => {
    const trie = new StoredTrie()
    const content = [7, 8, 9].map((byte) => [bytesKey(new Uint8Array(32).fill(byte)), Uint8Array.of(byte)] as const)
    trie.adopt(trie.compute(new Map(content)))
    trie.reopen()
    for (const [nodeKey, rlp] of trie.nodes) if (rlp.length < 100) trie.nodes.delete(nodeKey)
    expect(() => trie.compute(new Map([[content[0]![0], Uint8Array.of(9)]]))).toThrow('missing')
  })
})
