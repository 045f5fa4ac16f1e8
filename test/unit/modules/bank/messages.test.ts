import * as theirTypes from 'cosmjs-types/cosmos/bank/v1beta1/bank'
import * as theirs from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import * as ours from '../../../../src/modules/bank/messages.ts'
import {
  BANK_PARAMS,
  BankParams,
  getMetadata,
  initBank,
  isSendEnabled,
  Metadata,
  SendEnabled,
  sendEnabledEntries,
} from '../../../../src/modules/bank/params.ts'
import { burnCoins, isBlockedAddress, mintCoins, sendCoins } from '../../../../src/modules/bank/send.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { BONDED_POOL, GOVERNANCE, MINT } from '../../../../src/modules/moduleAccounts.ts'
import { SdkError } from '../../../../src/modules/sdkError.ts'
import { validateMessage } from '../../../../src/modules/tx/transactionDecoder.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import type { MessageType } from '../../../../src/primitives/protoSchema.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { testAccount } from '../../../native/signTransaction.ts'
import { coin, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const [alice, bob, carol] = [testAccount(1), testAccount(2), testAccount(3)]
const METADATA = Metadata.create({ base: 'acoin', display: 'COIN', symbol: 'COIN' })
const block = { height: 1, timeMs: 0 }

let world: Journal

beforeEach(() => {
  world = new Journal(new MemoryStateReader())
  initBank(world.native, {
    params: { sendEnabled: [], defaultSendEnabled: true },
    sendEnabled: [],
    metadata: [METADATA],
  })
  mintCoins({ world }, alice.address, 100n)
  world.beginTransaction()
})

/** Checks and runs a message as a transaction would. */
function run<T>(type: MessageType<T>, values: Partial<T>): SdkError | undefined {
  const handler = MESSAGES.get(type.typeUrl)!
  const message = type.create(values)
  const invalid = validateMessage(handler, message)
  if (invalid !== undefined) return invalid
  world.checkpoint()
  const answer = handler.run({ world, block }, message)
  if (answer instanceof SdkError) {
    world.revert()
    return answer
  }
  world.commit()
  expect(answer).toEqual(handler.response.encode({} as never))
  return undefined
}

const texts = () =>
  world
    .events()
    .map(({ type, attributes }) => `${type}{${attributes.map(({ key, value }) => `${key}=${value}`).join(',')}}`)

const coins = (amount: bigint, denom = 'acoin') => [{ denom, amount }]
const party = (account: { bech32: string }, amount: bigint, denom = 'acoin') => ({
  address: account.bech32,
  coins: coins(amount, denom),
})

describe('messages and types of cosmos.bank', () => {
  const entry = fc.record({ denom: text, enabled: fc.constant(true) })
  const params = fc.record({ sendEnabled: fc.array(entry), defaultSendEnabled: fc.constant(true) })
  const input = fc.record({ address: text, coins: fc.array(coin) })
  const nothing = fc.constant({})
  const CASES = [
    wireCase(ours.MsgSend, theirs.MsgSend, fc.record({ fromAddress: text, toAddress: text, amount: fc.array(coin) })),
    wireCase(ours.MsgSendResponse, theirs.MsgSendResponse, nothing),
    wireCase(ours.MsgMultiSend, theirs.MsgMultiSend, fc.record({ inputs: fc.array(input), outputs: fc.array(input) })),
    wireCase(ours.MsgMultiSendResponse, theirs.MsgMultiSendResponse, nothing),
    wireCase(ours.BankMsgUpdateParams, theirs.MsgUpdateParams, fc.record({ authority: text, params })),
    wireCase(ours.BankMsgUpdateParamsResponse, theirs.MsgUpdateParamsResponse, nothing),
    wireCase(
      ours.MsgSetSendEnabled,
      theirs.MsgSetSendEnabled,
      fc.record({ authority: text, sendEnabled: fc.array(entry), useDefaultFor: fc.array(text) }),
    ),
    wireCase(ours.MsgSetSendEnabledResponse, theirs.MsgSetSendEnabledResponse, nothing),
    wireCase(BankParams, theirTypes.Params, params),
    wireCase(SendEnabled, theirTypes.SendEnabled, entry),
  ]
  it.each(CASES.map((given) => [given.ours.name, given] as const))(
    '%s is written as cosmjs-types writes it',
    (_, given) => {
      expectSameWire(given)
    },
  )
})

describe('MsgSend', () => {
  it('moves coins, with the events of the SDK in their order', () => {
    expect(run(ours.MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coins(40n) })).toBeUndefined()
    expect([world.getBalance(alice.address), world.getBalance(bob.address)]).toEqual([60n, 40n])
    expect(texts()).toEqual([
      `coin_spent{spender=${alice.bech32},amount=40acoin}`,
      `coin_received{receiver=${bob.bech32},amount=40acoin}`,
      `transfer{recipient=${bob.bech32},sender=${alice.bech32},amount=40acoin}`,
      `message{sender=${alice.bech32}}`,
    ])
  })

  it.each([
    [
      'more than there is',
      101n,
      'acoin',
      5,
      'sdk',
      'spendable balance 100acoin is smaller than 101acoin: insufficient funds',
    ],
    [
      'another denomination',
      1n,
      'other',
      5,
      'sdk',
      'spendable balance 0other is smaller than 1other: insufficient funds',
    ],
    ['nothing', 0n, 'acoin', 10, 'sdk', '0acoin: invalid coins'],
    ['less than nothing', -1n, 'acoin', 10, 'sdk', '-1acoin: invalid coins'],
    ['a denomination that is none', 1n, 'a', 10, 'sdk', '1a: invalid coins'],
  ])('refuses %s', (_, amount, denom, code, codespace, message) => {
    const error = run(ours.MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coins(amount, denom) })
    expect(error).toEqual(new SdkError(codespace, code, message))
    expect([world.getBalance(alice.address), texts()]).toEqual([100n, []])
  })

  it.each([
    ['a module', toBech32(BONDED_POOL)],
    ['governance', GOV_AUTHORITY],
    ['the staking precompile', '0x0000000000000000000000000000000000000800'],
    ['the native token', '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'],
  ])('refuses %s as the receiver', (_, toAddress) => {
    const error = run(ours.MsgSend, { fromAddress: alice.bech32, toAddress, amount: coins(1n) })
    expect(error).toMatchObject({
      codespace: 'sdk',
      code: 4,
      message: expect.stringContaining('is not allowed to receive funds'),
    })
  })

  it('refuses coins that governance stopped', () => {
    const stop = { authority: GOV_AUTHORITY, sendEnabled: [{ denom: 'acoin', enabled: false }] }
    expect(run(ours.MsgSetSendEnabled, stop)).toBeUndefined()
    const send = () => run(ours.MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coins(1n) })
    const error = new SdkError('bank', 5, 'acoin transfers are currently disabled: send transactions are disabled')
    expect(send()).toEqual(error)
    expect([...sendEnabledEntries(world.native)]).toEqual([{ denom: 'acoin', enabled: false }])
    expect(run(ours.MsgSetSendEnabled, { authority: GOV_AUTHORITY, useDefaultFor: ['acoin'] })).toBeUndefined()
    expect(send()).toBeUndefined()
    const params = { sendEnabled: [], defaultSendEnabled: false }
    expect(run(ours.BankMsgUpdateParams, { authority: GOV_AUTHORITY, params })).toBeUndefined()
    expect(send()).toEqual(error)
    expect(isSendEnabled(world.native, 'other')).toBe(false)
    // Modules go on.
    expect(sendCoins({ world }, alice.address, BONDED_POOL, 1n)).toBeUndefined()
  })
})

describe('MsgMultiSend', () => {
  const inputs = [party(alice, 30n)]

  it('pays several receivers, with the events of the SDK', () => {
    const outputs = [party(bob, 10n), party(carol, 15n), party(bob, 5n)]
    expect(run(ours.MsgMultiSend, { inputs, outputs })).toBeUndefined()
    const accounts = [alice, bob, carol]
    expect(accounts.map(({ address }) => world.getBalance(address))).toEqual([70n, 15n, 15n])
    const output = (to: { bech32: string }, amount: number) => [
      `coin_received{receiver=${to.bech32},amount=${amount}acoin}`,
      `transfer{recipient=${to.bech32},sender=${alice.bech32},amount=${amount}acoin}`,
    ]
    expect(texts()).toEqual([
      `coin_spent{spender=${alice.bech32},amount=30acoin}`,
      `message{sender=${alice.bech32}}`,
      ...output(bob, 10),
      ...output(carol, 15),
      ...output(bob, 5),
    ])
  })

  it('can go back to the sender', () => {
    expect(run(ours.MsgMultiSend, { inputs, outputs: [party(alice, 30n)] })).toBeUndefined()
    expect(world.getBalance(alice.address)).toBe(100n)
  })

  it.each([
    ['nobody pays', [], [party(bob, 1n)], 2, 'bank'],
    ['two pay', [party(alice, 1n), party(bob, 1n)], [party(carol, 2n)], 9, 'bank'],
    ['nobody receives', inputs, [], 3, 'bank'],
    ['sums differ', inputs, [party(bob, 29n)], 4, 'bank'],
    ['denominations differ', inputs, [party(bob, 30n, 'other')], 4, 'bank'],
    ['somebody receives nothing', inputs, [party(bob, 30n), party(carol, 0n)], 10, 'sdk'],
    ['somebody receives less than nothing', inputs, [party(bob, 31n), party(carol, -1n)], 10, 'sdk'],
    ['an address is none', inputs, [party({ bech32: 'bob' }, 30n)], 7, 'sdk'],
    ['there is too little', [party(alice, 101n)], [party(bob, 101n)], 5, 'sdk'],
    ['there is none of the denomination', [party(alice, 1n, 'other')], [party(bob, 1n, 'other')], 5, 'sdk'],
    ['a receiver is a module', inputs, [party(bob, 29n), party({ bech32: GOV_AUTHORITY }, 1n)], 4, 'sdk'],
  ])('is refused where %s', (_, from, to, code, codespace) => {
    expect(run(ours.MsgMultiSend, { inputs: from, outputs: to })).toMatchObject({ code, codespace })
    expect([world.getBalance(alice.address), world.getBalance(bob.address)]).toEqual([100n, 0n])
  })
})

describe('parameters', () => {
  it('are changed by governance only', () => {
    const params = { sendEnabled: [], defaultSendEnabled: false }
    const refused = { codespace: 'gov', code: 13 }
    expect(run(ours.BankMsgUpdateParams, { authority: alice.bech32, params })).toMatchObject(refused)
    expect(run(ours.MsgSetSendEnabled, { authority: alice.bech32, useDefaultFor: ['acoin'] })).toMatchObject(refused)
    expect(BANK_PARAMS.get(world.native).defaultSendEnabled).toBe(true)
  })

  it.each([
    [
      'entries within the parameters',
      ours.BankMsgUpdateParams,
      { params: { sendEnabled: [{ denom: 'acoin', enabled: true }], defaultSendEnabled: true } },
    ],
    [
      'an entry twice',
      ours.MsgSetSendEnabled,
      {
        sendEnabled: [
          { denom: 'acoin', enabled: true },
          { denom: 'acoin', enabled: false },
        ],
      },
    ],
    ['what is no denomination', ours.MsgSetSendEnabled, { sendEnabled: [{ denom: '?', enabled: true }] }],
    ['what is no denomination for the default', ours.MsgSetSendEnabled, { useDefaultFor: [''] }],
  ])('cannot have %s', (_, type, values) => {
    expect(run(type as MessageType<unknown>, { authority: GOV_AUTHORITY, ...values })).toMatchObject({
      codespace: 'sdk',
      code: 18,
    })
  })

  it('begin as the genesis has them', () => {
    initBank(world.native, {
      params: { sendEnabled: [{ denom: 'one', enabled: false }], defaultSendEnabled: true },
      sendEnabled: [{ denom: 'two', enabled: false }],
      metadata: [],
    })
    expect(['one', 'two', 'three'].map((denom) => isSendEnabled(world.native, denom))).toEqual([false, false, true])
    expect(BANK_PARAMS.get(world.native).sendEnabled).toEqual([])
    expect(getMetadata(world.native, 'acoin')).toEqual(METADATA)
  })
})

describe('coins', () => {
  it('are made and destroyed with the events of the SDK', () => {
    mintCoins({ world }, MINT, 5n)
    expect(burnCoins({ world }, alice.address, 30n)).toBeUndefined()
    expect([getSupply(world), world.getBalance(MINT), world.getBalance(alice.address)]).toEqual([75n, 5n, 70n])
    expect(texts()).toEqual([
      `coin_received{receiver=${toBech32(MINT)},amount=5acoin}`,
      `coinbase{minter=${toBech32(MINT)},amount=5acoin}`,
      `coin_spent{spender=${alice.bech32},amount=30acoin}`,
      `burn{burner=${alice.bech32},amount=30acoin}`,
    ])
    expect(burnCoins({ world }, bob.address, 1n)).toMatchObject({ code: 5 })
    expect(getSupply(world)).toBe(75n)
  })

  it('sent by modules go to modules too', () => {
    expect(isBlockedAddress(GOVERNANCE)).toBe(true)
    expect(isBlockedAddress(hexToBytes('0x0000000000000000000000000000000000000001'))).toBe(false)
    expect(sendCoins({ world }, alice.address, GOVERNANCE, 10n)).toBeUndefined()
    expect(world.getBalance(GOVERNANCE)).toBe(10n)
    expect(sendCoins({ world }, alice.address, bob.address, 91n)).toMatchObject({ code: 5 })
    expect(coinsOf(0n)).toEqual([])
  })
})
