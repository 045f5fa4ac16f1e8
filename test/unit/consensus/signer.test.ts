import { describe, expect, it } from 'vitest'
import { verifyEd25519 } from '../../../src/chain/consensus/ed25519.ts'
import { proposalSignBytes, voteSignBytes } from '../../../src/chain/consensus/signBytes.ts'
import {
  NIL_BLOCK_ID,
  type UnsignedProposal,
  type UnsignedVote,
  type VoteType,
} from '../../../src/chain/consensus/types.ts'
import { DoubleSignError, type LastSigned, lastSignedOf, Signer } from '../../../src/consensus/signer.ts'
import { validatorKey } from '../../../src/consensus/validatorKey.ts'
import type { WalEntry } from '../../../src/consensus/walEntry.ts'

const key = validatorKey(new Uint8Array(32).fill(1))
const chainId = 'coin_76287-1'
const blockId = { hash: new Uint8Array(32).fill(1), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(2) } }

const vote = (height: number, round: number, type: VoteType, timestampMs = 1000): UnsignedVote => ({
  type,
  height,
  round,
  blockId,
  timestampMs,
  validatorAddress: key.address,
  validatorIndex: 0,
})
const proposal = (height: number, round: number): UnsignedProposal => ({
  height,
  round,
  polRound: -1,
  blockId,
  timestampMs: 1000,
})

function makeSigner(lastSigned?: LastSigned, decidedHeight = 0) {
  const entries: WalEntry[] = []
  let durable = 0
  const log = {
    append: (entry: WalEntry) => {
      entries.push(entry)
    },
    sync: () => {
      durable = entries.length
      return Promise.resolve()
    },
  }
  const signer = new Signer({ key, chainId, log, lastSigned, decidedHeight })
  return { signer, entries, durable: () => durable }
}

describe('signer', () => {
  it('signs what a verifier accepts, and has it durable when it returns', async () => {
    const { signer, entries, durable } = makeSigner()
    const signedProposal = await signer.signProposal(proposal(5, 0))
    expect(durable()).toBe(1)
    const signedVote = await signer.signVote(vote(5, 0, 1))
    expect(durable()).toBe(2)
    expect(verifyEd25519(key.publicKey, proposalSignBytes(chainId, signedProposal), signedProposal.signature)).toBe(
      true,
    )
    expect(verifyEd25519(key.publicKey, voteSignBytes(chainId, signedVote), signedVote.signature)).toBe(true)
    expect(entries).toEqual([
      { kind: 'proposal', proposal: signedProposal },
      { kind: 'vote', vote: signedVote },
    ])
  })

  it('rises through heights, rounds and steps', () => {
    const { signer } = makeSigner()
    signer.stageProposal(proposal(1, 0))
    signer.stageVote(vote(1, 0, 1))
    signer.stageVote(vote(1, 0, 2))
    signer.stageVote(vote(1, 1, 1))
    signer.stageProposal(proposal(1, 2))
    signer.stageVote(vote(2, 0, 2))
    signer.stageProposal(proposal(3, 0))
  })

  const last = { height: 10, round: 2, type: 1 as const }
  const refused = [
    { what: 'a lower height', sign: (s: Signer) => s.stageVote(vote(9, 5, 2)) },
    { what: 'a lower round', sign: (s: Signer) => s.stageVote(vote(10, 1, 2)) },
    { what: 'an earlier step', sign: (s: Signer) => s.stageProposal(proposal(10, 2)) },
    { what: 'another block', sign: (s: Signer) => s.stageVote({ ...vote(10, 2, 1), blockId: NIL_BLOCK_ID }) },
    { what: 'another time', sign: (s: Signer) => s.stageVote(vote(10, 2, 1, 1001)) },
  ]
  it.each(refused)('refuses $what, now and after a restart', ({ sign }) => {
    const { signer, entries } = makeSigner()
    const signed = signer.stageVote(vote(last.height, last.round, last.type))
    expect(() => sign(signer)).toThrow(DoubleSignError)
    const restarted = makeSigner(lastSignedOf(chainId, { kind: 'vote', vote: signed }))
    expect(() => sign(restarted.signer)).toThrow(DoubleSignError)
    expect(entries).toHaveLength(1)
    expect(restarted.entries).toEqual([])
  })

  it('gives the stored signature for the same bytes and logs nothing', () => {
    const { signer } = makeSigner()
    const signed = signer.stageProposal(proposal(4, 0))
    const restarted = makeSigner(lastSignedOf(chainId, { kind: 'proposal', proposal: signed }))
    expect(restarted.signer.stageProposal(proposal(4, 0))).toEqual(signed)
    expect(restarted.entries).toEqual([])
  })

  it('signs nothing for decided heights', () => {
    const { signer } = makeSigner(undefined, 7)
    expect(() => signer.stageProposal(proposal(7, 0))).toThrow(DoubleSignError)
    expect(() => signer.stageVote(vote(7, 9, 2))).toThrow(/block 7 is decided/)
    signer.stageProposal(proposal(8, 0))
  })

  it('gives nothing away when the disk fails', async () => {
    const log = { append: () => {}, sync: () => Promise.reject(new Error('EIO')) }
    const signer = new Signer({ key, chainId, log, lastSigned: undefined, decidedHeight: 0 })
    await expect(signer.signProposal(proposal(1, 0))).rejects.toThrow('EIO')
  })
})
