import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ABSENT_COMMIT_SIG, type Commit, type CommitSig } from '../../../../src/chain/comet/types.ts'
import {
  type CommitCheck,
  checkCommits,
  checkPackedCommits,
  createCommitVerifier,
  isCovered,
  trustedPower,
} from '../../../../src/sync/blocks/commitChecks.ts'
import { runs } from '../../../propertyRuns.ts'
import { servedChain, verifyFake } from '../../../support/sync/servedChain.ts'

const chain = servedChain({ blocks: 40, powers: [4n, 3n, 2n, 1n] })

function checkOf(height: number, commit: Commit, known: Commit | undefined): CommitCheck {
  const { blockId } = chain.decided[height - 1]!
  const { chainId, validators } = chain.states[height - 1]!
  return { chainId, height, blockId, validators, commit, known }
}

const seen = (height: number): Commit => chain.decided[height - 1]!.seenCommit

function withSig(commit: Commit, index: number, change: (sig: CommitSig) => CommitSig): Commit {
  return { ...commit, signatures: commit.signatures.map((sig, at) => (at === index ? change(sig) : sig)) }
}

/** Commits of one height as peers may serve them, with another that was checked before or not. */
const checks: fc.Arbitrary<CommitCheck> = fc
  .record({
    height: fc.integer({ min: 1, max: 40 }),
    absent: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    forged: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined, freq: 3 }),
    foreign: fc.boolean(),
    known: fc.constantFrom('none', 'same', 'other'),
  })
  .map(({ height, absent, forged, foreign, known }) => {
    let commit = seen(height)
    if (absent !== undefined) commit = withSig(commit, absent, () => ABSENT_COMMIT_SIG)
    if (forged !== undefined && forged !== absent)
      commit = withSig(commit, forged, (sig) => ({ ...sig, timestampMs: sig.timestampMs + 1 }))
    if (foreign) commit = { ...commit, blockId: chain.decided[height % 40]!.blockId }
    const before = known === 'none' ? undefined : known === 'same' ? seen(height) : seen((height % 40) + 1)
    return checkOf(height, commit, before)
  })

describe('checkCommits', () => {
  it('verifies each signature once, and those that were verified before not at all', () => {
    let verified = 0
    const verify: typeof verifyFake = (...args) => {
      verified++
      return verifyFake(...args)
    }
    const partial = withSig(seen(5), 3, () => ABSENT_COMMIT_SIG)
    const table: [Commit, Commit | undefined, number][] = [
      [seen(5), undefined, 4],
      [seen(5), partial, 1],
      [partial, seen(5), 0],
      // Nothing of another height, round, block, time or place counts.
      [seen(5), seen(6), 4],
      [seen(5), { ...seen(5), round: 1 }, 4],
      [seen(5), { ...seen(5), blockId: seen(6).blockId }, 4],
      [seen(5), withSig(seen(5), 0, (sig) => ({ ...sig, timestampMs: 1 })), 1],
      [seen(5), withSig(seen(5), 1, (sig) => ({ ...sig, flag: 3 })), 1],
    ]
    for (const [commit, known, expected] of table) {
      verified = 0
      expect(checkCommits([checkOf(5, commit, known)], verify)).toEqual([undefined])
      expect(verified).toBe(expected)
      expect(isCovered(checkOf(5, commit, known))).toBe(expected === 0)
    }
  })

  it('counts the power of known validators only, and each once', () => {
    const { chainId, validators } = chain.states[4]!
    const power = (commit: Commit) => trustedPower(chainId, commit, validators, verifyFake)
    expect(power(seen(5))).toBe(10n)
    expect(power(withSig(seen(5), 0, () => ABSENT_COMMIT_SIG))).toBe(6n)
    expect(power(withSig(seen(5), 0, (sig) => ({ ...sig, signature: new Uint8Array(64) })))).toBe('false signature')
    const [first] = seen(5).signatures
    expect(power({ ...seen(5), signatures: [first!, first!, first!] })).toBe(4n)
  })

  it('verifies one signature for each known validator, however often a commit names it, and none after a false one', () => {
    const { chainId, validators } = chain.states[4]!
    let verified = 0
    const verify: typeof verifyFake = (...args) => {
      verified++
      return verifyFake(...args)
    }
    const [right, ...others] = seen(5).signatures
    const wrong = { ...right!, signature: new Uint8Array(64) }
    const power = (...signatures: CommitSig[]) => trustedPower(chainId, { ...seen(5), signatures }, validators, verify)
    // Sign bytes do not depend on the place in the commit.
    expect(power(right!, ...Array<CommitSig>(1_000).fill(wrong), ...others)).toBe(10n)
    expect(verified).toBe(4)
    expect(power(wrong, ...seen(5).signatures)).toBe('false signature')
    expect(verified).toBe(5)
  })
})

describe('createCommitVerifier', () => {
  it('says in other threads what checkCommits says here', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(checks, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), async (list, threads) => {
        const workers = Array.from(
          { length: threads },
          () => async (packed: Parameters<typeof checkPackedCommits>[0]) =>
            checkPackedCommits(structuredClone(packed), verifyFake),
        )
        const valid = (reasons: readonly (string | undefined)[]) => reasons.map((reason) => reason === undefined)
        const answers = await createCommitVerifier(workers)(list)
        expect(valid(answers)).toEqual(valid(checkCommits(list, verifyFake)))
      }),
      { numRuns: runs(100) },
    )
  })

  it.each([1, 2, 3])('uses each of %i threads for many commits', async (threads) => {
    const used = new Set<number>()
    const workers = Array.from(
      { length: threads },
      (_, index) => async (packed: Parameters<typeof checkPackedCommits>[0]) => {
        used.add(index)
        return checkPackedCommits(packed, verifyFake)
      },
    )
    // A thread gets some 64 signatures at a time, which are 16 commits here.
    const list = Array.from({ length: 40 }, (_, index) => checkOf(index + 1, seen(index + 1), undefined))
    expect(await createCommitVerifier(workers)(list)).toEqual(list.map(() => undefined))
    expect(used.size).toBe(threads)
  })

  it('sends no memory but its own', async () => {
    const sizes: number[] = []
    const verify = createCommitVerifier([
      async (packed) => {
        sizes.push(
          packed.bytes.buffer.byteLength,
          ...packed.sets[0]!.validators.map(({ publicKey }) => publicKey.buffer.byteLength),
        )
        return checkPackedCommits(packed, verifyFake)
      },
    ])
    expect(await verify([checkOf(7, seen(7), undefined)])).toEqual([undefined])
    expect(Math.max(...sizes)).toBeLessThan(1_000)
  })

  it('fails when a thread fails', async () => {
    const verify = createCommitVerifier([() => Promise.reject(new Error('gone'))])
    await expect(verify([checkOf(7, seen(7), undefined)])).rejects.toThrow('gone')
  })
})
