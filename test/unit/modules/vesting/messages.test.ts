import { beforeEach, describe, expect, it } from 'vitest'
import { initBank } from '../../../../src/modules/bank/params.ts'
import { mintCoins } from '../../../../src/modules/bank/send.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { GOVERNANCE } from '../../../../src/modules/moduleAccounts.ts'
import { SdkError } from '../../../../src/modules/sdkError.ts'
import { validateMessage } from '../../../../src/modules/tx/transactionDecoder.ts'
import {
  MsgCreatePeriodicVestingAccount,
  MsgCreatePermanentLockedAccount,
  MsgCreateVestingAccount,
} from '../../../../src/modules/vesting/types.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import type { MessageType } from '../../../../src/primitives/protoSchema.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { getSchedule, putSchedule, VESTING_KINDS } from '../../../../src/state/vesting.ts'
import { testAccount } from '../../../native/signTransaction.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const [alice, bob] = [testAccount(1), testAccount(2)]
const NOW = 1_700_000_000
const block = { height: 1, timeMs: NOW * 1000 + 999 }
const acoin = (amount: bigint) => [{ denom: 'acoin', amount }]
const parties = { fromAddress: alice.bech32, toAddress: bob.bech32 }
const END = BigInt(NOW + 100)

let world: Journal

beforeEach(() => {
  world = new Journal(new MemoryStateReader())
  initBank(world.native, { params: { sendEnabled: [], defaultSendEnabled: true }, sendEnabled: [], metadata: [] })
  mintCoins({ world }, alice.address, 100n)
  world.beginTransaction()
  world.setTime(NOW)
})

function run<T>(type: MessageType<T>, values: Partial<T>): string {
  const handler = MESSAGES.get(type.typeUrl)!
  const message = type.create(values)
  const invalid = validateMessage(handler, message)
  if (invalid !== undefined) return `${invalid.codespace}/${invalid.code} ${invalid.message}`
  world.checkpoint()
  const answer = handler.run({ world, block }, message)
  if (answer instanceof SdkError) {
    world.revert()
    return `${answer.codespace}/${answer.code} ${answer.message}`
  }
  world.commit()
  return ''
}

describe('messages that make vesting accounts', () => {
  it('makes a continuous one that begins with the block, and pays it as the bank does', () => {
    expect(run(MsgCreateVestingAccount, { ...parties, amount: acoin(60n), endTime: END })).toBe('')
    const common = { originalVesting: 60n, periods: [] }
    const schedule = { ...common, kind: VESTING_KINDS.CONTINUOUS, startTime: BigInt(NOW), endTime: END }
    expect(getSchedule(world.native, bob.address)).toEqual(schedule)
    expect([world.getBalance(bob.address), world.getSpendable(bob.address)]).toEqual([60n, 0n])
    world.setTime(NOW + 50)
    expect(world.getSpendable(bob.address)).toBe(30n)
    expect(world.events().map(({ type }) => type)).toEqual(['coin_spent', 'coin_received', 'transfer', 'message'])
  })

  it('makes a delayed and a permanent one', () => {
    expect(run(MsgCreateVestingAccount, { ...parties, amount: acoin(60n), endTime: END, delayed: true })).toBe('')
    const [carol] = [testAccount(3)]
    const locked = { ...parties, toAddress: carol.bech32, amount: acoin(10n) }
    expect(run(MsgCreatePermanentLockedAccount, locked)).toBe('')
    world.setTime(NOW + 99)
    expect([world.getSpendable(bob.address), world.getSpendable(carol.address)]).toEqual([0n, 0n])
    world.setTime(NOW + 100)
    expect([world.getSpendable(bob.address), world.getSpendable(carol.address)]).toEqual([60n, 0n])
  })

  it('makes one with the most periods, and none with more', () => {
    mintCoins({ world }, alice.address, 10_000n)
    const periodic = (count: number) => {
      const vestingPeriods = Array.from({ length: count }, (_, index) => ({
        length: 2n,
        amount: acoin(BigInt(1 + (index % 3))),
      }))
      return run(MsgCreatePeriodicVestingAccount, { ...parties, startTime: BigInt(NOW), vestingPeriods })
    }
    expect(periodic(1_501)).toBe('sdk/18 1501 periods: a schedule has at most 1500: invalid request')
    expect(periodic(1_500)).toBe('')
    expect(getSchedule(world.native, bob.address)!.periods.slice(-2)).toEqual([
      { length: 2n, amount: 2n },
      { length: 2n, amount: 3n },
    ])
    const spendable = [0, 1, 2, 5, 2_999, 3_000].map((seconds) => {
      world.setTime(NOW + seconds)
      return world.getSpendable(bob.address)
    })
    expect(spendable).toEqual([0n, 0n, 1n, 3n, 2_997n, 3_000n])
  })

  it('makes a periodic one, whose gas grows with its periods', () => {
    const vestingPeriods = [
      { length: 10n, amount: acoin(5n) },
      { length: 20n, amount: acoin(7n) },
    ]
    const periodic = { ...parties, startTime: BigInt(NOW), vestingPeriods }
    expect(run(MsgCreatePeriodicVestingAccount, periodic)).toBe('')
    const spendable = [0, 9, 10, 29, 30, 31].map((seconds) => {
      world.setTime(NOW + seconds)
      return world.getSpendable(bob.address)
    })
    expect(spendable).toEqual([0n, 0n, 5n, 5n, 12n, 12n])
    const { type, gas } = MESSAGES.get(MsgCreatePeriodicVestingAccount.typeUrl)!
    expect(gas(type.create(periodic as never))).toBe(66_000n)
  })

  it.each<readonly [string, () => void]>([
    ['coins', () => world.addBalance(bob.address, 1n)],
    ['a nonce', () => world.setNonce(bob.address, 1n)],
    ['code', () => world.setCode(bob.address, Uint8Array.of(0))],
    ['storage', () => world.setStorage(bob.address, new Uint8Array(32), Uint8Array.of(1))],
    [
      'a schedule',
      () => {
        const times = { startTime: 0n, endTime: 0n, periods: [] }
        putSchedule(world.native, bob.address, { kind: VESTING_KINDS.PERMANENT, originalVesting: 1n, ...times })
      },
    ],
  ])('refuses an address with %s', (_, prepare) => {
    prepare()
    const exists = `sdk/18 account ${bob.bech32} already exists: invalid request`
    expect(run(MsgCreateVestingAccount, { ...parties, amount: acoin(1n), endTime: END })).toBe(exists)
    expect(run(MsgCreatePermanentLockedAccount, { ...parties, amount: acoin(1n) })).toBe(exists)
  })

  it('refuses what the SDK refuses, with its words', () => {
    const create = (values: object) =>
      run(MsgCreateVestingAccount, { ...parties, amount: acoin(1n), endTime: END, ...values })
    expect(create({ amount: [] })).toBe('sdk/10 : invalid coins')
    expect(create({ amount: acoin(0n) })).toBe('sdk/10 0acoin: invalid coins')
    expect(create({ endTime: 0n })).toBe('sdk/18 invalid end time: invalid request')
    expect(create({ toAddress: 'coin1x' })).toMatch(/^sdk\/7 /)
    const governance = toBech32(GOVERNANCE)
    expect(create({ toAddress: governance })).toBe(`sdk/4 ${governance} is not allowed to receive funds: unauthorized`)
    expect(create({ amount: acoin(101n) })).toBe(
      'sdk/5 spendable balance 100acoin is smaller than 101acoin: insufficient funds',
    )
    expect(create({ amount: [{ denom: 'other', amount: 1n }] })).toBe(
      'sdk/5 spendable balance 0other is smaller than 1other: insufficient funds',
    )
    const periodic = (startTime: bigint, ...lengths: bigint[]) =>
      run(MsgCreatePeriodicVestingAccount, {
        ...parties,
        startTime,
        vestingPeriods: lengths.map((length) => ({ length, amount: acoin(1n) })),
      })
    expect(periodic(0n, 1n)).toBe('sdk/18 invalid start time of 0, length must be greater than 0: invalid request')
    expect(periodic(1n, 1n, 0n)).toBe(
      'sdk/18 invalid period length of 0 in period 1, length must be greater than 0: invalid request',
    )
    expect(periodic(1n)).toBe('sdk/18 invalid coins: : invalid request')
    expect(periodic(1n, 2n ** 63n - 1n)).toMatch(/^sdk\/18 cumulative endTime overflowed/)
    expect(world.native.get(new TextEncoder().encode('vesting/\u0000'))).toBeUndefined()
  })
})
