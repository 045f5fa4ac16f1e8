import { describe, expect, it } from 'vitest'
import {
  commitSignBytes,
  decodeCommit,
  encodeCommit,
  verifyCommit,
  verifyCommitLight,
} from '../../../../src/chain/consensus/commit.ts'
import { BLOCK_ID_FLAGS } from '../../../../src/chain/consensus/types.ts'
import { createValidatorSet } from '../../../../src/chain/consensus/validatorSet.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { loadVectors, toBlockId, toCommit } from './goldenVectors.ts'

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
