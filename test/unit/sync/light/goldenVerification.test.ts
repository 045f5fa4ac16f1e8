import { describe, expect, it } from 'vitest'
import { headerHash } from '../../../../src/chain/comet/block.ts'
import { LightClientError } from '../../../../src/sync/light/lightBlockSource.ts'
import { LightClient } from '../../../../src/sync/light/lightClient.ts'
import { type LightClientRules, trustedStateOf, verifyHeader } from '../../../../src/sync/light/verifyHeader.ts'
import { lightBlockOf, VECTORS } from '../../../support/sync/light/lightVectors.ts'

const { chainId, trustingPeriodMs, maxClockDriftMs } = VECTORS
const rules: LightClientRules = { chainId, trustingPeriodMs, maxClockDriftMs }

describe("CometBFT's verdicts", () => {
  it.each(VECTORS.verify)('$name: $verdict', ({ trusted, untrusted, nowMs, verdict }) => {
    const state = trustedStateOf(lightBlockOf(trusted))
    expect(verifyHeader(state, lightBlockOf(untrusted), rules, nowMs).kind).toBe(verdict)
  })

  it('cover all outcomes', () => {
    const outcomes = new Set(VECTORS.verify.map(({ verdict }) => verdict))
    expect([...outcomes].sort()).toEqual(['distrusted', 'expired', 'invalid', 'valid'])
  })
})

describe("CometBFT's way to a height", () => {
  it.each(VECTORS.skipping)('$name: $verdict', async ({ chain, trusted, target, nowMs, verdict, asked }) => {
    const blocks = VECTORS.chains[chain]!.map(lightBlockOf)
    const fetched: number[] = []
    const source = {
      name: 'source',
      fetch: async (height: number) => {
        fetched.push(height)
        return blocks[height - 1]
      },
    }
    const client = new LightClient({
      rules,
      root: { kind: 'point', height: trusted, hash: headerHash(blocks[trusted - 1]!.header) },
      sources: [source],
      nowMs: () => nowMs,
      onWarning: () => expect.unreachable(),
    })
    const verified = client.verify(target, new AbortController().signal)
    if (verdict === 'valid') {
      expect(await verified).toEqual(blocks[target - 1])
      expect(fetched).toEqual([trusted, target, ...asked])
    } else {
      const error = await verified.catch((error: unknown) => error)
      expect(error).toBeInstanceOf(LightClientError)
      expect(error).toMatchObject({ kind: 'trustExpired' })
    }
  })
})
