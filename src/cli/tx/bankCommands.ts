import { accountText } from './addresses.ts'
import { coinJson, parseAmount } from './amount.ts'
import type { TxCommand } from './txCommand.ts'

const AMOUNT = 'amount with its unit, like 1.5COIN'

export const BANK_COMMANDS: readonly TxCommand[] = [
  {
    group: 'bank',
    name: 'send',
    description: 'Send coins to an account',
    arguments: [
      ['<to>', 'receiver, coin1… or 0x…'],
      ['<amount>', AMOUNT],
    ],
    build: ({ from, args: [to, amount] }) => [
      {
        '@type': '/cosmos.bank.v1beta1.MsgSend',
        from_address: from,
        to_address: accountText(to!),
        amount: [coinJson(parseAmount(amount!))],
      },
    ],
  },
  {
    group: 'bank',
    name: 'multi-send',
    description: 'Send the same amount to each of several accounts',
    arguments: [
      ['<amount>', `${AMOUNT}, for each`],
      ['<to...>', 'receivers'],
    ],
    build: ({ from, args: [amount, ...receivers] }) => {
      const acoin = parseAmount(amount!)
      return [
        {
          '@type': '/cosmos.bank.v1beta1.MsgMultiSend',
          inputs: [{ address: from, coins: [coinJson(acoin * BigInt(receivers.length))] }],
          outputs: receivers.map((to) => ({ address: accountText(to), coins: [coinJson(acoin)] })),
        },
      ]
    },
  },
]
