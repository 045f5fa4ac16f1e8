import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { accountText, coinJson, parseAmount, readJsonFile, type TxCommand } from './txCommand.ts'

const TO = ['<to>', 'address of the new account, coin1… or 0x…; it must not exist yet'] as const
const AMOUNT = ['<amount>', 'amount, such as 1.5COIN'] as const

/** Commands that make vesting accounts, named and with arguments as gaiad has them. */
export const VESTING_COMMANDS: readonly TxCommand[] = [
  {
    group: 'vesting',
    name: 'create-vesting-account',
    description: 'Create an account whose coins vest continuously until a time, or all at that time',
    arguments: [TO, AMOUNT, ['<end-time>', 'seconds since the epoch']],
    options: [new Option('--delayed', 'all at the end')],
    build: ({ from, args: [to, amount, endTime], options }) => [
      {
        '@type': '/cosmos.vesting.v1beta1.MsgCreateVestingAccount',
        from_address: from,
        to_address: accountText(to!),
        amount: [coinJson(parseAmount(amount!))],
        end_time: secondsText(endTime!, 'the end time'),
        delayed: options['delayed'] === true,
      },
    ],
  },
  {
    group: 'vesting',
    name: 'create-permanent-locked-account',
    description: 'Create an account whose coins can be delegated, but never sent',
    arguments: [TO, AMOUNT],
    build: ({ from, args: [to, amount] }) => [
      {
        '@type': '/cosmos.vesting.v1beta1.MsgCreatePermanentLockedAccount',
        from_address: from,
        to_address: accountText(to!),
        amount: [coinJson(parseAmount(amount!))],
      },
    ],
  },
  {
    group: 'vesting',
    name: 'create-periodic-vesting-account',
    description: 'Create an account whose coins vest in periods',
    arguments: [
      TO,
      ['<file>', 'JSON: {"start_time": …, "periods": [{"coins": "10COIN", "length_seconds": 2592000}, …]}'],
    ],
    build: ({ from, args: [to, file], terminal }) => {
      const { startTime, periods } = readPeriods(readJsonFile(file!, terminal), file!)
      return [
        {
          '@type': '/cosmos.vesting.v1beta1.MsgCreatePeriodicVestingAccount',
          from_address: from,
          to_address: accountText(to!),
          start_time: startTime,
          vesting_periods: periods,
        },
      ]
    },
  },
]

/** @throws ConfigError */
function readPeriods(json: unknown, file: string) {
  const { start_time, periods } = (json ?? {}) as { readonly start_time?: unknown; readonly periods?: unknown }
  if (!Array.isArray(periods)) {
    throw new ConfigError(`${file} must hold an object with start_time and periods`)
  }
  return {
    startTime: secondsText(start_time, 'start_time'),
    periods: periods.map((period: { readonly coins?: unknown; readonly length_seconds?: unknown } | null) => {
      if (typeof period?.coins !== 'string')
        throw new ConfigError(`${file}: each period must have coins and length_seconds`)
      return {
        length: secondsText(period.length_seconds, 'length_seconds'),
        amount: [coinJson(parseAmount(period.coins))],
      }
    }),
  }
}

/** @throws ConfigError */
function secondsText(value: unknown, name: string): string {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof text === 'string' && /^\d{1,18}$/.test(text)) return text
  throw new ConfigError(`${name} must be a whole number of seconds, not ${String(value)}`)
}
