import { describe, expect, it } from 'vitest'
import {
  NIL_BLOCK_ID,
  type UnsignedProposal,
  type UnsignedVote,
  type Vote,
  type VoteType,
} from '../../../src/chain/comet/types.ts'
import { proposalSignBytes, voteSignBytes } from '../../../src/chain/comet/vote.ts'
import { localKey } from '../../../src/consensus/consensusKey.ts'
import type { AskedSignature } from '../../../src/consensus/environment.ts'
import { isAsked } from '../../../src/consensus/ownMessages.ts'
import { DoubleSignError, type LastSigned, lastSignedOf, Signer } from '../../../src/consensus/signer.ts'
import { validatorKey } from '../../../src/consensus/validatorKey.ts'
import type { WalEntry } from '../../../src/consensus/walEntry.ts'
import { verifyEd25519 } from '../../../src/primitives/ed25519.ts'

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
  const log = { append: (entry: WalEntry) => void entries.push(entry) }
  const signer = new Signer({ key: localKey(key), chainId, wal: log, lastSigned, decidedHeight })
  return { signer, entries }
}

/** The message itself: a key in this process signs at once. */
function now<T extends object>(staged: T | AskedSignature<T> | undefined): T {
  if (staged === undefined || isAsked(staged)) throw new Error('nothing is signed yet')
  return staged
}

describe('signer', () => {
  it('signs what a verifier accepts, and logs it', () => {
    const { signer, entries } = makeSigner()
    const signedProposal = now(signer.stageProposal(proposal(5, 0)))
    const signedVote = now(signer.stageVote(vote(5, 0, 1)))
    const { publicKey } = key
    expect(verifyEd25519(publicKey, proposalSignBytes(chainId, signedProposal), signedProposal.signature)).toBe(true)
    expect(verifyEd25519(publicKey, voteSignBytes(chainId, signedVote), signedVote.signature)).toBe(true)
    expect(entries).toEqual([
      { kind: 'proposal', proposal: signedProposal },
      { kind: 'vote', vote: signedVote },
    ])
  })

  it('rises through heights, rounds and steps', () => {
    const { signer, entries } = makeSigner()
    const steps = [
      proposal(1, 0),
      vote(1, 0, 1),
      vote(1, 0, 2),
      vote(1, 1, 1),
      proposal(1, 2),
      vote(2, 0, 2),
      proposal(3, 0),
    ]
    const signed = steps.map((next) => now('type' in next ? signer.stageVote(next) : signer.stageProposal(next)))
    expect(signed).toMatchObject(steps)
    expect(entries).toEqual(
      signed.map((next) => ('type' in next ? { kind: 'vote', vote: next } : { kind: 'proposal', proposal: next })),
    )
  })

  const last = { height: 10, round: 2, type: 1 as const }
  const refused = [
    { what: 'a lower round', sign: (s: Signer) => s.stageVote(vote(10, 1, 2)) },
    { what: 'an earlier step', sign: (s: Signer) => s.stageProposal(proposal(10, 2)) },
    { what: 'another block', sign: (s: Signer) => s.stageVote({ ...vote(10, 2, 1), blockId: NIL_BLOCK_ID }) },
    { what: 'another time', sign: (s: Signer) => s.stageVote(vote(10, 2, 1, 1001)) },
  ]
  it.each(refused)('refuses $what, now and after a restart', ({ sign }) => {
    const { signer, entries } = makeSigner()
    const signed = now(signer.stageVote(vote(last.height, last.round, last.type)))
    expect(() => sign(signer)).toThrow(DoubleSignError)
    const restarted = makeSigner(lastSignedOf(chainId, { kind: 'vote', vote: signed }))
    expect(() => sign(restarted.signer)).toThrow(DoubleSignError)
    expect(entries).toHaveLength(1)
    expect(restarted.entries).toEqual([])
  })

  it('gives the stored signature for the same bytes and logs nothing', () => {
    const { signer } = makeSigner()
    const signed = now(signer.stageProposal(proposal(4, 0)))
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

  it('signs nothing for heights that are decided meanwhile', () => {
    const { signer } = makeSigner()
    signer.decided(3)
    expect(() => signer.stageVote(vote(3, 0, 1))).toThrow(/block 3 is decided/)
    expect(signer.stageVote(vote(4, 0, 1))).toBeDefined()
  })

  it('signs nothing when the log cannot take it', () => {
    const log = {
      append: () => {
        throw new Error('EIO')
      },
    }
    const signer = new Signer({ key: localKey(key), chainId, wal: log, lastSigned: undefined, decidedHeight: 0 })
    expect(() => signer.stageVote(vote(1, 0, 1))).toThrow('EIO')
  })
})

describe('a signer abstains', () => {
  it('at heights below the newest in its memory, which a younger log has', () => {
    const { signer, entries } = makeSigner()
    signer.stageVote(vote(10, 0, 1))
    expect(signer.stageVote(vote(9, 5, 2))).toBeUndefined()
    expect(signer.stageProposal(proposal(9, 6))).toBeUndefined()
    expect(entries).toHaveLength(1)
  })

  it('up to the height that it is told, until it is told otherwise', () => {
    const { signer, entries } = makeSigner()
    signer.abstainThrough(7)
    expect(signer.stageProposal(proposal(7, 0))).toBeUndefined()
    expect(signer.stageVote(vote(7, 3, 2))).toBeUndefined()
    expect(entries).toEqual([])
    signer.abstainThrough(0)
    expect(signer.stageVote(vote(7, 3, 2))).toBeDefined()
  })

  it('from the steps up to one that another process signed', () => {
    const { signer } = makeSigner()
    const foreign: Vote = { ...vote(7, 2, 1), signature: new Uint8Array(64) }
    expect(signer.knows(foreign)).toBe(false)
    signer.observe(foreign)
    signer.observe({ ...vote(7, 1, 2), signature: new Uint8Array(64) })
    expect(signer.stageProposal(proposal(7, 2))).toBeUndefined()
    expect(signer.stageVote(vote(7, 2, 1))).toBeUndefined()
    expect(signer.stageVote(vote(7, 2, 2))).toBeDefined()
    expect(signer.knows(foreign)).toBe(true)
  })
})
