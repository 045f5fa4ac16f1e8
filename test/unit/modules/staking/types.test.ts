import * as theirs from 'cosmjs-types/cosmos/staking/v1beta1/staking'
import * as theirMessages from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import * as messages from '../../../../src/modules/staking/messages.ts'
import { STAKING_MESSAGES } from '../../../../src/modules/staking/messages.ts'
import * as types from '../../../../src/modules/staking/types.ts'
import { Ed25519PubKey } from '../../../../src/modules/tx/publicKey.ts'
import { coin, count, decimals, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'

const any = fc.record({ typeUrl: text, value: fc.uint8Array({ minLength: 1 }) })
const amounts = fc.bigInt(1n, 2n ** 200n)
/** nanoseconds since the epoch, and of a period */
const time = fc.bigInt(1n, 2n ** 31n - 1n).map((seconds) => seconds * 1_000_000_000n + 400_000_000n)
const status = fc.integer({ min: 1, max: 3 })
const yes = fc.constant(true)
const small = fc.integer({ min: 1, max: 2 ** 31 - 1 })
const description = fc.record({ moniker: text, identity: text, website: text, securityContact: text, details: text })
const commissionRates = fc.record({ rate: decimals, maxRate: decimals, maxChangeRate: decimals })
const commission = fc.record({ commissionRates, updateTime: time })
const delegation = fc.record({ delegatorAddress: text, validatorAddress: text, shares: decimals })
const unbondingEntry = fc.record({
  creationHeight: count,
  completionTime: time,
  initialBalance: amounts,
  balance: amounts,
  unbondingId: count,
  unbondingOnHoldRefCount: count,
})
const redelegationEntry = fc.record({
  creationHeight: count,
  completionTime: time,
  initialBalance: amounts,
  sharesDst: decimals,
  unbondingId: count,
  unbondingOnHoldRefCount: count,
})
const redelegation = fc.record({
  delegatorAddress: text,
  validatorSrcAddress: text,
  validatorDstAddress: text,
  entries: fc.array(redelegationEntry, { maxLength: 3 }),
})
const params = fc.record({
  unbondingTime: time,
  maxValidators: small,
  maxEntries: small,
  historicalEntries: small,
  bondDenom: text,
  minCommissionRate: decimals,
})
const stake = fc.record({ delegatorAddress: text, validatorAddress: text, amount: coin })
const nothing = fc.constant({})

const CASES = [
  wireCase(types.Description, theirs.Description, description),
  wireCase(types.CommissionRates, theirs.CommissionRates, commissionRates),
  wireCase(types.Commission, theirs.Commission, commission),
  wireCase(
    types.SdkValidator,
    theirs.Validator,
    fc.record({
      operatorAddress: text,
      consensusPubkey: any,
      jailed: yes,
      status,
      tokens: amounts,
      delegatorShares: decimals,
      description,
      unbondingHeight: count,
      unbondingTime: time,
      commission,
      minSelfDelegation: amounts,
      unbondingOnHoldRefCount: count,
      // cosmjs-types writes a field of no bytes for none.
      unbondingIds: fc.array(count, { minLength: 1, maxLength: 3 }),
    }),
  ),
  wireCase(types.SdkDelegation, theirs.Delegation, delegation),
  wireCase(types.DelegationResponse, theirs.DelegationResponse, fc.record({ delegation, balance: coin })),
  wireCase(
    types.SdkUnbondingDelegation,
    theirs.UnbondingDelegation,
    fc.record({ delegatorAddress: text, validatorAddress: text, entries: fc.array(unbondingEntry, { maxLength: 3 }) }),
  ),
  wireCase(types.SdkRedelegation, theirs.Redelegation, redelegation),
  wireCase(
    types.RedelegationResponse,
    theirs.RedelegationResponse,
    fc.record({
      redelegation,
      entries: fc.array(fc.record({ redelegationEntry, balance: amounts }), { maxLength: 3 }),
    }),
  ),
  wireCase(types.Pool, theirs.Pool, fc.record({ notBondedTokens: amounts, bondedTokens: amounts })),
  wireCase(types.Params, theirs.Params, params),
  wireCase(
    messages.MsgCreateValidator,
    theirMessages.MsgCreateValidator,
    fc.record({
      description,
      commission: commissionRates,
      minSelfDelegation: amounts,
      delegatorAddress: text,
      validatorAddress: text,
      pubkey: any,
      value: coin,
    }),
  ),
  wireCase(
    messages.MsgEditValidator,
    theirMessages.MsgEditValidator,
    fc.record({ description, validatorAddress: text, commissionRate: decimals, minSelfDelegation: amounts }),
  ),
  wireCase(messages.MsgDelegate, theirMessages.MsgDelegate, stake),
  wireCase(messages.MsgUndelegate, theirMessages.MsgUndelegate, stake),
  wireCase(
    messages.MsgBeginRedelegate,
    theirMessages.MsgBeginRedelegate,
    fc.record({ delegatorAddress: text, validatorSrcAddress: text, validatorDstAddress: text, amount: coin }),
  ),
  wireCase(
    messages.MsgCancelUnbondingDelegation,
    theirMessages.MsgCancelUnbondingDelegation,
    fc.record({ delegatorAddress: text, validatorAddress: text, amount: coin, creationHeight: count }),
  ),
  wireCase(messages.MsgUpdateParams, theirMessages.MsgUpdateParams, fc.record({ authority: text, params })),
  wireCase(
    messages.MsgUndelegateResponse,
    theirMessages.MsgUndelegateResponse,
    fc.record({ completionTime: time, amount: coin }),
  ),
  wireCase(
    messages.MsgBeginRedelegateResponse,
    theirMessages.MsgBeginRedelegateResponse,
    fc.record({ completionTime: time }),
  ),
  wireCase(messages.MsgCreateValidatorResponse, theirMessages.MsgCreateValidatorResponse, nothing),
  wireCase(messages.MsgEditValidatorResponse, theirMessages.MsgEditValidatorResponse, nothing),
  wireCase(messages.MsgDelegateResponse, theirMessages.MsgDelegateResponse, nothing),
  wireCase(messages.MsgCancelUnbondingDelegationResponse, theirMessages.MsgCancelUnbondingDelegationResponse, nothing),
  wireCase(messages.MsgUpdateParamsResponse, theirMessages.MsgUpdateParamsResponse, nothing),
]

it.each(CASES.map((one) => [one.ours.name, one] as const))('%s has the wire format of the SDK', (_, one) => {
  expectSameWire(one)
})

/** What cosmossdk.io/api 1.1.0 writes; cosmjs-types does not know the message. */
it('a rotation of a key has the wire format of the SDK', () => {
  const key = Uint8Array.from({ length: 32 }, (_, index) => index)
  const written = messages.MsgRotateConsPubKey.encode({
    validatorAddress: 'coinvaloper1gxa5mpjruyz65c2dfxd890k0nqwu66k9r8yjft',
    newPubkey: { typeUrl: Ed25519PubKey.typeUrl, value: Ed25519PubKey.encode({ key }) },
  })
  expect(Buffer.from(written).toString('hex')).toBe(
    '0a32636f696e76616c6f70657231677861356d706a7275797a36356332646678643839306b306e71777536366b397238796a667412430a1d2f' +
      '636f736d6f732e63727970746f2e656432353531392e5075624b657912220a20' +
      Buffer.from(key).toString('hex'),
  )
  const params = types.Params.create({
    maxValidators: 5,
    bondDenom: 'acoin',
    keyRotationFee: { denom: 'acoin', amount: 7n },
  })
  expect(Buffer.from(types.Params.encode(params)).toString('hex')).toMatch(/3a0a0a0561636f696e120137$/)
})

it('covers all messages of the module and their answers', () => {
  const ROTATION = [messages.MsgRotateConsPubKey, messages.MsgRotateConsPubKeyResponse]
  const covered = [...CASES.map(({ ours }) => ours), ...ROTATION].map(({ typeUrl }) => typeUrl)
  expect(covered).toEqual(
    expect.arrayContaining(STAKING_MESSAGES.flatMap((one) => [one.type.typeUrl, one.response.typeUrl])),
  )
})

it('redelegations have the JSON that the SDK makes of them', () => {
  const completionTime = 1_797_141_059_821_000_000n
  const response = types.RedelegationResponse.create({
    redelegation: { delegatorAddress: 'coin1d', validatorSrcAddress: 'src', validatorDstAddress: 'dst', entries: [] },
    entries: [
      {
        redelegationEntry: {
          creationHeight: 568n,
          completionTime,
          initialBalance: 10n ** 18n,
          sharesDst: 10n ** 18n,
          unbondingId: 2n,
          unbondingOnHoldRefCount: 0n,
        },
        balance: 5n,
      },
    ],
  })
  // Made by cosmos-sdk 0.50.14 and gogogateway 1.2.0 of the same values.
  expect(JSON.stringify(types.RedelegationResponse.toJson(response, { typeOf: () => undefined }))).toBe(
    '{"redelegation":{"delegator_address":"coin1d","validator_src_address":"src","validator_dst_address":"dst",' +
      '"entries":null},"entries":[{"redelegation_entry":{"creation_height":568,' +
      '"completion_time":"2026-12-13T05:50:59.821Z","initial_balance":"1000000000000000000",' +
      '"shares_dst":"1.000000000000000000","unbonding_id":2},"balance":"5"}]}',
  )
})
