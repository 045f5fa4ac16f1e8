import * as theirs from 'cosmjs-types/cosmos/auth/v1beta1/auth'
import * as theirMessages from 'cosmjs-types/cosmos/auth/v1beta1/tx'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { AuthMsgUpdateParams, AuthMsgUpdateParamsResponse } from '../../../../src/modules/auth/messages.ts'
import { AUTH_PARAMS, AuthParams, DEFAULT_AUTH_PARAMS, initAuth } from '../../../../src/modules/auth/params.ts'
import { getPublicKey, storePublicKey } from '../../../../src/modules/auth/publicKeys.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { publicKeyToAny } from '../../../../src/modules/tx/publicKey.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { testAccount } from '../../../native/signTransaction.ts'
import { count, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const alice = testAccount(1)
const block = { height: 1, timeMs: 0 }

let world: Journal
beforeEach(() => {
  world = new Journal(new MemoryStateReader())
  initAuth(world.native, DEFAULT_AUTH_PARAMS)
})

describe('types of cosmos.auth', () => {
  const params = fc.record({
    maxMemoCharacters: count,
    txSigLimit: count,
    txSizeCostPerByte: count,
    sigVerifyCostEd25519: count,
    sigVerifyCostSecp256k1: count,
  })
  it.each([
    wireCase(AuthParams, theirs.Params, params),
    wireCase(AuthMsgUpdateParams, theirMessages.MsgUpdateParams, fc.record({ authority: text, params })),
    wireCase(AuthMsgUpdateParamsResponse, theirMessages.MsgUpdateParamsResponse, fc.constant({})),
  ])('are written as cosmjs-types writes them', (given) => expectSameWire(given))
})

describe('parameters', () => {
  const handler = MESSAGES.get(AuthMsgUpdateParams.typeUrl)!
  const params = { ...DEFAULT_AUTH_PARAMS, maxMemoCharacters: 512n }

  it('are changed by governance only', () => {
    expect(handler.run({ world, block }, { authority: alice.bech32, params })).toMatchObject({
      codespace: 'gov',
      code: 13,
    })
    expect(AUTH_PARAMS.get(world.native)).toEqual(DEFAULT_AUTH_PARAMS)
    expect(handler.run({ world, block }, { authority: GOV_AUTHORITY, params })).toEqual(new Uint8Array(0))
    expect(AUTH_PARAMS.get(world.native)).toEqual(params)
  })

  it.each(Object.keys(DEFAULT_AUTH_PARAMS))('%s cannot be 0', (name) => {
    const message = { authority: GOV_AUTHORITY, params: { ...params, [name]: 0n } }
    expect(handler.validate(message)).toMatchObject({ codespace: 'sdk', code: 18 })
  })
})

it('the limit of signatures has a limit', () => {
  const handler = MESSAGES.get(AuthMsgUpdateParams.typeUrl)!
  const withLimit = (txSigLimit: bigint) => ({
    authority: GOV_AUTHORITY,
    params: { ...DEFAULT_AUTH_PARAMS, txSigLimit },
  })
  expect(handler.validate(withLimit(100n))).toBeUndefined()
  expect(handler.validate(withLimit(101n))).toMatchObject({ codespace: 'sdk', code: 18 })
})

describe('public keys', () => {
  it('are kept once', () => {
    const [first, second] = [publicKeyToAny(keyOf(alice)), publicKeyToAny(keyOf(testAccount(2)))]
    expect(getPublicKey(world.native, alice.address)).toBeUndefined()
    storePublicKey(world.native, alice.address, first)
    storePublicKey(world.native, alice.address, second)
    expect(getPublicKey(world.native, alice.address)).toEqual(first)
  })
})
