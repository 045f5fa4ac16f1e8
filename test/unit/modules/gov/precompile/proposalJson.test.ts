import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coinsOf } from '../../../../../src/modules/coin.ts'
import { GOV_AUTHORITY } from '../../../../../src/modules/gov/authority.ts'
import { readProposalJson } from '../../../../../src/modules/gov/precompile/proposalJson.ts'
import { MsgExecLegacyContent } from '../../../../../src/modules/gov/types.ts'
import { TextProposal } from '../../../../../src/modules/gov/typesV1beta1.ts'
import { ANY_TYPES, MESSAGES } from '../../../../../src/modules/messageTable.ts'
import { OUT_OF_GAS } from '../../../../../src/modules/precompileFunctions/dispatch.ts'
import { isSdkError, type Outcome } from '../../../../../src/modules/sdkError.ts'
import { MsgSoftwareUpgrade } from '../../../../../src/modules/upgrade/messages.ts'
import { Plan } from '../../../../../src/modules/upgrade/plan.ts'
import { anyOf, codeOf } from '../../../../support/modules/gov/govChain.ts'

const TYPES = { typeOf: (url: string) => MESSAGES.get(url)?.type ?? ANY_TYPES.get(url)?.type }

const PAID = () => true

describe('the JSON form of proposals', () => {
  it('holds messages, which may hold others, texts and a deposit', () => {
    const text = JSON.stringify({
      messages: [
        {
          '@type': '/cosmos.upgrade.v1beta1.MsgSoftwareUpgrade',
          authority: GOV_AUTHORITY,
          plan: { name: 'next', height: '1000', info: 'https://…', upgraded_client_state: null },
        },
        {
          '@type': '/cosmos.gov.v1.MsgExecLegacyContent',
          authority: GOV_AUTHORITY,
          content: { '@type': '/cosmos.gov.v1beta1.TextProposal', title: 'a', description: 'b' },
        },
      ],
      metadata: 'ipfs://CID',
      deposit: '10acoin',
      title: 'a title',
      summary: 'a summary',
      expedited: true,
      unknown: 1,
    })
    expect(readProposalJson(text, TYPES, PAID)).toEqual({
      messages: [
        anyOf(MsgSoftwareUpgrade, {
          authority: GOV_AUTHORITY,
          plan: Plan.create({ name: 'next', height: 1000n, info: 'https://…' }),
        }),
        anyOf(MsgExecLegacyContent, {
          authority: GOV_AUTHORITY,
          content: anyOf(TextProposal, { title: 'a', description: 'b' }),
        }),
      ],
      metadata: 'ipfs://CID',
      deposit: coinsOf(10n),
      title: 'a title',
      summary: 'a summary',
      expedited: true,
    })
  })

  it('may leave everything out', () => {
    const nothing = { messages: [], metadata: '', title: '', summary: '', expedited: false, deposit: [] }
    expect(readProposalJson('{}', TYPES, PAID)).toEqual(nothing)
    expect(readProposalJson('{"messages":null,"title":null,"deposit":null,"expedited":null}', TYPES, PAID)).toEqual(
      nothing,
    )
  })

  it.each([
    { text: '', code: 'sdk/18' },
    { text: '[]', code: 'sdk/18' },
    { text: '{"title":1}', code: 'sdk/18' },
    { text: '{"expedited":"yes"}', code: 'sdk/18' },
    { text: '{"deposit":"many"}', code: 'sdk/10' },
    { text: '{"deposit":"0acoin"}', code: 'sdk/10' },
    { text: '{"deposit":"1acoin,2acoin"}', code: 'sdk/10' },
    { text: '{"deposit":5}', code: 'sdk/18' },
    { text: '{"messages":{}}', code: 'sdk/18' },
    { text: '{"messages":[1]}', code: 'sdk/18' },
    { text: '{"messages":[{}]}', code: 'sdk/18' },
    { text: '{"messages":[{"@type":"/a.B"}]}', code: 'sdk/18' },
    { text: '{"messages":[{"@type":"/cosmos.upgrade.v1beta1.MsgCancelUpgrade","height":1}]}', code: 'sdk/18' },
    {
      text: '{"messages":[{"@type":"/cosmos.gov.v1.MsgExecLegacyContent","content":{"@type":"/a.B"}}]}',
      code: 'sdk/18',
    },
  ])('$text is refused', ({ text, code }) => {
    expect(codeOf(readProposalJson(text, TYPES, PAID) as Outcome<unknown>)).toBe(code)
  })

  it('is not read when its values are not paid', () => {
    const charged: bigint[] = []
    const charge = (gas: bigint) => charged.push(gas) < 1
    const text = `{"messages":[${Array(1_000).fill('{}')}]}`
    expect(readProposalJson(text, TYPES, charge)).toBe(OUT_OF_GAS)
    expect(charged[0]).toBeGreaterThan(50n * 1_000n)
  })

  it('is read or refused, whatever the JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const read = readProposalJson(text, TYPES, PAID)
        return isSdkError(read) || (typeof read !== 'symbol' && read.messages.length === 0)
      }),
    )
  })
})
