import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { accountText, coinJson, isAmount, parseAmount, readMessages, senderFirst, type TxCommand } from './txCommand.ts'

const AMOUNT_TEXT = 'amount with its unit, such as 1.5COIN'

/** Commands about coins, and rights of other accounts: bank, authz, feegrant. */
export const BANK_COMMANDS: readonly TxCommand[] = [
  {
    group: 'bank',
    name: 'send',
    description: 'Send coins to an account',
    arguments: [
      ['<to>', 'receiver, coin1… or 0x…'],
      ['<amount>', AMOUNT_TEXT],
    ],
    sdkForm: senderFirst(2),
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
      ['<amount>', `${AMOUNT_TEXT}, for each`],
      ['<to...>', 'receivers'],
    ],
    sdkForm: (args) =>
      isAmount(args.at(-1)!) ? { from: args[0]!, args: [args.at(-1)!, ...args.slice(1, -1)] } : undefined,
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

const GRANTEE = ['<grantee>', 'account that receives the permission: coin1… or 0x…'] as const

export const AUTHZ_COMMANDS: readonly TxCommand[] = [
  {
    group: 'authz',
    name: 'grant',
    description: 'Allow another account to send messages of one type on behalf of the sender',
    arguments: [GRANTEE, ['<type-url>', 'message type, such as /cosmos.gov.v1.MsgVote']],
    options: [
      new Option('--spend-limit <amount>', 'maximum total amount, for /cosmos.bank.v1beta1.MsgSend'),
      new Option('--expires <time>', 'end of the grant, such as 2027-01-01T00:00:00Z (default: never)'),
    ],
    build: ({ from, args: [grantee, typeUrl], options }) => {
      const limit = options['spendLimit']
      if (limit !== undefined && typeUrl !== '/cosmos.bank.v1beta1.MsgSend') {
        throw new ConfigError('--spend-limit can be used for /cosmos.bank.v1beta1.MsgSend only')
      }
      const authorization =
        limit === undefined
          ? { '@type': '/cosmos.authz.v1beta1.GenericAuthorization', msg: typeUrl! }
          : { '@type': '/cosmos.bank.v1beta1.SendAuthorization', spend_limit: [coinJson(parseAmount(String(limit)))] }
      return [
        {
          '@type': '/cosmos.authz.v1beta1.MsgGrant',
          granter: from,
          grantee: accountText(grantee!),
          grant: { authorization, expiration: options['expires'] === undefined ? null : String(options['expires']) },
        },
      ]
    },
  },
  {
    group: 'authz',
    name: 'revoke',
    description: 'Revoke a grant',
    arguments: [GRANTEE, ['<type-url>', 'message type, such as /cosmos.gov.v1.MsgVote']],
    build: ({ from, args: [grantee, typeUrl] }) => [
      {
        '@type': '/cosmos.authz.v1beta1.MsgRevoke',
        granter: from,
        grantee: accountText(grantee!),
        msg_type_url: typeUrl!,
      },
    ],
  },
  {
    group: 'authz',
    name: 'exec',
    description: 'Send messages on behalf of accounts that granted it',
    arguments: [['<file>', 'JSON file with an array of messages, each with its @type']],
    build: ({ from, args: [file], terminal }) => [
      { '@type': '/cosmos.authz.v1beta1.MsgExec', grantee: from, msgs: readMessages(file!, terminal) },
    ],
  },
]

const FEE_GRANTEE = ['<grantee>', 'account whose fees are paid: coin1… or 0x…'] as const

export const FEEGRANT_COMMANDS: readonly TxCommand[] = [
  {
    group: 'feegrant',
    name: 'grant',
    description: 'Pay the fees of another account’s native transactions',
    arguments: [FEE_GRANTEE],
    sdkForm: senderFirst(1),
    options: [
      new Option('--spend-limit <amount>', 'maximum total amount (default: no limit)'),
      new Option('--expires <time>', 'end of the allowance, such as 2027-01-01T00:00:00Z (default: never)'),
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
    description: 'Stop paying the fees of an account',
    arguments: [FEE_GRANTEE],
    sdkForm: senderFirst(1),
    build: ({ from, args: [grantee] }) => [
      { '@type': '/cosmos.feegrant.v1beta1.MsgRevokeAllowance', granter: from, grantee: accountText(grantee!) },
    ],
  },
  {
    group: 'feegrant',
    name: 'prune',
    description: 'Remove up to 75 expired allowances of any accounts; blocks also remove them automatically',
    arguments: [],
    build: ({ from }) => [{ '@type': '/cosmos.feegrant.v1beta1.MsgPruneAllowances', pruner: from }],
  },
]
