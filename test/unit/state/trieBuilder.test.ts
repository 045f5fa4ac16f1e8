import { createMPT } from '@ethereumjs/mpt'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey, keyBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT } from '../../../src/primitives/hash.ts'
import { buildTrie } from '../../../src/state/trieBuilder.ts'
import { ACCOUNT_TRIE, trieNodeKey } from '../../../src/state/trieNode.ts'
import { runs } from '../../propertyRuns.ts'
import { hashedLeaves, StoredNodes, trieLeaves } from '../../support/state/trieLeaves.ts'

describe('buildTrie', () => {
  it('gives the root of @ethereumjs/mpt and the nodes that an update stores, each once', async () => {
    await fc.assert(
      fc.asyncProperty(trieLeaves, async (leaves) => {
        const reference = await createMPT()
        for (const { key, value } of leaves) await reference.put(keyBytes(key), keyBytes(value))
        const nodes = new Map<string, Uint8Array>()
        const root = buildTrie(leaves, (path, depth, rlp) => {
          const name = bytesKey(trieNodeKey(ACCOUNT_TRIE, path, depth))
          expect(nodes.has(name)).toBe(false)
          nodes.set(name, rlp.slice())
        })
        expect(root).toEqual(reference.root())
        const stored = new StoredNodes(leaves)
        expect(root).toEqual(stored.root)
        expect(nodes).toEqual(stored.nodes)
      }),
      { numRuns: runs(40) },
    )
  })

  it('takes leaves as they come and needs none', () => {
    const leaves = hashedLeaves(2000)
    function* stream() {
      yield* leaves
    }
    expect(buildTrie(stream())).toEqual(new StoredNodes(leaves).root)
    expect(buildTrie([])).toEqual(EMPTY_TRIE_ROOT)
  })

  it('refuses leaves that are not ascending', () => {
    const [a, b, c] = hashedLeaves(3)
    for (const leaves of [
      [a!, c!, b!],
      [a!, b!, b!],
    ]) {
      expect(() => buildTrie(leaves)).toThrow('not ascending')
    }
  })
})
