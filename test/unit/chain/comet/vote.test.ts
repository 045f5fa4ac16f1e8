import { describe, expect, it } from 'vitest'
import {
  decodeProposal,
  decodeVote,
  encodeProposal,
  encodeVote,
  proposalSignBytes,
  voteSignBytes,
} from '../../../../src/chain/comet/vote.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { ed25519Address, ed25519Key, signEd25519, verifyEd25519 } from '../../../../src/primitives/ed25519.ts'
import { loadVectors, toProposal, toVote } from '../../../support/chain/comet/goldenVectors.ts'

const hex = (bytes: Uint8Array) => bytesToHex(bytes).slice(2)

describe('votes', () => {
  it.each(loadVectors('votes'))('height $vote.height type $vote.type', (vector) => {
    const vote = toVote(vector.vote)
    const signBytes = voteSignBytes(vector.chainId, vote)
    expect(hex(signBytes)).toBe(vector.signBytes)
    const key = ed25519Key(hexToBytes(vector.privateKey))
    expect(hex(key.publicKey)).toBe(vector.publicKey)
    expect(ed25519Address(key.publicKey)).toEqual(vote.validatorAddress)
    expect(signEd25519(key, signBytes)).toEqual(vote.signature)
    expect(verifyEd25519(key.publicKey, signBytes, vote.signature)).toBe(true)
    expect(verifyEd25519(key.publicKey, voteSignBytes('other', vote), vote.signature)).toBe(false)
    expect(hex(encodeVote(vote))).toBe(vector.proto)
    expect(decodeVote(hexToBytes(vector.proto))).toEqual(vote)
  })
})

describe('proposals', () => {
  it.each(loadVectors('proposals'))('height $proposal.height round $proposal.round', (vector) => {
    const proposal = toProposal(vector.proposal)
    const signBytes = proposalSignBytes(vector.chainId, proposal)
    expect(hex(signBytes)).toBe(vector.signBytes)
    expect(signEd25519(ed25519Key(hexToBytes(vector.privateKey)), signBytes)).toEqual(proposal.signature)
    expect(hex(encodeProposal(proposal))).toBe(vector.proto)
    expect(decodeProposal(hexToBytes(vector.proto))).toEqual(proposal)
  })
})

describe('ed25519', () => {
  it('is false for malformed keys and signatures', () => {
    const key = ed25519Key(new Uint8Array(32).fill(7))
    const message = Uint8Array.of(1, 2, 3)
    const signature = signEd25519(key, message)
    expect(verifyEd25519(key.publicKey, message, signature)).toBe(true)
    expect(verifyEd25519(key.publicKey, message, signature.subarray(1))).toBe(false)
    expect(verifyEd25519(key.publicKey.subarray(1), message, signature)).toBe(false)
    expect(verifyEd25519(new Uint8Array(32).fill(0xff), message, signature)).toBe(false)
    expect(() => ed25519Key(new Uint8Array(31))).toThrow(TypeError)
  })
})
