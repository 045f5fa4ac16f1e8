import { describe, expect, it } from 'vitest'
import { merkleProofs, merkleRoot, verifyMerkleProof } from '../../../../src/chain/comet/merkle.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { loadVectors } from '../../../support/chain/comet/goldenVectors.ts'

describe('merkle tree', () => {
  for (const { items, root, proofs } of loadVectors('merkle')) {
    it(`has CometBFT's root and proofs for ${items.length} leaves`, () => {
      const leaves = items.map(hexToBytes)
      expect(bytesToHex(merkleRoot(leaves))).toBe(`0x${root}`)
      const made = merkleProofs(leaves)
      expect(bytesToHex(made.root)).toBe(`0x${root}`)
      expect(made.proofs).toEqual(
        proofs.map((proof) => ({
          total: proof.total,
          index: proof.index,
          leafHash: hexToBytes(proof.leafHash),
          aunts: proof.aunts.map(hexToBytes),
        })),
      )
      for (const [i, proof] of made.proofs.entries()) expect(verifyMerkleProof(made.root, leaves[i]!, proof)).toBe(true)
    })
  }

  it('refuses a proof for another place, leaf, tree or number of siblings', () => {
    const leaves = Array.from({ length: 7 }, (_, i) => Uint8Array.of(i))
    const { root, proofs } = merkleProofs(leaves)
    const proof = proofs[3]!
    const leaf = leaves[3]!
    expect(verifyMerkleProof(root, leaf, proof)).toBe(true)
    for (const index of [0, 1, 2, 4, 5, 6]) expect(verifyMerkleProof(root, leaf, { ...proof, index })).toBe(false)
    for (const index of [7, -1]) expect(verifyMerkleProof(root, leaf, { ...proof, index })).toBe(false)
    expect(verifyMerkleProof(root, leaves[2]!, proof)).toBe(false)
    expect(verifyMerkleProof(root, leaf, { ...proof, leafHash: proofs[2]!.leafHash })).toBe(false)
    expect(verifyMerkleProof(root, leaf, { ...proof, aunts: proof.aunts.slice(1) })).toBe(false)
    expect(verifyMerkleProof(root, leaf, { ...proof, aunts: [...proof.aunts, root] })).toBe(false)
    expect(verifyMerkleProof(proofs[0]!.leafHash, leaf, proof)).toBe(false)
    const [first, ...rest] = proof.aunts
    for (const aunt of [first!.subarray(1), new Uint8Array(64), new Uint8Array()]) {
      expect(verifyMerkleProof(root, leaf, { ...proof, aunts: [aunt, ...rest] })).toBe(false)
    }
  })

  it('hashes large leaves as small ones are hashed', () => {
    // Past the size at which another implementation takes over, an inner node's preimage still is no leaf.
    const leaf = new Uint8Array(5000).fill(3)
    const { root, proofs } = merkleProofs([leaf, leaf])
    expect(proofs[0]!.leafHash).toEqual(merkleRoot([leaf]))
    expect(verifyMerkleProof(root, leaf, proofs[1]!)).toBe(true)
  })
})
