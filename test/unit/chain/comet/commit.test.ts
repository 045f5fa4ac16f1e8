import { describe, expect, it } from 'vitest'
import {
  commitSignBytes,
  commitVote,
  contradictions,
  decodeCommit,
  encodeCommit,
  verifyCommit,
  verifyCommitLight,
} from '../../../../src/chain/comet/commit.ts'
import { ABSENT_COMMIT_SIG, BLOCK_ID_FLAGS, type Commit, type CommitSig } from '../../../../src/chain/comet/types.ts'
import { createValidatorSet } from '../../../../src/chain/comet/validatorSet.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { loadVectors, toBlockId, toCommit } from '../../../support/chain/comet/goldenVectors.ts'

const vectors = loadVectors('commits')

describe('commits', () => {
  it.each(vectors)('of $commit.height are encoded and signed as in CometBFT', (vector) => {
    const commit = toCommit(vector.commit)
    expect(bytesToHex(encodeCommit(commit)).slice(2)).toBe(vector.proto)
    expect(decodeCommit(hexToBytes(vector.proto))).toEqual(commit)
    for (const [index, expected] of vector.signBytes.entries()) {
      if (commit.signatures[index]!.flag === BLOCK_ID_FLAGS.absent) continue
      expect(bytesToHex(commitSignBytes(vector.signChainId, commit, index)).slice(2)).toBe(expected)
    }
  })

  const verified = vectors.flatMap((vector) =>
    vector.verify === undefined ? [] : [{ ...vector, verify: vector.verify }],
  )

  it.each(verified)(
    'of $commit.height verify: full $verify.full, light $verify.light',
    ({ commit, validators, verify }) => {
      const target = {
        chainId: verify.chainId,
        height: verify.height,
        blockId: toBlockId(verify.blockId),
        validators: createValidatorSet(
          validators.map(({ publicKey, power }) => ({ publicKey: hexToBytes(publicKey), power: BigInt(power) })),
        ),
      }
      expect(verifyCommit(target, toCommit(commit)).valid).toBe(verify.full)
      expect(verifyCommitLight(target, toCommit(commit)).valid).toBe(verify.light)
      expect(verifyCommit(target, toCommit(commit), 'verified')).toEqual(
        verifyCommit(target, toCommit(commit), () => true),
      )
    },
  )

  it('cover both outcomes of both rules', () => {
    const outcomes = new Set(verified.map(({ verify }) => `${verify.full} ${verify.light}`))
    expect([...outcomes].sort()).toEqual(['false false', 'false true', 'true true'])
  })

  it('that name another validator beside a true signature are refused', () => {
    const { commit: json, validators, verify } = verified[1]!
    const commit = toCommit(json)
    const target = {
      chainId: verify.chainId,
      height: verify.height,
      blockId: toBlockId(verify.blockId),
      validators: createValidatorSet(
        validators.map(({ publicKey, power }) => ({ publicKey: hexToBytes(publicKey), power: BigInt(power) })),
      ),
    }
    const [first, ...rest] = commit.signatures
    const renamed = { ...commit, signatures: [{ ...first!, validatorAddress: new Uint8Array(20) }, ...rest] }
    expect(verifyCommit(target, commit).valid).toBe(true)
    expect(verifyCommit(target, renamed)).toEqual({ valid: false, reason: 'signature 0 names another validator' })
  })
})

describe('two commits for one block', () => {
  const signature = new Uint8Array(64).fill(1)
  const sig = (flag: CommitSig['flag'], index: number): CommitSig =>
    flag === BLOCK_ID_FLAGS.absent
      ? ABSENT_COMMIT_SIG
      : { flag, validatorAddress: new Uint8Array(20).fill(index), timestampMs: 1_000, signature }
  const hash = new Uint8Array(32).fill(2)
  const blockId = { hash, partSetHeader: { total: 1, hash } }
  const { absent, commit: forBlock, nil } = BLOCK_ID_FLAGS
  const commitOf = (...flags: CommitSig['flag'][]): Commit => ({
    height: 5,
    round: 1,
    blockId,
    signatures: flags.map(sig),
  })

  it('contradict each other where a validator signed for the block in one and for nil in the other', () => {
    const [a, b] = [commitOf(forBlock, nil, forBlock, absent, nil), commitOf(forBlock, nil, nil, forBlock, forBlock)]
    expect(contradictions(a, b)).toEqual([2, 4].map((index) => [commitVote(a, index), commitVote(b, index)]))
    expect(contradictions(a, a)).toEqual([])
  })

  it('prove nothing in different rounds, or for different blocks', () => {
    const [a, b] = [commitOf(forBlock), commitOf(nil)]
    const other = { ...blockId, hash: new Uint8Array(32).fill(3) }
    for (const change of [{ round: 2 }, { height: 6 }, { blockId: other }]) {
      expect(contradictions(a, { ...b, ...change })).toEqual([])
    }
  })
})
