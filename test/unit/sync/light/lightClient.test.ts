import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { headerHash } from '../../../../src/chain/comet/block.ts'
import type { LightBlock } from '../../../../src/chain/comet/lightBlock.ts'
import { EMPTY_COMMIT } from '../../../../src/chain/comet/types.ts'
import { LightBlockKeeper } from '../../../../src/chain/retention/retainedLightBlocks.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, readHeight } from '../../../../src/storage/columns.ts'
import {
  type LightBlockSource,
  LightClientError,
  type LightClientProblem,
} from '../../../../src/sync/light/lightBlockSource.ts'
import { type LightClientRules, trustedStateOf } from '../../../../src/sync/light/verifyHeader.ts'
import { verifySkipping } from '../../../../src/sync/light/verifySkipping.ts'
import { runs } from '../../../propertyRuns.ts'
import {
  clientOf,
  honestSource,
  type LightChain,
  lightChain,
  prunedSource,
  sourceOf,
} from '../../../support/sync/light/lightChain.ts'
import { commitFor, fakeSign, keyOf, servedChain, verifyFake } from '../../../support/sync/servedChain.ts'

const BLOCKS = 60
const { signal } = new AbortController()

/** Four validators; from height 8 on each fourth block replaces the oldest one, so that none of the genesis is left at height 30. */
const SERVED = servedChain({
  blocks: BLOCKS,
  updatesAt: (height) => {
    const round = height / 4 - 2
    if (height % 4 !== 0 || round < 0) return []
    return [
      { publicKey: keyOf(round), power: 0n },
      { publicKey: keyOf(round + 4), power: 1n },
    ]
  },
})
const CHAIN = lightChain(SERVED)
const at = (height: number): LightBlock => CHAIN.blocks[height - 1]!
const pointAt = (height: number) => ({ kind: 'point', height, hash: CHAIN.hash(height) }) as const

async function problemOf(verified: Promise<unknown>, kind: LightClientProblem): Promise<string> {
  const error: unknown = await verified.then(
    () => new Error('it was verified'),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(LightClientError)
  const { kind: found, message } = error as LightClientError
  expect({ kind: found, message }).toEqual({ kind, message })
  expect(message).toMatch(/^[^\n]{1,600}$/)
  return message
}

/** A chain of the same ID by validators who never were. */
const FORK = lightChain(servedChain({ blocks: 100, keys: [900, 901, 902, 903].map(keyOf) }))

/** The light block of `height` with another state, signed by these validators' keys. */
function forge(
  height: number,
  validators: LightBlock['validators'],
  change: Partial<LightBlock['header']> = {},
): LightBlock {
  const header = { ...at(height).header, appHash: new Uint8Array(32).fill(9), ...change }
  const blockId = { ...at(height).commit.blockId, hash: headerHash(header) }
  const ranked = { ...validators, priorities: [], proposer: 0 }
  return { header, validators, commit: commitFor(ranked, height, blockId, fakeSign, () => true) }
}

function rulesOf({ chainId }: LightChain): LightClientRules {
  return { chainId, trustingPeriodMs: 3_600_000, maxClockDriftMs: 10_000, verifySignature: verifyFake }
}

/** Those that a node keeps which drops all headers but the newest two. */
function keptHeights({ blocks }: LightChain): readonly number[] {
  const batch = new WriteBatch()
  const keeper = new LightBlockKeeper({ get: () => undefined }, batch, {
    consensusBlock: (height) => {
      const [block, before] = [blocks[height - 1], blocks[height - 2]]
      return block && { header: block.header, lastCommit: before?.commit ?? EMPTY_COMMIT, txs: [], evidence: [] }
    },
    validatorSetAt: (height) => blocks[height - 1]?.validators,
  })
  const kept = [blocks.length - 1, blocks.length]
  for (let height = 1; height < blocks.length - 1; height++) keeper.pass(height)
  batch.forEach((key) => {
    if (key[0] === Column.lightBlock) kept.push(readHeight(key, 1))
  })
  return kept
}

describe('a light client', () => {
  it('verifies the head from the genesis in a few steps, and the blocks around it in one', async () => {
    const source = honestSource('node', CHAIN)
    const client = clientOf(CHAIN, { sources: [source] })
    expect(await client.verify(BLOCKS - 1, signal)).toBe(at(BLOCKS - 1))
    expect(source.asked.length).toBeGreaterThan(1)
    expect(source.asked.length).toBeLessThan(25)
    expect(source.asked).not.toContain(1)
    const before = source.asked.length
    expect(await client.verify(BLOCKS, signal)).toBe(at(BLOCKS))
    expect(await client.verify(BLOCKS, signal)).toBe(at(BLOCKS))
    expect(source.asked.slice(before)).toEqual([BLOCKS])
    expect(client.warnings).toEqual([])
  })

  it.each([1, 2, 3, 7, 9, 30, 59])('verifies height %i from the genesis and from any trust point', async (height) => {
    expect(await clientOf(CHAIN, { sources: [honestSource('node', CHAIN)] }).verify(height, signal)).toBe(at(height))
    for (const trusted of [1, 5, height, 41, BLOCKS]) {
      const client = clientOf(CHAIN, { sources: [honestSource('node', CHAIN)], root: pointAt(trusted) })
      expect(await client.verify(height, signal)).toBe(at(height))
      expect(await client.verify(height + 1, signal)).toBe(at(height + 1))
    }
  })

  it('verifies any chain whose validators change, also from a node that has dropped nearly all headers', async () => {
    // Half of the changes remove one; several often come at the same height.
    const power = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 9n }))
    const height = fc.oneof(fc.constantFrom(10, 12, 20), fc.integer({ min: 1, max: 38 }))
    const updates = fc.array(fc.record({ height, key: fc.nat(8), power }), { minLength: 10, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(updates, fc.integer({ min: 1, max: 40 }), async (changes, target) => {
        const members = new Set([0, 1, 2, 3])
        const byHeight = new Map<number, Map<number, bigint>>()
        for (const { height, key, power } of changes.toSorted((a, b) => a.height - b.height)) {
          if (power === 0n && (!members.has(key) || members.size === 1)) continue
          if (byHeight.get(height)?.has(key)) continue
          if (power === 0n) members.delete(key)
          else members.add(key)
          byHeight.set(height, (byHeight.get(height) ?? new Map()).set(key, power))
        }
        const chain = lightChain(
          servedChain({
            blocks: 40,
            updatesAt: (height) =>
              [...(byHeight.get(height) ?? [])].map(([key, power]) => ({ publicKey: keyOf(key), power })),
          }),
        )
        const whole = clientOf(chain, { sources: [honestSource('node', chain)] })
        expect(await whole.verify(target, signal)).toBe(chain.blocks[target - 1])
        const pruned = clientOf(chain, { sources: [prunedSource('pruned', chain, [...keptHeights(chain), target])] })
        expect(await pruned.verify(target, signal)).toBe(chain.blocks[target - 1])
      }),
      { numRuns: runs(25) },
    )
  })

  it('names the height that a node lacks', async () => {
    const lacking = (height: number) =>
      sourceOf('node', (other) => (other === height ? undefined : CHAIN.blocks[other - 1]))
    const client = (source: LightBlockSource) => clientOf(CHAIN, { sources: [source] })
    expect(await problemOf(client(lacking(50)).verify(50, signal), 'missing')).toMatch(
      /^node does not have the header of height 50$/,
    )
    expect(await problemOf(client(lacking(28)).verify(50, signal), 'missing')).toMatch(
      /^node does not have the header of height 28, without which that of 50 cannot be verified: use a node/,
    )
    expect(await problemOf(client(prunedSource('node', CHAIN, [50])).verify(50, signal), 'missing')).toMatch(
      /height 28, nor another one between 0 and 50, without which/,
    )
  })

  it.each([Number.NaN, 0.5, -1, 0, 50, 51, 2 ** 60])(
    'does not follow a node that says it has height %d between',
    async (answer) => {
      const source = sourceOf(
        'node',
        (height) => (height === 50 ? at(50) : undefined),
        () => answer,
      )
      await problemOf(clientOf(CHAIN, { sources: [source] }).verify(50, signal), 'missing')
      expect(source.asked).toEqual([50, 28])
    },
  )

  it('gives up on a way that is too long, and on one with too many headers that wait for another', async () => {
    const { rules, nowMs } = { rules: rulesOf(CHAIN), nowMs: () => CHAIN.nowMs }
    const options = { source: honestSource('node', CHAIN), rules, nowMs, signal, maxSteps: 5 }
    expect(await problemOf(verifySkipping(trustedStateOf(at(1)), BLOCKS, options), 'tooManySteps')).toMatch(
      /^node has no short chain of headers from height 1 to 60/,
    )
    // It has no pivot, and each time the height below the last one.
    const offered = new Set([100])
    const source = sourceOf(
      'node',
      (height) => (offered.has(height) ? FORK.blocks[height - 1] : undefined),
      (_, { to }) => {
        offered.add(to - 1)
        return to - 1
      },
    )
    await problemOf(clientOf(CHAIN, { sources: [source], nowMs: () => FORK.nowMs }).verify(100, signal), 'tooManySteps')
    expect(offered.size).toBe(80)
  })

  it.each([0, -1, 1.5, 2 ** 53])('knows no block of height %d', async (height) => {
    await expect(clientOf(CHAIN, { sources: [honestSource('node', CHAIN)] }).verify(height, signal)).rejects.toThrow(
      RangeError,
    )
  })

  it('ends with the reason of its signal', async () => {
    const stopped = new AbortController()
    const reason = new Error('stopped')
    const source = sourceOf('node', (height) => {
      if (height !== BLOCKS) stopped.abort(reason)
      return CHAIN.blocks[height - 1]
    })
    const client = clientOf(CHAIN, { sources: [source, honestSource('other', CHAIN)] })
    await expect(client.verify(BLOCKS, stopped.signal)).rejects.toBe(reason)
    expect(source.asked).toHaveLength(2)
  })
})

describe('what a light client refuses', () => {
  const verify = (block: LightBlock, options: Partial<Parameters<typeof clientOf>[1]> = {}) => {
    const { height } = block.header
    const source = sourceOf('node', (other) => (other === height ? block : CHAIN.blocks[other - 1]))
    return clientOf(CHAIN, { sources: [source], ...options }).verify(height, signal)
  }

  it('a chain of validators that never were', async () => {
    const client = (options = {}) => clientOf(CHAIN, { sources: [honestSource('node', FORK)], ...options })
    expect(await problemOf(client().verify(50, signal), 'invalid')).toMatch(
      /^the header of height 1 from node does not follow from height 0: its validators are not those that height 0 announces$/,
    )
    expect(await problemOf(client({ root: pointAt(20) }).verify(50, signal), 'wrongTrust')).toMatch(
      /^the header of height 20 from node has the hash [0-9a-f]{64}, but TRUST_HASH is [0-9a-f]{64}: one of/,
    )
  })

  it('a trust point that the operator’s own source contradicts, or all peers do', async () => {
    const root = pointAt(20)
    const stranger = (source: LightBlockSource) => ({ ...source, isStranger: true })
    const own = honestSource('own', FORK)
    const [liar, honest] = [stranger(honestSource('liar', FORK)), stranger(honestSource('honest', CHAIN))]
    const nothing = stranger(sourceOf('manifest', () => undefined))
    // These stop the start.
    const cases: [readonly LightBlockSource[], LightClientProblem, RegExp][] = [
      [[own, honest], 'wrongTrust', /^the header of height 20 from own/],
      [[liar, nothing], 'wrongTrust', /from liar has the hash .*; manifest does not have/],
      // The honest peer has the trusted block, and not yet the one that the liar offers a snapshot of.
      [[liar, nothing, honest], 'missing', /honest does not have the header of height 70$/],
    ]
    for (const [sources, kind, message] of cases) {
      expect(await problemOf(clientOf(CHAIN, { root, sources }).verify(70, signal), kind)).toMatch(message)
    }
    const many = Array.from({ length: 9 }, (_, i) => stranger(honestSource(`liar ${i}`, FORK)))
    const error = await clientOf(CHAIN, { root, sources: many })
      .verify(50, signal)
      .catch((reason: Error) => reason)
    expect(String(error)).toMatch(/from liar 4 has [^;]+; and 4 more$/)
  })

  it('their header in the middle of the true chain', async () => {
    expect(await problemOf(verify(forge(50, FORK.root.validators)), 'invalid')).toMatch(/are not those of the header/)
    const both = { validatorsHash: FORK.blocks[0]!.header.validatorsHash }
    expect(await problemOf(verify(forge(50, FORK.root.validators, both)), 'invalid')).toMatch(
      /validators are not those that height 49 announces/,
    )
  })

  it('a header that validators of long ago signed', async () => {
    const old = at(1).validators
    const forged = forge(50, old, { validatorsHash: at(1).header.validatorsHash })
    // From the genesis it looks right: within the trusting period these validators can be punished for it.
    expect(await verify(forged)).toBe(forged)
    // Not from a later trust point, nor beside an honest witness, nor when the genesis is too old.
    expect(await problemOf(verify(forged, { root: pointAt(40) }), 'invalid')).toMatch(/does not follow from height 49/)
    const liar = sourceOf('liar', (height) => (height === 50 ? forged : at(height)))
    const client = clientOf(CHAIN, { sources: [liar, honestSource('honest', CHAIN)] })
    await problemOf(client.verify(50, signal), 'conflictingHeaders')
    await problemOf(verify(forged, { nowMs: () => CHAIN.nowMs + 3_600_000 }), 'trustExpired')
  })

  it('what is signed by too few, for another header, or of another height', async () => {
    const { commit } = at(12)
    const sigs = commit.signatures
    const signed = (signatures: typeof sigs): LightBlock => ({ ...at(12), commit: { ...commit, signatures } })
    const cases: [LightBlock, RegExp][] = [
      [signed([sigs[0]!, sigs[0]!, sigs[0]!, sigs[0]!]), /signature 1 is the second of one validator/],
      [signed(at(13).commit.signatures), /signature 0 is wrong/],
      [{ ...at(12), commit: at(13).commit }, /the commit is for height 13/],
      [{ ...at(12), header: { ...at(12).header, appHash: new Uint8Array(32) } }, /the commit is for another header/],
      [{ ...at(12), validators: at(30).validators }, /the validators are not those of the header/],
    ]
    for (const [block, problem] of cases) {
      expect(await problemOf(verify(block), 'invalid')).toMatch(problem)
    }
    const shifted = sourceOf('node', (height) => CHAIN.blocks[height])
    expect(await problemOf(clientOf(CHAIN, { sources: [shifted] }).verify(12, signal), 'invalid')).toMatch(
      /^node returned an invalid light block of height 12: it is the block of height 13, not 12$/,
    )
  })

  it('another chain, and a header from the future', async () => {
    const other = forge(12, at(12).validators, { chainId: 'other_1-1' })
    expect(await problemOf(verify(other), 'invalid')).toMatch(/of the chain "other_1-1", not coin_76287-1/)
    const future = forge(12, at(12).validators, { timeMs: CHAIN.nowMs + 10_000 })
    expect(await problemOf(verify(future), 'invalid')).toMatch(/is in the future: compare the clock of this machine/)
  })

  it('a genesis and a trust point that are too old', async () => {
    const nowMs = () => CHAIN.root.timeMs + 3_600_000
    expect(await problemOf(verify(at(2), { nowMs }), 'trustExpired')).toMatch(
      /^the genesis is of 2026-\S+Z, longer ago than TRUST_PERIOD \(1 hours\): set TRUST_HEIGHT and TRUST_HASH/,
    )
    // The forger of block 1 can give it any time.
    const late = forge(1, at(1).validators, { timeMs: CHAIN.root.timeMs + 3_500_000 })
    await problemOf(verify(late, { nowMs }), 'trustExpired')
    const root = pointAt(20)
    for (const height of [20, 10, 30]) {
      const old = () => at(20).header.timeMs + 3_600_000
      expect(await problemOf(verify(at(height), { root, nowMs: old }), 'trustExpired')).toMatch(
        /^the trusted header of height 20 is of/,
      )
    }
  })

  it('a stranger that answers each time at the last moment, while the operator has patience with a node of his own', async () => {
    for (const isStranger of [true, false]) {
      let nowMs = CHAIN.nowMs
      const source = sourceOf('slow', (height) => {
        nowMs += 200_000
        return at(height)
      })
      const client = clientOf(CHAIN, { sources: [{ ...source, isStranger }], nowMs: () => nowMs })
      const verified = client.verify(BLOCKS, signal)
      if (isStranger)
        expect(await problemOf(verified, 'unavailable')).toBe('slow returns the headers below height 60 too slowly')
      else expect(await verified).toBe(at(BLOCKS))
    }
  })

  it('below the trust point: a source that answers each time at the last moment, while another one does not', async () => {
    let nowMs = CHAIN.nowMs
    const slow = sourceOf('slow', (height) => {
      nowMs += 9_000
      return at(height)
    })
    const sources = [slow, honestSource('fast', CHAIN)]
    const client = clientOf(CHAIN, { root: pointAt(55), sources, nowMs: () => nowMs })
    expect(await client.verify(5, signal)).toBe(at(5))
    expect(client.warnings[0]).toMatch(/^slow returns the headers below TRUST_HEIGHT too slowly$/)
    expect(slow.asked.length).toBeLessThan(12)
  })

  it('below the trust point: headers that the ones above do not name', async () => {
    const root = pointAt(20)
    const forged = forge(15, at(15).validators)
    expect(await problemOf(verify(forged, { root }), 'invalid')).toMatch(
      /^the header of height 15 from node is not the one before height 16$/,
    )
    const unsigned = { ...at(15), commit: { ...at(15).commit, signatures: at(14).commit.signatures } }
    expect(await problemOf(verify(unsigned, { root }), 'invalid')).toMatch(/height 15: signature 0 is wrong$/)
    const far: LightBlock = forge(20, at(20).validators, { height: 90_000 })
    const point = { ...far, commit: { ...far.commit, height: 90_000 } }
    const high = commitFor(
      { ...at(20).validators, priorities: [], proposer: 0 },
      90_000,
      point.commit.blockId,
      fakeSign,
      () => true,
    )
    const source = sourceOf('node', (height) =>
      height === 90_000 ? { ...far, commit: high } : CHAIN.blocks[height - 1],
    )
    const trust = { kind: 'point', height: 90_000, hash: headerHash(far.header) } as const
    const client = clientOf(CHAIN, { sources: [source], root: trust })
    expect(await problemOf(client.verify(15, signal), 'tooManySteps')).toMatch(
      /^TRUST_HEIGHT is 89985 blocks above height 15, .*to that height or a lower one$/,
    )
  })
})

describe('several sources', () => {
  const silent: LightBlockSource = {
    name: 'silent',
    fetch: async () => {
      throw new LightClientError('unavailable', 'silent does not answer')
    },
  }

  it('that agree', async () => {
    const sources = [honestSource('a', CHAIN), honestSource('b', CHAIN), honestSource('c', CHAIN)]
    const client = clientOf(CHAIN, { sources })
    expect(await client.verify(50, signal)).toBe(at(50))
    expect(sources.slice(1).map(({ asked }) => asked)).toEqual([[50], [50]])
    expect(client.warnings).toEqual([])
  })

  it('of which one has another header: both are named', async () => {
    for (const sources of [
      [honestSource('http://a', CHAIN), honestSource('http://b', FORK)],
      [honestSource('http://a', CHAIN), silent, honestSource('http://b', FORK)],
      // The first leads nowhere; the second does, and the first is compared with it.
      [honestSource('http://b', FORK), honestSource('http://a', CHAIN)],
    ]) {
      const message = await problemOf(clientOf(CHAIN, { sources }).verify(50, signal), 'conflictingHeaders')
      expect(message).toContain(`http://a that of the hash ${bytesToHex(CHAIN.hash(50)).slice(2)}`)
      expect(message).toContain(`http://b that of ${bytesToHex(FORK.hash(50)).slice(2)}`)
    }
  })

  it('of which a stranger has another header: it counts if it is proved', async () => {
    const stranger = (source: LightBlockSource) => ({ ...source, name: 'peer x', isStranger: true })
    for (const sources of [
      [honestSource('a', CHAIN), stranger(honestSource('b', FORK))],
      [stranger(honestSource('b', FORK)), honestSource('a', CHAIN)],
    ]) {
      const client = clientOf(CHAIN, { sources })
      expect(await client.verify(50, signal)).toBe(at(50))
      expect(client.warnings.at(-1)).toMatch(
        /^peer x has another header of height 50, but does not prove it: .*height 1 /,
      )
    }
    const forged = forge(50, at(1).validators, { validatorsHash: at(1).header.validatorsHash })
    const liar = stranger(sourceOf('b', (height) => (height === 50 ? forged : at(height))))
    const client = clientOf(CHAIN, { sources: [honestSource('a', CHAIN), liar] })
    expect(await problemOf(client.verify(50, signal), 'conflictingHeaders')).toContain('peer x that of')
  })

  it('of which one does not answer, or lacks the header, or gives something else', async () => {
    const lacking = sourceOf('lacking', () => undefined)
    const shifted = sourceOf('shifted', (height) => CHAIN.blocks[height])
    const others = [silent, lacking, shifted]
    const after = clientOf(CHAIN, { sources: [honestSource('a', CHAIN), ...others] })
    expect(await after.verify(50, signal)).toBe(at(50))
    expect(after.warnings).toEqual([
      'a header is not compared with another source: silent does not answer',
      'a header is not compared with another source: lacking does not have the header of height 50',
      'a header is not compared with another source: shifted returned an invalid light block of height 50: it is the block of height 51, not 50',
    ])
    const before = clientOf(CHAIN, { sources: [...others, honestSource('a', CHAIN)] })
    expect(await before.verify(50, signal)).toBe(at(50))
    expect(before.warnings[0]).toBe('silent does not answer')
    const none = clientOf(CHAIN, { sources: [silent, lacking] })
    expect(await problemOf(none.verify(50, signal), 'unavailable')).toBe(
      'silent does not answer; lacking does not have the header of height 50',
    )
  })
})
