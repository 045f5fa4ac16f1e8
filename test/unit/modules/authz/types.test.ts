import * as theirs from 'cosmjs-types/cosmos/authz/v1beta1/authz'
import * as theirMessages from 'cosmjs-types/cosmos/authz/v1beta1/tx'
import * as theirSend from 'cosmjs-types/cosmos/bank/v1beta1/authz'
import * as theirStake from 'cosmjs-types/cosmos/staking/v1beta1/authz'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { authzMessages } from '../../../../src/modules/authz/messages.ts'
import * as ours from '../../../../src/modules/authz/types.ts'
import { coin, expectSameWire, type TheirMessage, text, wireCase } from '../../../support/modules/wireCases.ts'

const any = fc.record({ typeUrl: text, value: fc.uint8Array({ minLength: 1 }) })
const time = fc.bigInt(1n, 2n ** 31n - 1n).map((seconds) => seconds * 1_000_000_000n)
const grant = fc.record({ authorization: any, expiration: time })
const names = fc.array(text)

const CASES = [
  wireCase(ours.GenericAuthorization, theirs.GenericAuthorization, fc.record({ msg: text })),
  wireCase(
    ours.SendAuthorization,
    theirSend.SendAuthorization,
    fc.record({ spendLimit: fc.array(coin), allowList: names }),
  ),
  wireCase(
    ours.StakeAuthorization,
    theirStake.StakeAuthorization,
    fc.record({
      maxTokens: coin,
      allowList: fc.record({ address: names }),
      denyList: fc.constant(undefined),
      authorizationType: fc.integer({ min: 1, max: 4 }),
    }),
  ),
  wireCase(ours.Grant, theirs.Grant, grant),
  wireCase(
    ours.GrantAuthorization,
    theirs.GrantAuthorization,
    fc.record({ granter: text, grantee: text, authorization: any, expiration: time }),
  ),
  wireCase(ours.MsgGrant, theirMessages.MsgGrant, fc.record({ granter: text, grantee: text, grant })),
  wireCase(ours.MsgExec, theirMessages.MsgExec, fc.record({ grantee: text, msgs: fc.array(any) })),
  wireCase(
    ours.MsgExecResponse,
    theirMessages.MsgExecResponse,
    fc.record({ results: fc.array(fc.uint8Array({ minLength: 1 })) }),
  ),
  wireCase(ours.MsgRevoke, theirMessages.MsgRevoke, fc.record({ granter: text, grantee: text, msgTypeUrl: text })),
]

it.each(CASES.map((wire) => ({ name: wire.ours.name, wire })))('$name is encoded as cosmjs-types does', ({ wire }) => {
  expectSameWire(wire)
})

it('names of answers are those of the SDK', () => {
  const known = theirMessages as unknown as Readonly<Record<string, TheirMessage>>
  for (const { type, response } of authzMessages(() => new Map())) {
    expect(known[`${type.name.split('.').at(-1)}Response`]?.typeUrl).toBe(response.typeUrl)
  }
})
