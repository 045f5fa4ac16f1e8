import { MsgBeginRedelegateResponse, MsgUndelegateResponse } from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import { describe, expect, it } from 'vitest'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { type Outcome, SdkError } from '../../../../src/modules/sdkError.ts'
import { getDelegation } from '../../../../src/modules/staking/delegations.ts'
import { STAKING_MESSAGES } from '../../../../src/modules/staking/messages.ts'
import { STAKING_PARAMS } from '../../../../src/modules/staking/params.ts'
import type { Params } from '../../../../src/modules/staking/types.ts'
import { getUnbonding } from '../../../../src/modules/staking/unbonding.ts'
import { Ed25519PubKey } from '../../../../src/modules/tx/publicKey.ts'
import { validateMessage } from '../../../../src/modules/tx/transactionDecoder.ts'
import { BECH32_OPERATOR, toBech32, toChecksumAddress } from '../../../../src/primitives/address.ts'
import { bytesKey } from '../../../../src/primitives/bytes.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const ANN = account(8)
const ann = toBech32(ANN)
const operator = (address: Uint8Array) => toBech32(address, BECH32_OPERATOR)
const acoin = (amount: bigint, denom = 'acoin') => ({ denom, amount })
const key = (bytes = 32) => ({
  typeUrl: Ed25519PubKey.typeUrl,
  value: Ed25519PubKey.encode({ key: new Uint8Array(bytes).fill(5) }),
})

function chain(): StakingChain {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 10n * COIN },
      { operator: B, stake: 20n * COIN },
    ],
    holders: [ANN],
  })
  net.block()
  net.begin()
  return net
}

const handlerOf = (name: string) => STAKING_MESSAGES.find(({ type }) => type.name.endsWith(`.${name}`))!

/** Runs a message as a transaction does: nothing of one that fails stays. */
function run(net: StakingChain, name: string, values: object): Outcome<Uint8Array> {
  const handler = handlerOf(name)
  const { world } = net.context
  // As it comes from the wire.
  const message = handler.type.decode(handler.type.encode(handler.type.create(values)))
  world.checkpoint()
  const outcome = validateMessage(handler, message) ?? handler.run(net.context, message)
  if (outcome instanceof SdkError) world.revert()
  else world.commit()
  net.check()
  return outcome
}

const DELEGATE = { delegatorAddress: ann, validatorAddress: operator(A), amount: acoin(5n * COIN) }
const DESCRIPTION = { moniker: 'm', identity: '', website: '', securityContact: '', details: '' }
const CREATE = {
  description: DESCRIPTION,
  commission: { rate: 0n, maxRate: ONE, maxChangeRate: ONE },
  minSelfDelegation: 1n,
  delegatorAddress: '',
  validatorAddress: operator(ANN),
  pubkey: key(),
  value: acoin(COIN),
}

describe('messages of staking', () => {
  it('name their signers, their module and what Ledgers call them', () => {
    const told = STAKING_MESSAGES.map(({ type, aminoName, module, signers }) => [
      type.name.slice(type.name.lastIndexOf('.') + 1),
      aminoName,
      module,
      signers(
        type.create({
          ...DELEGATE,
          authority: GOV_AUTHORITY,
          ...(/Validator|Rotate/.test(type.name) && { validatorAddress: operator(B) }),
        }),
      ).map((address) => bytesKey(address)),
    ])
    const gov = handlerOf('MsgUpdateParams').signers(
      handlerOf('MsgUpdateParams').type.create({ authority: GOV_AUTHORITY }),
    )
    expect(told).toEqual([
      ['MsgCreateValidator', 'cosmos-sdk/MsgCreateValidator', 'staking', [bytesKey(B)]],
      ['MsgEditValidator', 'cosmos-sdk/MsgEditValidator', 'staking', [bytesKey(B)]],
      ['MsgRotateConsPubKey', 'cosmos-sdk/MsgRotateConsPubKey', 'staking', [bytesKey(B)]],
      ['MsgDelegate', 'cosmos-sdk/MsgDelegate', 'staking', [bytesKey(ANN)]],
      ['MsgBeginRedelegate', 'cosmos-sdk/MsgBeginRedelegate', 'staking', [bytesKey(ANN)]],
      ['MsgUndelegate', 'cosmos-sdk/MsgUndelegate', 'staking', [bytesKey(ANN)]],
      ['MsgCancelUnbondingDelegation', 'cosmos-sdk/MsgCancelUnbondingDelegation', 'staking', [bytesKey(ANN)]],
      ['MsgUpdateParams', 'cosmos-sdk/x/staking/MsgUpdateParams', 'staking', gov.map(bytesKey)],
    ])
  })

  it('stake, move, take back and put back coins', () => {
    const net = chain()
    const { native } = net.context.world
    const { timeMs } = net.context.block
    expect(run(net, 'MsgDelegate', DELEGATE)).toEqual(new Uint8Array(0))
    const moved = run(net, 'MsgBeginRedelegate', {
      delegatorAddress: ann,
      validatorSrcAddress: operator(A),
      validatorDstAddress: operator(B),
      amount: acoin(COIN),
    })
    const seconds = BigInt(Math.floor((timeMs + 4000) / 1000))
    expect(MsgBeginRedelegateResponse.decode(moved as Uint8Array).completionTime.seconds).toBe(seconds)
    const taken = run(net, 'MsgUndelegate', { ...DELEGATE, amount: acoin(2n * COIN) })
    expect(MsgUndelegateResponse.decode(taken as Uint8Array)).toMatchObject({
      completionTime: { seconds },
      amount: { denom: 'acoin', amount: (2n * COIN).toString() },
    })
    const cancelled = { ...DELEGATE, amount: acoin(COIN), creationHeight: 2n }
    expect(run(net, 'MsgCancelUnbondingDelegation', cancelled)).toEqual(new Uint8Array(0))
    expect(getDelegation(native, ANN, A)!.shares).toBe(decimalOf(3n * COIN))
    expect(getDelegation(native, ANN, B)!.shares).toBe(decimalOf(COIN))
    expect(getUnbonding(native, ANN, A)!.entries).toMatchObject([{ balance: COIN }])
  })

  it('take addresses in both encodings', () => {
    const net = chain()
    const both = { ...DELEGATE, delegatorAddress: toChecksumAddress(ANN), validatorAddress: toChecksumAddress(A) }
    expect(run(net, 'MsgDelegate', both)).toEqual(new Uint8Array(0))
  })

  it('make and edit validators', () => {
    const net = chain()
    expect(run(net, 'MsgCreateValidator', CREATE)).toEqual(new Uint8Array(0))
    expect(net.validator(ANN)).toMatchObject({ tokens: COIN, publicKey: new Uint8Array(32).fill(5) })
    const edited = { description: { ...DESCRIPTION, moniker: 'n' }, validatorAddress: operator(ANN) }
    expect(run(net, 'MsgEditValidator', edited)).toEqual(new Uint8Array(0))
    expect(net.validator(ANN)).toMatchObject({ description: { moniker: 'n' }, minSelfDelegation: 1n })
    const raised = { ...edited, minSelfDelegation: 2n, commissionRate: 0n }
    expect(run(net, 'MsgEditValidator', raised)).toMatchObject({ codespace: 'staking', code: 12 })
  })

  const invalidAddress = { codespace: 'sdk', code: 7 }
  const invalidRequest = { codespace: 'sdk', code: 18 }
  const redelegate = {
    delegatorAddress: ann,
    validatorSrcAddress: operator(A),
    validatorDstAddress: operator(B),
    amount: acoin(1n),
  }
  const own = { ...DELEGATE, delegatorAddress: toBech32(A) }
  const edit = { description: DESCRIPTION, validatorAddress: operator(A) }
  it.each<[string, string, object, object]>([
    ['no delegator', 'MsgDelegate', { ...DELEGATE, delegatorAddress: '' }, invalidAddress],
    ['an operator for a delegator', 'MsgDelegate', { ...DELEGATE, delegatorAddress: operator(ANN) }, invalidAddress],
    ['no validator', 'MsgDelegate', { ...DELEGATE, validatorAddress: '' }, invalidAddress],
    ['an account for a validator', 'MsgDelegate', { ...DELEGATE, validatorAddress: ann }, invalidAddress],
    ['no coins', 'MsgDelegate', { ...DELEGATE, amount: acoin(0n) }, invalidRequest],
    ['negative coins', 'MsgDelegate', { ...DELEGATE, amount: acoin(-5n) }, invalidRequest],
    ['no denomination', 'MsgDelegate', { ...DELEGATE, amount: acoin(5n, '') }, invalidRequest],
    ['another denomination', 'MsgDelegate', { ...DELEGATE, amount: acoin(5n, 'uatom') }, invalidRequest],
    ['another denomination', 'MsgUndelegate', { ...own, amount: acoin(5n, 'uatom') }, invalidRequest],
    [
      'another denomination of nothing',
      'MsgUndelegate',
      { ...DELEGATE, amount: acoin(5n, 'uatom') },
      { codespace: 'staking', code: 19 },
    ],
    [
      'another denomination for nobody',
      'MsgDelegate',
      { ...DELEGATE, validatorAddress: operator(ANN), amount: acoin(5n, 'uatom') },
      { codespace: 'staking', code: 3 },
    ],
    ['negative coins', 'MsgUndelegate', { ...DELEGATE, amount: acoin(-5n) }, invalidRequest],
    [
      'another denomination',
      'MsgBeginRedelegate',
      { ...redelegate, delegatorAddress: toBech32(A), amount: acoin(5n, 'uatom') },
      invalidRequest,
    ],
    [
      'another denomination of nothing',
      'MsgBeginRedelegate',
      { ...redelegate, amount: acoin(5n, 'uatom') },
      { codespace: 'staking', code: 19 },
    ],
    ['no destination', 'MsgBeginRedelegate', { ...redelegate, validatorDstAddress: '' }, invalidAddress],
    ['no source', 'MsgBeginRedelegate', { ...redelegate, validatorSrcAddress: 'x' }, invalidAddress],
    ['no height', 'MsgCancelUnbondingDelegation', DELEGATE, invalidRequest],
    ['a negative height', 'MsgCancelUnbondingDelegation', { ...DELEGATE, creationHeight: -1n }, invalidRequest],
    [
      'more than anybody has',
      'MsgDelegate',
      { ...DELEGATE, amount: acoin(2n ** 256n - 1n) },
      { codespace: 'sdk', code: 5 },
    ],
    ['no commission', 'MsgCreateValidator', { ...CREATE, commission: undefined }, invalidRequest],
    ['no key', 'MsgCreateValidator', { ...CREATE, pubkey: undefined }, { codespace: 'staking', code: 39 }],
    ['a short key', 'MsgCreateValidator', { ...CREATE, pubkey: key(31) }, { codespace: 'sdk', code: 8 }],
    [
      'a key that is none',
      'MsgCreateValidator',
      { ...CREATE, pubkey: { ...key(), value: Uint8Array.of(1) } },
      { codespace: 'sdk', code: 8 },
    ],
    [
      'another kind of key',
      'MsgCreateValidator',
      { ...CREATE, pubkey: { ...key(), typeUrl: '/cosmos.crypto.secp256k1.PubKey' } },
      { codespace: 'staking', code: 6 },
    ],
    ['stake of another kind', 'MsgCreateValidator', { ...CREATE, value: acoin(COIN, 'uatom') }, invalidRequest],
    [
      'stake of another kind by a validator',
      'MsgCreateValidator',
      { ...CREATE, validatorAddress: operator(A), value: acoin(COIN, 'uatom') },
      { codespace: 'staking', code: 4 },
    ],
    ['no operator', 'MsgCreateValidator', { ...CREATE, validatorAddress: '' }, invalidAddress],
    ['no operator', 'MsgEditValidator', { ...edit, validatorAddress: '' }, invalidAddress],
    ['a rate above 1', 'MsgEditValidator', { ...edit, commissionRate: ONE + 1n }, invalidRequest],
    ['no authority', 'MsgUpdateParams', {}, invalidAddress],
  ])('with %s are refused: %s', (_, name, values, expected) => {
    expect(run(chain(), name, values)).toMatchObject(expected)
  })

  it('cost gas that does not depend on state', () => {
    const gas = STAKING_MESSAGES.map((handler) => handler.gas(handler.type.create()))
    expect(gas.every((one) => one >= 12_000n)).toBe(true)
  })
})

describe('parameters', () => {
  const change = (net: StakingChain, changed: Partial<Params>, authority = GOV_AUTHORITY) => {
    const params = { ...STAKING_PARAMS.get(net.context.world.native), ...changed }
    return run(net, 'MsgUpdateParams', { authority, params })
  }

  it('change by governance, and act at the end of the block', () => {
    const net = chain()
    expect(change(net, { maxValidators: 1, maxEntries: 3, unbondingTime: 60_000_000_000n })).toEqual(new Uint8Array(0))
    expect(STAKING_PARAMS.get(net.context.world.native)).toMatchObject({ maxValidators: 1, maxEntries: 3 })
    net.end()
    expect([net.validator(A).status, net.validator(B).status]).toEqual(['unbonding', 'bonded'])
    expect(net.validator(A).unbondingTimeMs - net.context.block.timeMs).toBe(60_000)
    net.check()
  })

  it.each<[string, Partial<Params>]>([
    ['no unbonding time', { unbondingTime: 0n }],
    ['a negative unbonding time', { unbondingTime: -1_000_000_000n }],
    ['no validators', { maxValidators: 0 }],
    ['more validators than consensus has places for', { maxValidators: 51 }],
    ['no entries', { maxEntries: 0 }],
    ['another denomination', { bondDenom: 'uatom' }],
    ['a negative commission', { minCommissionRate: -1n }],
    ['a commission above 1', { minCommissionRate: ONE + 1n }],
  ])('with %s are refused', (_, changed) => {
    expect(change(chain(), changed)).toMatchObject({ codespace: 'sdk', code: 18 })
  })

  it('do not change by anybody else', () => {
    expect(change(chain(), {}, ann)).toMatchObject({ codespace: 'gov' })
  })
})
