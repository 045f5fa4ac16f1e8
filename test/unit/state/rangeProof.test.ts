import { createMerkleProof, createMPT, verifyMerkleRangeProof } from '@ethereumjs/mpt'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesKey, keyBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, keccak256 } from '../../../src/primitives/hash.ts'
import { encodeRLP } from '../../../src/primitives/rlp.ts'
import { proveRange, type RangeClaim, RangeProofError, verifyPath, verifyRange } from '../../../src/state/rangeProof.ts'
import type { TrieLeaf } from '../../../src/state/trieBuilder.ts'
import { ACCOUNT_TRIE, trieNodeKey } from '../../../src/state/trieNode.ts'
import { runs } from '../../propertyRuns.ts'
import {
  hashedLeaves,
  neighbour,
  StoredNodes,
  sortLeaves,
  trieKey,
  trieLeaves,
} from '../../support/state/trieLeaves.ts'

const LOWEST = '\0'.repeat(32)
const HIGHEST = '\xff'.repeat(32)

function claimOf(leaves: readonly TrieLeaf[], stored: StoredNodes, first: string, last: string): RangeClaim {
  return {
    root: stored.root,
    first: keyBytes(first),
    last: keyBytes(last),
    leaves: leaves.filter(({ key }) => key >= first && key <= last),
    proof: proveRange(stored, ACCOUNT_TRIE, keyBytes(first), keyBytes(last)),
  }
}

/** Bounds that are keys of the trie, next to them, or anywhere. */
const cut = fc.tuple(fc.nat(), fc.constantFrom('before', 'at', 'after', 'else'), trieKey)

function cutAt(leaves: readonly TrieLeaf[], [index, kind, other]: [number, string, string]): string {
  const leaf = leaves[index % leaves.length]
  if (leaf === undefined || kind === 'else') return other
  return kind === 'at' ? leaf.key : bytesKey(neighbour(leaf.key, kind === 'after' ? 1 : -1))
}

function reasonOf(claim: RangeClaim): string {
  try {
    verifyRange(claim)
  } catch (error) {
    expect(error).toBeInstanceOf(RangeProofError)
    return (error as Error).message
  }
  return 'accepted'
}

describe('verifyRange', () => {
  it('gets all nodes of a trie, and none else, from ranges that together cover all keys', () => {
    fc.assert(
      fc.property(trieLeaves, fc.array(cut, { maxLength: 5 }), (leaves, cuts) => {
        const stored = new StoredNodes(leaves)
        const lasts = [...new Set([...cuts.map((one) => cutAt(leaves, one)), HIGHEST])].sort()
        const nodes = new Map<string, Uint8Array>()
        let first = LOWEST
        for (const last of lasts) {
          const seen = new Set<string>()
          verifyRange(claimOf(leaves, stored, first, last), (path, depth, rlp) => {
            const name = bytesKey(trieNodeKey(ACCOUNT_TRIE, path, depth))
            expect(seen.has(name)).toBe(false)
            seen.add(name)
            nodes.set(name, rlp.slice())
          })
          first = bytesKey(neighbour(last, 1))
        }
        expect(new Map([...nodes].sort())).toEqual(new Map([...stored.nodes].sort()))
      }),
      { numRuns: runs(50) },
    )
  })

  it('accepts no other leaves than those of the range, whatever range the proof and the leaves are of', () => {
    const some = fc.subarray(Array.from({ length: 25 }, (_, i) => i))
    const added = fc.option(fc.record({ key: trieKey, value: fc.constantFrom('\x01', '\x01\x01') }), { nil: undefined })
    const input = fc.record({ leaves: trieLeaves, cuts: fc.tuple(cut, cut, cut, cut), kept: some, added })
    const kinds = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean())
    fc.assert(
      fc.property(input, kinds, ({ leaves, cuts, kept, added }, [otherProof, otherLeaves, all]) => {
        const stored = new StoredNodes(leaves)
        const bounds = cuts.map((one) => cutAt(leaves, one))
        const claimFor = (a: string, b: string) => claimOf(leaves, stored, a < b ? a : b, a < b ? b : a)
        const claim = claimFor(bounds[0]!, bounds[1]!)
        const other = claimFor(bounds[2]!, bounds[3]!)
        const from = otherLeaves ? other.leaves : claim.leaves
        const given = new Map(from.filter((_, i) => all || kept.includes(i)).map((leaf) => [leaf.key, leaf]))
        if (added !== undefined) given.set(added.key, added)
        const changed = sortLeaves([...given.values()])
        const isTrue = JSON.stringify(changed) === JSON.stringify(claim.leaves)
        const reason = reasonOf({ ...claim, leaves: changed, proof: otherProof ? other.proof : claim.proof })
        if (!isTrue || !otherProof) expect(reason === 'accepted').toBe(isTrue)
      }),
      { numRuns: runs(150) },
    )
  })

  it('has the nodes that @ethereumjs/mpt has on the paths to two keys, and its verifier takes them', async () => {
    const leaves = hashedLeaves(300)
    const stored = new StoredNodes(leaves)
    const reference = await createMPT()
    for (const { key, value } of leaves) await reference.put(keyBytes(key), keyBytes(value))
    for (const [from, to] of [
      [0, 299],
      [10, 11],
      [7, 7],
      [100, 250],
    ] as const) {
      const claim = claimOf(leaves, stored, leaves[from]!.key, leaves[to]!.key)
      verifyRange(claim)
      const paths = [
        await createMerkleProof(reference, claim.first as Uint8Array),
        await createMerkleProof(reference, claim.last as Uint8Array),
      ]
      expect(new Set(claim.proof.map(bytesKey))).toEqual(new Set(paths.flat().map(bytesKey)))
      const keys = claim.leaves.map(({ key }) => keyBytes(key))
      const values = claim.leaves.map(({ value }) => keyBytes(value))
      const hasMore = verifyMerkleRangeProof(stored.root, claim.first, claim.last, keys, values, [...claim.proof])
      expect(await hasMore).toBe(to < 299)
    }
  })

  it('needs no proof of all keys, nor of an empty trie', () => {
    const leaves = hashedLeaves(20)
    expect(claimOf(leaves, new StoredNodes(leaves), LOWEST, HIGHEST).proof).toEqual([])
    const empty = claimOf([], new StoredNodes([]), leaves[3]!.key, leaves[5]!.key)
    expect(empty).toMatchObject({ root: EMPTY_TRIE_ROOT, proof: [] })
    verifyRange(empty)
    expect(reasonOf({ ...empty, leaves: [leaves[4]!] })).toContain('does not have the leaf')
    expect(reasonOf({ ...empty, proof: [Uint8Array.of(0x80)] })).toContain('1 more nodes')
    expect(reasonOf({ ...claimOf(leaves, new StoredNodes(leaves), LOWEST, HIGHEST), leaves: [] })).toContain('missing')
  })

  it('proves that there is nothing in a gap, before the first leaf or after the last one', () => {
    const leaves = hashedLeaves(60)
    const stored = new StoredNodes(leaves)
    const above = (i: number) => bytesKey(neighbour(leaves[i]!.key, 1))
    const below = (i: number) => bytesKey(neighbour(leaves[i]!.key, -1))
    for (const [first, last, inside] of [
      [above(10), below(11), 0],
      [above(10), above(10), 0],
      [LOWEST, below(0), 0],
      [above(59), HIGHEST, 0],
      [above(57), HIGHEST, 2],
      [LOWEST, leaves[0]!.key, 1],
    ] as const) {
      const claim = claimOf(leaves, stored, first, last)
      expect(claim.leaves).toHaveLength(inside)
      verifyRange(claim)
      // The same proof for a wider range hides what lies in between.
      const wider = { ...claim, first: keyBytes(LOWEST), last: keyBytes(HIGHEST) }
      expect(reasonOf(wider)).not.toBe('accepted')
      if (inside > 0) expect(reasonOf({ ...claim, leaves: [] })).toContain('missing')
    }
  })

  describe('refuses, with the reason,', () => {
    const leaves = hashedLeaves(400)
    const stored = new StoredNodes(leaves)
    const [lower, upper] = [100, 300]
    const first = bytesKey(neighbour(leaves[lower]!.key, -1))
    const last = bytesKey(neighbour(leaves[upper]!.key, 1))
    const claim = claimOf(leaves, stored, first, last)
    const count = claim.leaves.length
    const other = new StoredNodes(hashedLeaves(400, 1))
    const within = neighbour(claim.leaves[50]!.key, 1)

    it('takes the true claim', () => {
      expect(count).toBe(201)
      verifyRange(claim)
    })

    it.each([0, 1, 50, 100, count - 2, count - 1])('leaf %i left out', (index) => {
      const changed = claim.leaves.filter((_, i) => i !== index)
      expect(reasonOf({ ...claim, leaves: changed })).toMatch(/missing|not those of the trie/)
    })

    it.each([0, 50, count - 1])('leaf %i changed, swapped, doubled or in another place', (index) => {
      const leaf = claim.leaves[index]!
      const next = claim.leaves[index === count - 1 ? index - 1 : index + 1]!
      const changed = (...by: TrieLeaf[]) => ({ ...claim, leaves: claim.leaves.toSpliced(index, 1, ...by) })
      const difference = /another value|not those of the trie|does not have/
      expect(reasonOf(changed({ key: leaf.key, value: `${leaf.value}x` }))).toMatch(difference)
      expect(reasonOf(changed({ key: leaf.key, value: next.value }))).toMatch(difference)
      expect(reasonOf(changed({ key: leaf.key, value: '' }))).toMatch(difference)
      expect(reasonOf(changed(leaf, leaf))).toContain('does not come after')
      expect(reasonOf({ ...claim, leaves: claim.leaves.with(index, next) })).toMatch(/does not come after/)
      expect(reasonOf(changed({ key: `${leaf.key}\0`, value: leaf.value }))).toMatch(/33 bytes/)
    })

    it('leaves added', () => {
      for (const key of [within, neighbour(first, 1), neighbour(last, -1), keyBytes(first), keyBytes(last)]) {
        const others = claim.leaves.filter((leaf) => leaf.key !== bytesKey(key))
        const added = sortLeaves([...others, { key: bytesKey(key), value: 'y' }])
        expect(reasonOf({ ...claim, leaves: added })).toMatch(/does not have|not those of the trie|another value/)
      }
      const withLeaf = (leaf: TrieLeaf) => reasonOf({ ...claim, leaves: sortLeaves([...claim.leaves, leaf]) })
      expect(withLeaf(leaves[lower - 1]!)).toContain('outside of the range')
      expect(withLeaf(leaves[upper + 1]!)).toContain('outside of the range')
      expect(reasonOf({ ...claim, leaves: claim.leaves.toReversed() })).toContain('does not come after')
    })

    it('a leaf that moved to another path and kept the rest of its key, which is all that its node has', () => {
      for (const leaf of claim.leaves.filter((_, i) => i % 10 === 0)) {
        for (const [byte, change] of [
          [0, 0x01],
          [0, 0x10],
          [1, 0x01],
          [1, 0x10],
          [1, 0xf0],
        ] as const) {
          const key = keyBytes(leaf.key)
          key[byte] = key[byte]! ^ change
          const moved = { key: bytesKey(key), value: leaf.value }
          const others = claim.leaves.filter((one) => one !== leaf && one.key !== moved.key)
          expect(reasonOf({ ...claim, leaves: sortLeaves([...others, moved]) })).not.toBe('accepted')
        }
      }
    })

    it('bounds of another range', () => {
      const lowerBound = keyBytes(bytesKey(neighbour(leaves[lower - 1]!.key, -1)))
      const upperBound = neighbour(leaves[upper + 1]!.key, 1)
      expect(reasonOf({ ...claim, first: lowerBound })).not.toBe('accepted')
      expect(reasonOf({ ...claim, last: upperBound })).not.toBe('accepted')
      expect(reasonOf({ ...claim, last: keyBytes(HIGHEST) })).not.toBe('accepted')
      expect(reasonOf({ ...claim, first: claim.last, last: claim.first })).toContain('ends before it begins')
      expect(reasonOf({ ...claim, first: new Uint8Array(31) })).toContain('32 bytes')
      expect(reasonOf({ ...claim, root: other.root })).toContain('another hash')
      expect(reasonOf({ ...claim, root: EMPTY_TRIE_ROOT })).toContain('does not have the leaf')
    })

    it.each(claim.proof.map((_, i) => i))(
      'proof node %i missing, changed, surplus, of another trie or no node',
      (i) => {
        const proofOf = (...by: Uint8Array[]) => ({ ...claim, proof: claim.proof.toSpliced(i, 1, ...by) })
        const node = claim.proof[i]!
        const flipped = node.slice()
        flipped[node.length >> 1]! ^= 1
        const foreign = proveRange(other, ACCOUNT_TRIE, claim.first, claim.last)
        expect(reasonOf(proofOf())).toMatch(/another hash|missing in the proof/)
        for (const bad of [
          flipped,
          node.slice(0, -1),
          Uint8Array.of(...node, 0),
          foreign[Math.min(i, foreign.length - 1)]!,
          new Uint8Array(0),
          new Uint8Array(1 << 20),
          Uint8Array.of(0xff, 0xff, 0xff, 0xff),
        ]) {
          expect(reasonOf(proofOf(bad))).toContain('another hash')
        }
        expect(reasonOf(proofOf(node, node))).toMatch(/another hash|1 more nodes/)
        expect(reasonOf({ ...claim, proof: foreign })).toContain('another hash')
      },
    )

    it('nodes that are none, although they have the hash', () => {
      const branch = (more: Uint8Array[]) => encodeRLP([...new Array(16).fill(new Uint8Array(0)), ...more])
      const text = (bytes: number) => new Uint8Array(bytes).fill(0x11)
      for (const node of [
        new Uint8Array(0),
        Uint8Array.of(0xc0),
        Uint8Array.of(0xff, 0xff, 0xff),
        text(40),
        encodeRLP([text(3), text(3), text(3)]),
        encodeRLP([text(33), text(32)]),
        encodeRLP([Uint8Array.of(0x00), text(32)]),
        encodeRLP([Uint8Array.of(0x20), text(32)]),
        encodeRLP([text(40), text(32)]),
        encodeRLP([Uint8Array.of(0x11), [text(60)]]),
        encodeRLP([Uint8Array.of(0x11), text(1)]),
        encodeRLP([Uint8Array.of(0x11), new Uint8Array(0)]),
        encodeRLP([[text(1), text(2)], text(32)]),
        branch([]),
        branch([text(3)]),
        branch([text(1), text(1)]),
        encodeRLP([...new Array(15).fill(text(33)), new Uint8Array(0), new Uint8Array(0)]),
      ]) {
        const reason = reasonOf({ ...claim, root: keccak256(node), proof: [node], leaves: [] })
        expect(reason).toMatch(/no trie node|not one of a trie/)
      }
    })
  })

  it('takes a bound through embedded nodes and extensions', () => {
    const key = (end: number) => bytesKey(new Uint8Array(32).fill(7).fill(end, 31))
    const leaves = [0x00, 0x01, 0x10, 0x1f, 0xf0, 0xff].map((end) => ({ key: key(end), value: String(end % 7) }))
    const stored = new StoredNodes(leaves)
    expect([...stored.nodes.values()].filter((rlp) => rlp.length < 32).length).toBeGreaterThan(3)
    for (let from = 0; from < 256; from += 7) {
      for (let to = from; to < 256; to += 11) {
        const claim = claimOf(leaves, stored, key(from), key(to))
        verifyRange(claim)
        for (let i = 0; i < claim.leaves.length; i++) {
          expect(reasonOf({ ...claim, leaves: claim.leaves.toSpliced(i, 1) })).not.toBe('accepted')
        }
        if (to < 254) expect(reasonOf({ ...claim, last: keyBytes(HIGHEST) })).not.toBe('accepted')
      }
    }
  })
})

describe('verifyPath', () => {
  const leaves = hashedLeaves(50)
  const stored = new StoredNodes(leaves)
  const proofOf = (key: Uint8Array) => proveRange(stored, ACCOUNT_TRIE, key, key)

  it('gives the value of a key, or says that there is none', () => {
    for (const { key, value } of leaves) {
      const name = keyBytes(key)
      expect(verifyPath(stored.root, name, proofOf(name))).toBe(value)
      const absent = neighbour(key, 1)
      expect(verifyPath(stored.root, absent, proofOf(absent))).toBeUndefined()
    }
    expect(verifyPath(EMPTY_TRIE_ROOT, keyBytes(leaves[0]!.key), [])).toBeUndefined()
  })

  it('refuses the path of another key and nodes too few or too many', () => {
    const name = keyBytes(leaves[0]!.key)
    const proof = proofOf(name)
    expect(() => verifyPath(stored.root, name, proofOf(keyBytes(leaves[49]!.key)))).toThrow(RangeProofError)
    expect(() => verifyPath(stored.root, name, proof.slice(0, -1))).toThrow('missing in the proof')
    expect(() => verifyPath(stored.root, name, [...proof, proof[0]!])).toThrow('1 more nodes')
    expect(() => verifyPath(keccak256(name), name, proof)).toThrow('another hash')
  })
})
