import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { formatDecimal, parseDecimal } from '../../primitives/decimal.ts'
import { operatorText } from './addresses.ts'
import { coinJson, parseAmount } from './amount.ts'
import type { TxCommand, TxInput } from './txCommand.ts'

const VALIDATOR = ['<validator>', 'operator: coinvaloper1…, coin1… or 0x…'] as const
const AMOUNT = ['<amount>', 'amount with its unit, like 100COIN'] as const
/** What the SDK takes for "leave it as it is". */
const UNCHANGED = '[do-not-modify]'
const DESCRIPTION = ['moniker', 'identity', 'website', 'securityContact', 'details'] as const

export const STAKING_COMMANDS: readonly TxCommand[] = [
  {
    group: 'staking',
    name: 'create-validator',
    description: 'Make the node a validator: delegate to its consensus key as its operator',
    arguments: [AMOUNT],
    options: [
      new Option('--moniker <name>', 'name of the validator').makeOptionMandatory(),
      new Option('--pubkey <base64>', 'consensus key, ed25519 (default: that of the node at --node)'),
      new Option('--commission-rate <rate>', 'share of the rewards that the operator keeps').default('0.1'),
      new Option('--commission-max-rate <rate>', 'the most it may ever be').default('0.2'),
      new Option('--commission-max-change-rate <rate>', 'the most it may change in a day').default('0.01'),
      new Option('--min-self-delegation <amount>', 'the validator is jailed below it').default('1acoin'),
      ...descriptionOptions('').filter(({ long }) => long !== '--moniker'),
    ],
    build: async (input) => {
      const { options, args } = input
      return [
        {
          '@type': '/cosmos.staking.v1beta1.MsgCreateValidator',
          description: description(options, ''),
          commission: {
            rate: rate(options['commissionRate']),
            max_rate: rate(options['commissionMaxRate']),
            max_change_rate: rate(options['commissionMaxChangeRate']),
          },
          min_self_delegation: parseAmount(String(options['minSelfDelegation'])).toString(),
          delegator_address: input.from,
          validator_address: operatorText(input.from),
          pubkey: { '@type': '/cosmos.crypto.ed25519.PubKey', key: await consensusKey(input) },
          value: coinJson(parseAmount(args[0]!)),
        },
      ]
    },
  },
  {
    group: 'staking',
    name: 'edit-validator',
    description: 'Change what is known of the validator that the sender operates',
    arguments: [],
    options: [
      ...descriptionOptions(' (default: as it is)'),
      new Option('--commission-rate <rate>', 'new commission (at most once a day)'),
      new Option('--min-self-delegation <amount>', 'new least self-delegation; it can only rise'),
    ],
    build: ({ from, options }) => [
      {
        '@type': '/cosmos.staking.v1beta1.MsgEditValidator',
        description: description(options, UNCHANGED),
        validator_address: operatorText(from),
        commission_rate: options['commissionRate'] === undefined ? null : rate(options['commissionRate']),
        min_self_delegation:
          options['minSelfDelegation'] === undefined
            ? null
            : parseAmount(String(options['minSelfDelegation'])).toString(),
      },
    ],
  },
  {
    group: 'staking',
    name: 'delegate',
    description: 'Stake coins with a validator',
    arguments: [VALIDATOR, AMOUNT],
    build: ({ from, args: [validator, amount] }) => [
      {
        '@type': '/cosmos.staking.v1beta1.MsgDelegate',
        delegator_address: from,
        validator_address: operatorText(validator!),
        amount: coinJson(parseAmount(amount!)),
      },
    ],
  },
  {
    group: 'staking',
    name: 'undelegate',
    description: 'Take staked coins back; they are free after the unbonding time',
    arguments: [VALIDATOR, AMOUNT],
    build: ({ from, args: [validator, amount] }) => [
      {
        '@type': '/cosmos.staking.v1beta1.MsgUndelegate',
        delegator_address: from,
        validator_address: operatorText(validator!),
        amount: coinJson(parseAmount(amount!)),
      },
    ],
  },
  {
    group: 'staking',
    name: 'redelegate',
    description: 'Move staked coins to another validator at once',
    arguments: [['<source>', 'validator that has them'], ['<destination>', 'validator that gets them'], AMOUNT],
    build: ({ from, args: [source, destination, amount] }) => [
      {
        '@type': '/cosmos.staking.v1beta1.MsgBeginRedelegate',
        delegator_address: from,
        validator_src_address: operatorText(source!),
        validator_dst_address: operatorText(destination!),
        amount: coinJson(parseAmount(amount!)),
      },
    ],
  },
  {
    group: 'staking',
    name: 'cancel-unbonding',
    description: 'Stake coins again that are on their way out',
    arguments: [VALIDATOR, AMOUNT, ['<creation-height>', 'block in which the unbonding began']],
    build: ({ from, args: [validator, amount, height] }) => [
      {
        '@type': '/cosmos.staking.v1beta1.MsgCancelUnbondingDelegation',
        delegator_address: from,
        validator_address: operatorText(validator!),
        amount: coinJson(parseAmount(amount!)),
        creation_height: height!,
      },
    ],
  },
]

function descriptionOptions(note: string): Option[] {
  return [
    new Option('--moniker <name>', `name of the validator${note}`),
    new Option('--identity <id>', `identity, for its picture${note}`),
    new Option('--website <url>', `website${note}`),
    new Option('--security-contact <address>', `whom to tell of security problems${note}`),
    new Option('--details <text>', `further details${note}`),
  ]
}

function description(options: TxInput['options'], otherwise: string): Record<string, string> {
  return Object.fromEntries(
    DESCRIPTION.map((name) => [name, options[name] === undefined ? otherwise : String(options[name])]),
  )
}

/** @throws ConfigError when it is no share */
function rate(text: string | boolean | undefined): string {
  const value = parseDecimal(String(text))
  if (value === undefined || value < 0n) throw new ConfigError(`${text} is not a rate: expected a number like 0.1`)
  return formatDecimal(value)
}

/** The key that is given, or the one that the node signs with. */
async function consensusKey({ options, client }: TxInput): Promise<string> {
  if (typeof options['pubkey'] === 'string') return options['pubkey']
  const status = (await client.comet('status', {})) as {
    readonly validator_info?: { readonly pub_key?: { readonly value?: string } }
  }
  const key = status.validator_info?.pub_key?.value
  if (key === undefined) throw new ConfigError(`${client.url} does not tell its consensus key: give it with --pubkey`)
  return key
}
