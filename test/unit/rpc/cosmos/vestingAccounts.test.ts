import { type Account, accountFromAny } from '@cosmjs/stargate'
import { QueryAccountRequest, QueryAccountResponse } from 'cosmjs-types/cosmos/auth/v1beta1/query'
import {
  ContinuousVestingAccount,
  DelayedVestingAccount,
  PeriodicVestingAccount,
  PermanentLockedAccount,
} from 'cosmjs-types/cosmos/vesting/v1beta1/vesting'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { MsgDelegate } from '../../../../src/modules/staking/messages.ts'
import {
  MsgCreatePeriodicVestingAccount,
  MsgCreatePermanentLockedAccount,
  MsgCreateVestingAccount,
} from '../../../../src/modules/vesting/types.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { anyOf, signTestTransaction, testAccount } from '../../../native/signTransaction.ts'
import { GENESIS_TIME_MS } from '../../../support/execution/testChain.ts'
import { coins, HOLDER, ONE_COIN, OPERATOR, signed } from '../../../support/rpc/cosmos/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../../../support/rpc/cosmos/nativeNode.ts'

const START = GENESIS_TIME_MS / 1000
const [continuous, delayed, periodic, permanent] = [11, 12, 13, 14].map((number) => testAccount(number))
const LATER = BigInt(START + 1_000_000)
const locked = 10n * ONE_COIN

let node: NativeNode

beforeAll(async () => {
  node = await createNativeNode()
  const from = { fromAddress: HOLDER }
  const { chain } = node
  await chain.produce([
    signed(0, [
      anyOf(MsgCreateVestingAccount, { ...from, toAddress: continuous!.bech32, amount: coins(locked), endTime: LATER }),
      anyOf(MsgCreateVestingAccount, {
        ...from,
        toAddress: delayed!.bech32,
        amount: coins(locked),
        endTime: LATER,
        delayed: true,
      }),
      anyOf(MsgCreatePeriodicVestingAccount, {
        ...from,
        toAddress: periodic!.bech32,
        startTime: BigInt(START - 50),
        vestingPeriods: [
          { length: 10n, amount: coins(4n * ONE_COIN) },
          { length: 1_000_000n, amount: coins(6n * ONE_COIN) },
        ],
      }),
      anyOf(MsgCreatePermanentLockedAccount, { ...from, toAddress: permanent!.bech32, amount: coins(locked) }),
      anyOf(MsgSend, { ...from, toAddress: permanent!.bech32, amount: coins(2n * ONE_COIN) }),
    ]),
  ])
  const stake = { denom: 'acoin', amount: 7n * ONE_COIN }
  await chain.produce([
    signTestTransaction({
      messages: [
        anyOf(MsgDelegate, { delegatorAddress: permanent!.bech32, validatorAddress: OPERATOR, amount: stake }),
      ],
      signers: [{ privateKey: permanent!.privateKey }],
    }),
  ])
})
afterAll(async () => {
  expect(node.logged).toEqual([])
  await node.close()
})

async function accountJson(address: string): Promise<Json> {
  const { status, json } = await node.get(`/cosmos/auth/v1beta1/accounts/${address}`)
  expect(status).toBe(200)
  return (json as { readonly account: Json }).account
}

async function spendable(address: string): Promise<string> {
  const { json } = await node.get(`/cosmos/bank/v1beta1/spendable_balances/${address}`)
  const byDenom = await node.get(`/cosmos/bank/v1beta1/spendable_balances/${address}/by_denom?denom=acoin`)
  const { balances } = json as { readonly balances: readonly { readonly amount: string }[] }
  const amount = balances[0]?.amount ?? '0'
  expect(byDenom.json).toEqual({ balance: { denom: 'acoin', amount } })
  return amount
}

describe('vesting accounts', () => {
  it('are shown by REST as the SDK shows them', async () => {
    const base = (address: string, sequence = '0', pub_key: Json = null) => ({
      address,
      pub_key,
      account_number: '0',
      sequence,
    })
    const common = { original_vesting: [{ denom: 'acoin', amount: locked.toString() }], delegated_free: [] }
    expect(await accountJson(continuous!.bech32)).toEqual({
      '@type': '/cosmos.vesting.v1beta1.ContinuousVestingAccount',
      base_vesting_account: {
        base_account: base(continuous!.bech32),
        ...common,
        delegated_vesting: [],
        end_time: LATER.toString(),
      },
      start_time: expect.stringMatching(/^17\d{8}$/),
    })
    expect(await accountJson(permanent!.bech32)).toMatchObject({
      '@type': '/cosmos.vesting.v1beta1.PermanentLockedAccount',
      base_vesting_account: {
        ...common,
        delegated_vesting: [{ denom: 'acoin', amount: (7n * ONE_COIN).toString() }],
        end_time: '0',
        base_account: { address: permanent!.bech32, sequence: '1' },
      },
    })
    expect(await accountJson(periodic!.bech32)).toMatchObject({
      vesting_periods: [
        { length: '10', amount: [{ denom: 'acoin', amount: (4n * ONE_COIN).toString() }] },
        { length: '1000000', amount: [{ denom: 'acoin', amount: (6n * ONE_COIN).toString() }] },
      ],
    })
  })

  it('are read by CosmJS', async () => {
    const types = [ContinuousVestingAccount, DelayedVestingAccount, PeriodicVestingAccount, PermanentLockedAccount]
    for (const [index, account] of [continuous, delayed, periodic, permanent].entries()) {
      const path = '/cosmos.auth.v1beta1.Query/Account'
      const protobuf = QueryAccountRequest.encode({ address: account!.bech32 }).finish()
      const answer = await node.port.query('cheap', { path, request: { protobuf }, height: 0 }, OWN_SCOPE)
      if (answer.kind !== 'protobuf') throw new Error(`no answer: ${answer.kind}`)
      const { account: any } = QueryAccountResponse.decode(answer.protobuf)
      const type = types[index]!
      expect(any!.typeUrl).toBe(type.typeUrl)
      const { baseVestingAccount } = type.decode(any!.value)
      expect(baseVestingAccount!.originalVesting).toEqual([{ denom: 'acoin', amount: locked.toString() }])
      // CosmJS's parser of accounts knows all but permanently locked ones.
      if (type === PermanentLockedAccount) continue
      const expected: Account = { address: account!.bech32, pubkey: null, accountNumber: 0n, sequence: 0 }
      expect(accountFromAny(any!)).toEqual(expected)
    }
  })

  it('have their spendable balances at the time of the block', async () => {
    expect(await spendable(delayed!.bech32)).toBe('0')
    expect(await spendable(periodic!.bech32)).toBe((4n * ONE_COIN).toString())
    // 7 of 10 locked coins are delegated; a gas fee was paid of 2 free ones.
    const { json } = await node.get(`/cosmos/bank/v1beta1/balances/${permanent!.bech32}`)
    const [balance] = (json as { readonly balances: readonly { readonly amount: string }[] }).balances
    expect(await spendable(permanent!.bech32)).toBe((BigInt(balance!.amount) - 3n * ONE_COIN).toString())
    expect(await spendable(HOLDER)).toMatch(/^\d{27}$/)
  })
})
