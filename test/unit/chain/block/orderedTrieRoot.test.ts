import { MerklePatriciaTrie } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orderedTrieRoot } from '../../../../src/chain/block/orderedTrieRoot.ts'
import { bytesToHex, EMPTY_BYTES } from '../../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT } from '../../../../src/primitives/hash.ts'
import { runs } from '../../../propertyRuns.ts'

async function expectedRoot(values: readonly Uint8Array[]): Promise<string> {
  const trie = new MerklePatriciaTrie()
  for (const [index, value] of values.entries()) {
    await trie.put(index === 0 ? RLP.encode(EMPTY_BYTES) : RLP.encode(index), value)
  }
  return bytesToHex(trie.root())
}

describe('orderedTrieRoot', () => {
  it('is the empty root for nothing', () => {
    expect(orderedTrieRoot([])).toEqual(EMPTY_TRIE_ROOT)
  })

  it.each([1, 2, 16, 17, 127, 128, 129, 255, 256, 257, 700])(
    'agrees with @ethereumjs/mpt for %d values',
    async (count) => {
      const values = Array.from({ length: count }, (_, index) =>
        new Uint8Array((index * 37) % 120 || 1).fill(index + 1),
      )
      expect(bytesToHex(orderedTrieRoot(values))).toBe(await expectedRoot(values))
    },
  )

  it('agrees for values of any length, short ones embedded in their parents', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 150 }), async (values) => {
        expect(bytesToHex(orderedTrieRoot(values))).toBe(await expectedRoot(values))
      }),
      { numRuns: runs(40) },
    )
  })
})
