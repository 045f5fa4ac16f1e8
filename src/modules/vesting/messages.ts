import { type Address, parseAddress } from '../../primitives/address.ts'
import { hasSchedule, putSchedule, VESTING_KINDS, type VestingSchedule } from '../../state/vesting.ts'
import { checkSendEnabled, payable } from '../bank/messages.ts'
import { isBlockedAddress, sendCoins } from '../bank/send.ts'
import { areValidCoins, type Coin, coinsText } from '../coin.ts'
import type { ModuleContext } from '../context.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import {
  MsgCreatePeriodicVestingAccount,
  MsgCreatePeriodicVestingAccountResponse,
  MsgCreatePermanentLockedAccount,
  MsgCreatePermanentLockedAccountResponse,
  MsgCreateVestingAccount,
  MsgCreateVestingAccountResponse,
  type Period,
} from './types.ts'

/** Gas of the module's messages: a send, the entries of the new account, and the filter of all. */
export const VESTING_GAS = {
  create: 60_000n,
  /** each period of a schedule */
  period: 3_000n,
} as const

const MAX_TIME = 2n ** 63n - 1n
/** Four years of days. The SDK has no such limit. */
const MAX_PERIODS = 1_500

/** The vesting module's messages (x/auth/vesting/msg_server.go). */
export const VESTING_MESSAGES: readonly MessageHandler[] = [
  defineHandler({
    type: MsgCreateVestingAccount,
    response: MsgCreateVestingAccountResponse,
    aminoName: 'cosmos-sdk/MsgCreateVestingAccount',
    module: 'vesting',
    signers: ({ fromAddress }) => [parseAddress(fromAddress)],
    validate: ({ toAddress, amount, endTime }) => {
      parseAddress(toAddress)
      return checkAmount(amount) ?? (endTime > 0n ? undefined : sdkError('invalidRequest', 'invalid end time'))
    },
    gas: () => VESTING_GAS.create,
    run: (context, { fromAddress, toAddress, amount, endTime, delayed }) => {
      const now = BigInt(Math.floor(context.block.timeMs / 1000))
      const schedule = delayed
        ? { kind: VESTING_KINDS.DELAYED, startTime: 0n, endTime, periods: [] }
        : { kind: VESTING_KINDS.CONTINUOUS, startTime: now, endTime, periods: [] }
      return createAccount(context, { fromAddress, toAddress, amount, schedule })
    },
  }),
  defineHandler({
    type: MsgCreatePermanentLockedAccount,
    response: MsgCreatePermanentLockedAccountResponse,
    aminoName: 'cosmos-sdk/MsgCreatePermLockedAccount',
    module: 'vesting',
    signers: ({ fromAddress }) => [parseAddress(fromAddress)],
    validate: ({ toAddress, amount }) => {
      parseAddress(toAddress)
      return checkAmount(amount)
    },
    gas: () => VESTING_GAS.create,
    run: (context, { fromAddress, toAddress, amount }) => {
      const schedule = { kind: VESTING_KINDS.PERMANENT, startTime: 0n, endTime: 0n, periods: [] }
      return createAccount(context, { fromAddress, toAddress, amount, schedule })
    },
  }),
  defineHandler({
    type: MsgCreatePeriodicVestingAccount,
    response: MsgCreatePeriodicVestingAccountResponse,
    aminoName: 'cosmos-sdk/MsgCreatePeriodVestAccount',
    module: 'vesting',
    signers: ({ fromAddress }) => [parseAddress(fromAddress)],
    validate: ({ toAddress, startTime, vestingPeriods }) => {
      parseAddress(toAddress)
      return checkPeriods(startTime, vestingPeriods)
    },
    gas: ({ vestingPeriods }) => VESTING_GAS.create + BigInt(vestingPeriods.length) * VESTING_GAS.period,
    run: (context, { fromAddress, toAddress, startTime, vestingPeriods }) => {
      const endTime = vestingPeriods.reduce((end, { length }) => end + length, startTime)
      // There are no coins of other denominations: the payment is refused then.
      const periods = vestingPeriods.map(({ length, amount }) => ({ length, amount: amount[0]!.amount }))
      const schedule = { kind: VESTING_KINDS.PERIODIC, startTime, endTime, periods }
      const amount = vestingPeriods.flatMap((period) => period.amount)
      return createAccount(context, { fromAddress, toAddress, amount, schedule })
    },
  }),
]

interface NewAccount {
  readonly fromAddress: string
  readonly toAddress: string
  /** coins that are paid, and vest */
  readonly amount: readonly Coin[]
  readonly schedule: Omit<VestingSchedule, 'originalVesting'>
}

/**
 * Makes a vesting account and pays the vesting coins. An address with coins, a nonce, code or
 * storage already is an account and is refused, so that one account cannot lock the coins of
 * another.
 */
function createAccount(
  context: ModuleContext,
  { fromAddress, toAddress, amount, schedule }: NewAccount,
): Outcome<Uint8Array> {
  const { world } = context
  const disabled = checkSendEnabled(world.native, amount)
  if (disabled !== undefined) return disabled
  const to = parseAddress(toAddress)
  if (isBlockedAddress(to)) return sdkError('unauthorized', `${toAddress} is not allowed to receive funds`)
  if (isAccount(context, to)) return sdkError('invalidRequest', `account ${toAddress} already exists`)
  const originalVesting = payable(amount)
  if (isSdkError(originalVesting)) return originalVesting
  const unpaid = sendCoins(context, parseAddress(fromAddress), to, originalVesting)
  if (unpaid !== undefined) return unpaid
  putSchedule(world.native, to, { ...schedule, originalVesting })
  return EMPTY_RESPONSE
}

function isAccount({ world }: ModuleContext, address: Address): boolean {
  return world.exists(address) || world.hasStorage(address) || hasSchedule(world.native, address)
}

/** validateAmount */
function checkAmount(coins: readonly Coin[]): SdkError | undefined {
  return coins.length > 0 && areValidCoins(coins) ? undefined : sdkError('invalidCoins', coinsText(coins))
}

function checkPeriods(startTime: bigint, periods: readonly Period[]): SdkError | undefined {
  if (startTime < 1n) {
    return sdkError('invalidRequest', `invalid start time of ${startTime}, length must be greater than 0`)
  }
  if (periods.length === 0) return sdkError('invalidRequest', 'invalid coins: ')
  if (periods.length > MAX_PERIODS) {
    return sdkError('invalidRequest', `${periods.length} periods: a schedule has at most ${MAX_PERIODS}`)
  }
  let endTime = startTime
  for (const [index, { length, amount }] of periods.entries()) {
    if (length < 1n) {
      const reason = `invalid period length of ${length} in period ${index}, length must be greater than 0`
      return sdkError('invalidRequest', reason)
    }
    const wrong = checkAmount(amount)
    if (wrong !== undefined) return wrong
    endTime += length
  }
  if (endTime <= MAX_TIME) return undefined
  return sdkError('invalidRequest', 'cumulative endTime overflowed, and/or is less than startTime')
}
