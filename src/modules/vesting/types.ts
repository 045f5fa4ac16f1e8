import type { Address } from '../../primitives/address.ts'
import {
  type AnyValue,
  bool,
  defineMessage,
  embedded,
  int64,
  type MessageType,
  message,
  repeated,
  string,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import { getDelegated, VESTING_KINDS, type VestingSchedule } from '../../state/vesting.ts'
import type { NativeStore } from '../../state/world.ts'
import { BaseAccount } from '../auth/types.ts'
import { Coin, coinsOf } from '../coin.ts'

const NAME = 'cosmos.vesting.v1beta1'

export const Period = defineMessage(`${NAME}.Period`, { length: int64(1), amount: repeated(embedded(2, Coin)) })
export type Period = ValueOf<typeof Period>

export const BaseVestingAccount = defineMessage(`${NAME}.BaseVestingAccount`, {
  baseAccount: message(1, BaseAccount),
  originalVesting: repeated(embedded(2, Coin)),
  delegatedFree: repeated(embedded(3, Coin)),
  delegatedVesting: repeated(embedded(4, Coin)),
  endTime: int64(5),
})

export const ContinuousVestingAccount = defineMessage(`${NAME}.ContinuousVestingAccount`, {
  baseVestingAccount: message(1, BaseVestingAccount),
  startTime: int64(2),
})
export const DelayedVestingAccount = defineMessage(`${NAME}.DelayedVestingAccount`, {
  baseVestingAccount: message(1, BaseVestingAccount),
})
export const PeriodicVestingAccount = defineMessage(`${NAME}.PeriodicVestingAccount`, {
  baseVestingAccount: message(1, BaseVestingAccount),
  startTime: int64(2),
  vestingPeriods: repeated(embedded(3, Period)),
})
export const PermanentLockedAccount = defineMessage(`${NAME}.PermanentLockedAccount`, {
  baseVestingAccount: message(1, BaseVestingAccount),
})

export const VESTING_ACCOUNT_TYPES = [
  BaseVestingAccount,
  ContinuousVestingAccount,
  DelayedVestingAccount,
  PeriodicVestingAccount,
  PermanentLockedAccount,
] as const

export const MsgCreateVestingAccount = defineMessage(`${NAME}.MsgCreateVestingAccount`, {
  fromAddress: string(1),
  toAddress: string(2),
  amount: repeated(embedded(3, Coin)),
  endTime: int64(4),
  delayed: bool(5),
})
export const MsgCreateVestingAccountResponse = defineMessage(`${NAME}.MsgCreateVestingAccountResponse`, {})

export const MsgCreatePermanentLockedAccount = defineMessage(`${NAME}.MsgCreatePermanentLockedAccount`, {
  fromAddress: string(1),
  toAddress: string(2),
  amount: repeated(embedded(3, Coin)),
})
export const MsgCreatePermanentLockedAccountResponse = defineMessage(
  `${NAME}.MsgCreatePermanentLockedAccountResponse`,
  {},
)

export const MsgCreatePeriodicVestingAccount = defineMessage(`${NAME}.MsgCreatePeriodicVestingAccount`, {
  fromAddress: string(1),
  toAddress: string(2),
  startTime: int64(3),
  vestingPeriods: repeated(embedded(4, Period)),
})
export const MsgCreatePeriodicVestingAccountResponse = defineMessage(
  `${NAME}.MsgCreatePeriodicVestingAccountResponse`,
  {},
)

/** Returns a vesting account as the SDK's auth module shows it. */
export function vestingAccountOf(
  native: Pick<NativeStore, 'get'>,
  address: Address,
  { kind, originalVesting, startTime, endTime, periods }: VestingSchedule,
  baseAccount: BaseAccount,
): AnyValue {
  const delegated = getDelegated(native, address)
  const baseVestingAccount = {
    baseAccount,
    originalVesting: coinsOf(originalVesting),
    delegatedFree: coinsOf(delegated.free),
    delegatedVesting: coinsOf(delegated.vesting),
    endTime,
  }
  switch (kind) {
    case VESTING_KINDS.CONTINUOUS:
      return anyOf(ContinuousVestingAccount, { baseVestingAccount, startTime })
    case VESTING_KINDS.PERIODIC: {
      const vestingPeriods = periods.map(({ length, amount }) => ({ length, amount: coinsOf(amount) }))
      return anyOf(PeriodicVestingAccount, { baseVestingAccount, startTime, vestingPeriods })
    }
    case VESTING_KINDS.DELAYED:
      return anyOf(DelayedVestingAccount, { baseVestingAccount })
    default:
      return anyOf(PermanentLockedAccount, { baseVestingAccount })
  }
}

function anyOf<T>(type: MessageType<T>, value: T): AnyValue {
  return { typeUrl: type.typeUrl, value: type.encode(value) }
}
