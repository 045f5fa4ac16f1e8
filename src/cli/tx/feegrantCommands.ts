import { Option } from 'commander'
import { accountText } from './addresses.ts'
import { coinJson, parseAmount } from './amount.ts'
import type { TxCommand } from './txCommand.ts'

const GRANTEE = ['<grantee>', 'account whose fees are paid: coin1… or 0x…'] as const

export const FEEGRANT_COMMANDS: readonly TxCommand[] = [
  {
    group: 'feegrant',
    name: 'grant',
    description: 'Pay the fees of another account’s native transactions',
    arguments: [GRANTEE],
    options: [
      new Option('--spend-limit <amount>', 'the most that is paid in all (default: no limit)'),
      new Option('--expires <time>', 'last moment of the allowance, like 2027-01-01T00:00:00Z (default: never)'),
    ],
    build: ({ from, args: [grantee], options }) => [
      {
        '@type': '/cosmos.feegrant.v1beta1.MsgGrantAllowance',
        granter: from,
        grantee: accountText(grantee!),
        allowance: {
          '@type': '/cosmos.feegrant.v1beta1.BasicAllowance',
          spend_limit:
            options['spendLimit'] === undefined ? [] : [coinJson(parseAmount(String(options['spendLimit'])))],
          expiration: options['expires'] === undefined ? null : String(options['expires']),
        },
      },
    ],
  },
  {
    group: 'feegrant',
    name: 'revoke',
    description: 'Pay no more of them',
    arguments: [GRANTEE],
    build: ({ from, args: [grantee] }) => [
      { '@type': '/cosmos.feegrant.v1beta1.MsgRevokeAllowance', granter: from, grantee: accountText(grantee!) },
    ],
  },
  {
    group: 'feegrant',
    name: 'prune',
    description: 'Remove up to 75 allowances that expired, of whoever; blocks do so by themselves',
    arguments: [],
    build: ({ from }) => [{ '@type': '/cosmos.feegrant.v1beta1.MsgPruneAllowances', pruner: from }],
  },
]
