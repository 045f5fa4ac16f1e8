import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { accountText } from './addresses.ts'
import { coinJson, parseAmount } from './amount.ts'
import { readMessages } from './messageFile.ts'
import type { TxCommand } from './txCommand.ts'

const GRANTEE = ['<grantee>', 'account that may act: coin1… or 0x…'] as const

export const AUTHZ_COMMANDS: readonly TxCommand[] = [
  {
    group: 'authz',
    name: 'grant',
    description: 'Let another account send a kind of message in the name of the sender',
    arguments: [GRANTEE, ['<type-url>', 'kind of message, like /cosmos.gov.v1.MsgVote']],
    options: [
      new Option('--spend-limit <amount>', 'for /cosmos.bank.v1beta1.MsgSend: the most that may be sent in all'),
      new Option('--expires <time>', 'last moment of the grant, like 2027-01-01T00:00:00Z (default: never)'),
    ],
    build: ({ from, args: [grantee, typeUrl], options }) => {
      const limit = options['spendLimit']
      if (limit !== undefined && typeUrl !== '/cosmos.bank.v1beta1.MsgSend') {
        throw new ConfigError('--spend-limit is for /cosmos.bank.v1beta1.MsgSend')
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
    description: 'Take such a grant back',
    arguments: [GRANTEE, ['<type-url>', 'kind of message, like /cosmos.gov.v1.MsgVote']],
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
    description: 'Send messages in the name of accounts that granted it',
    arguments: [['<file>', 'JSON: an array of messages, each with its @type']],
    build: ({ from, args: [file], terminal }) => [
      { '@type': '/cosmos.authz.v1beta1.MsgExec', grantee: from, msgs: readMessages(file!, terminal) },
    ],
  },
]
