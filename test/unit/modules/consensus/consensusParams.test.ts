import * as theirMessages from 'cosmjs-types/cosmos/consensus/v1/tx'
import * as theirs from 'cosmjs-types/tendermint/types/params'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { CONSENSUS_MESSAGES, MsgUpdateParams } from '../../../../src/modules/consensus/messages.ts'
import { CONSENSUS_PARAMS, ConsensusParams, maxBlockGas } from '../../../../src/modules/consensus/params.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { codeOf, eventTexts, GovChain, HOLDERS, succeeded } from '../../../support/modules/gov/govChain.ts'
import { count, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'

type Update = ReturnType<typeof MsgUpdateParams.create>

let chain: GovChain
let unchanged: Update

beforeEach(() => {
  chain = new GovChain()
  const { version: _, ...sections } = CONSENSUS_PARAMS.get(chain.native)
  unchanged = { authority: GOV_AUTHORITY, ...sections }
})

describe('consensus parameters', () => {
  it('are those of the genesis', () => {
    expect(CONSENSUS_PARAMS.get(chain.native)).toEqual({
      block: { maxBytes: 2_000_000n, maxGas: 100_000_000n },
      evidence: { maxAgeNumBlocks: 4_536_000n, maxAgeDuration: 1_814_400_000_000_000n, maxBytes: 1_048_576n },
      validator: { pubKeyTypes: ['ed25519'] },
      version: { app: 0n },
      abci: { voteExtensionsEnableHeight: 0n },
    })
  })

  it.each([2n ** 24n, 45_000_000n, 2n ** 30n])('let governance set a block gas limit of %s', (maxGas) => {
    const { events } = succeeded(chain.send(MsgUpdateParams, { ...unchanged, block: { ...unchanged.block!, maxGas } }))
    expect(maxBlockGas(chain.native)).toBe(maxGas)
    // As Go prints tendermint.types.ConsensusParams of CometBFT 0.38.
    const rest =
      'evidence:<max_age_num_blocks:4536000 max_age_duration:<seconds:1814400 > max_bytes:1048576 > validator:<pub_key_types:"ed25519" > version:<>'
    expect(eventTexts(events)).toEqual([
      `update_consensus_params: authority=${GOV_AUTHORITY}, parameters=block:<max_bytes:2000000 max_gas:${maxGas} > ${rest} abci:<> `,
    ])
    const again = succeeded(chain.send(MsgUpdateParams, { ...unchanged, abci: undefined }))
    expect(eventTexts(again.events)[0]).toMatch(/version:<> $/)
    const { authority: _, ...sections } = unchanged
    expect(CONSENSUS_PARAMS.get(chain.native)).toEqual({ ...sections, version: { app: 0n } })
  })

  it.each<{ name: string; change: (message: Update) => Partial<Update>; code: string }>([
    { name: 'somebody else asks', change: () => ({ authority: toBech32(HOLDERS[0]!) }), code: 'gov/13' },
    { name: 'there is no block section', change: () => ({ block: undefined }), code: 'sdk/18' },
    { name: 'there is no evidence section', change: () => ({ evidence: undefined }), code: 'sdk/18' },
    { name: 'there is no validator section', change: () => ({ validator: undefined }), code: 'sdk/18' },
    {
      name: 'the gas limit is not enough',
      change: ({ block }) => ({ block: { ...block!, maxGas: 2n ** 24n - 1n } }),
      code: 'sdk/18',
    },
    {
      name: 'the gas limit is unlimited',
      change: ({ block }) => ({ block: { ...block!, maxGas: -1n } }),
      code: 'sdk/18',
    },
    {
      name: 'the gas limit is too large',
      change: ({ block }) => ({ block: { ...block!, maxGas: 2n ** 30n + 1n } }),
      code: 'sdk/18',
    },
    { name: 'the block size changes', change: ({ block }) => ({ block: { ...block!, maxBytes: 1n } }), code: 'sdk/18' },
    {
      name: 'the age of evidence changes',
      change: ({ evidence }) => ({ evidence: { ...evidence!, maxAgeNumBlocks: 1n } }),
      code: 'sdk/18',
    },
    { name: 'key types change', change: () => ({ validator: { pubKeyTypes: ['secp256k1'] } }), code: 'sdk/18' },
    {
      name: 'vote extensions are asked for',
      change: () => ({ abci: { voteExtensionsEnableHeight: 9n } }),
      code: 'sdk/18',
    },
  ])('do not change when $name', ({ change, code }) => {
    const before = CONSENSUS_PARAMS.get(chain.native)
    expect(codeOf(chain.send(MsgUpdateParams, { ...unchanged, ...change(unchanged) }))).toBe(code)
    expect(CONSENSUS_PARAMS.get(chain.native)).toEqual(before)
  })

  it('are encoded as cosmjs-types does', () => {
    const block = fc.record({ maxBytes: count, maxGas: count })
    const evidence = fc.record({ maxAgeNumBlocks: count, maxAgeDuration: count, maxBytes: count })
    const validator = fc.record({ pubKeyTypes: fc.array(text) })
    const abci = fc.record({ voteExtensionsEnableHeight: count })
    const sections = { block, evidence, validator, abci }
    const version = fc.record({ app: count })
    expectSameWire(wireCase(ConsensusParams, theirs.ConsensusParams, fc.record({ ...sections, version })))
    expectSameWire(
      wireCase(MsgUpdateParams, theirMessages.MsgUpdateParams, fc.record({ authority: text, ...sections })),
    )
    expect(CONSENSUS_MESSAGES[0]!.response.typeUrl).toBe(theirMessages.MsgUpdateParamsResponse.typeUrl)
  })
})
