import { describe, expect, it } from 'vitest'
import { consensusParamsHash, maxDataBytes, resultsHash } from '../../../../src/chain/comet/block.ts'
import { commitHash } from '../../../../src/chain/comet/commit.ts'
import { encodeEvidence, evidenceHash } from '../../../../src/chain/comet/evidence.ts'
import { createValidatorSet, MAX_TOTAL_POWER, validatorSetHash } from '../../../../src/chain/comet/validatorSet.ts'
import { encodedTxSize } from '../../../../src/chain/comet/wire.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { loadVectors, toCommit, toEvidence } from '../../../support/chain/comet/goldenVectors.ts'

const hex = (bytes: Uint8Array) => bytesToHex(bytes).slice(2)

describe('hashes that a header holds', () => {
  it.each(loadVectors('validatorSets'))('validators, sorted: $hash', ({ input, sorted, hash, totalPower }) => {
    const set = createValidatorSet(
      input.map(({ publicKey, power }) => ({ publicKey: hexToBytes(publicKey), power: BigInt(power) })),
    )
    expect(
      set.validators.map(({ address, publicKey, power }) => ({
        address: hex(address),
        publicKey: hex(publicKey),
        power: String(power),
      })),
    ).toEqual(sorted)
    expect(String(set.totalPower)).toBe(totalPower)
    expect(hex(validatorSetHash(set))).toBe(hash)
  })

  const key = (i: number) => new Uint8Array(32).fill(i)
  it.each([
    { what: 'no validator', entries: [] },
    { what: 'a key twice', entries: [key(1), key(2), key(1)].map((publicKey) => ({ publicKey, power: 1n })) },
    { what: 'no power', entries: [{ publicKey: key(1), power: 0n }] },
    { what: 'a short key', entries: [{ publicKey: key(1).subarray(1), power: 1n }] },
    {
      what: 'too much power',
      entries: [
        { publicKey: key(1), power: MAX_TOTAL_POWER },
        { publicKey: key(2), power: 1n },
      ],
    },
  ])('a validator set with $what is refused', ({ entries }) => {
    expect(() => createValidatorSet(entries)).toThrow(TypeError)
  })

  it.each(loadVectors('consensusParams'))('consensus parameters $maxBytes, $maxGas', ({ hash, ...params }) => {
    expect(hex(consensusParamsHash(params))).toBe(hash)
  })

  it.each(loadVectors('results'))('results: $hash', ({ results, hash }) => {
    const computed = resultsHash(
      results.map(({ code, data, gasWanted, gasUsed }) => ({
        code,
        data: hexToBytes(data),
        gasWanted: BigInt(gasWanted),
        gasUsed: BigInt(gasUsed),
      })),
    )
    expect(hex(computed)).toBe(hash)
  })

  it.each(loadVectors('commits'))('last commit: $hash', ({ commit, hash }) => {
    expect(hex(commitHash(toCommit(commit)))).toBe(hash)
  })

  it('evidence', () => {
    const { items, emptyHash, listHash } = loadVectors('evidence')
    for (const item of items) expect(hex(encodeEvidence(toEvidence(item)))).toBe(item.bytes)
    expect(hex(evidenceHash([]))).toBe(emptyHash)
    expect(hex(evidenceHash(items.map(toEvidence)))).toBe(listHash)
  })
})

describe('room for transactions', () => {
  const { maxDataBytes: limits, txs } = loadVectors('sizes')
  it.each(limits)('$maxBytes bytes, $validators validators', ({ maxBytes, validators, maxDataBytes: expected }) => {
    expect(maxDataBytes({ maxBytes }, validators)).toBe(expected)
  })
  it.each(txs)('$count of $size bytes take $total', ({ count, size, total }) => {
    expect(count * encodedTxSize(size)).toBe(total)
  })
})
