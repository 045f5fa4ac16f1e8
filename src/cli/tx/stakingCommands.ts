import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { formatDecimal, parseDecimal } from '../../primitives/decimal.ts'
import {
  accountText,
  coinJson,
  type MessageJson,
  operatorText,
  parseAmount,
  type TxCommand,
  type TxInput,
} from './txCommand.ts'

const VALIDATOR = ['<validator>', 'operator: coinvaloper1…, coin1… or 0x…'] as const
const AMOUNT = ['<amount>', 'amount with its unit, such as 100COIN'] as const
const ED25519_KEY = '/cosmos.crypto.ed25519.PubKey'
/** The SDK's value for a field that an edit leaves as it is. */
const UNCHANGED = '[do-not-modify]'
const DESCRIPTION = ['moniker', 'identity', 'website', 'securityContact', 'details'] as const

/** Of a genesis transaction too. */
export const CREATE_VALIDATOR: TxCommand = {
  group: 'staking',
  name: 'create-validator',
  description: 'Create a validator with the consensus key of the node; the sender is its operator',
  arguments: [AMOUNT],
  options: [
    new Option('--moniker <name>', 'name of the validator').makeOptionMandatory(),
    new Option('--pubkey <base64>', 'consensus key, ed25519 (default: from the node at --node)'),
    new Option('--commission-rate <rate>', "operator's share of the rewards").default('0.1'),
    new Option('--commission-max-rate <rate>', 'maximum commission rate; cannot be changed later').default('0.2'),
    new Option('--commission-max-change-rate <rate>', 'maximum change of the commission rate per day').default('0.01'),
    new Option('--min-self-delegation <amount>', 'minimum self-delegation; below it the validator is jailed').default(
      '1acoin',
    ),
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
        pubkey: { '@type': ED25519_KEY, key: await consensusKey(input) },
        value: coinJson(parseAmount(args[0]!)),
      },
    ]
  },
}

/** Commands about validators, their delegators and the rewards of both: staking, distribution, slashing. */
export const STAKING_COMMANDS: readonly TxCommand[] = [
  CREATE_VALIDATOR,
  {
    group: 'staking',
    name: 'edit-validator',
    description: "Change the description, commission or minimum self-delegation of the sender's validator",
    arguments: [],
    options: [
      ...descriptionOptions(' (default: unchanged)'),
      new Option('--commission-rate <rate>', 'new commission rate (at most one change per day)'),
      new Option('--min-self-delegation <amount>', 'new minimum self-delegation; it can only be raised'),
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
    name: 'rotate-cons-pub-key',
    description: "Rotate the consensus key of the sender's validator; the node must have the new key first",
    arguments: [['<new-pubkey>', 'consensus key, ed25519: base64, or JSON with @type and key']],
    build: ({ from, args: [text] }) => [
      {
        '@type': '/cosmos.staking.v1beta1.MsgRotateConsPubKey',
        validator_address: operatorText(from),
        new_pubkey: { '@type': ED25519_KEY, key: keyText(text!) },
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
    aliases: ['unbond'],
    description: 'Undelegate coins; they are available after the unbonding time',
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
    description: 'Move staked coins to another validator immediately',
    arguments: [['<source>', 'source validator'], ['<destination>', 'destination validator'], AMOUNT],
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
    aliases: ['cancel-unbond'],
    description: 'Cancel an unbonding and delegate its coins again',
    arguments: [VALIDATOR, AMOUNT, ['<creation-height>', 'block in which the unbonding started']],
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

const WITHDRAW_REWARD = '/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward'

export const DISTRIBUTION_COMMANDS: readonly TxCommand[] = [
  {
    group: 'distribution',
    name: 'withdraw-rewards',
    description: 'Withdraw the rewards of a delegation',
    arguments: [VALIDATOR],
    options: [new Option('--commission', 'also withdraw the commission of the validator, as its operator')],
    build: ({ from, args: [validator], options }) => {
      const operator = operatorText(validator!)
      const messages: MessageJson[] = [
        { '@type': WITHDRAW_REWARD, delegator_address: from, validator_address: operator },
      ]
      if (options['commission'] === true) {
        messages.push({
          '@type': '/cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission',
          validator_address: operator,
        })
      }
      return messages
    },
  },
  {
    group: 'distribution',
    name: 'withdraw-all-rewards',
    description: 'Withdraw the rewards of all delegations',
    arguments: [],
    build: async ({ from, client }) => {
      const answer = (await client.get(`/cosmos/distribution/v1beta1/delegators/${from}/validators`)) as {
        readonly validators: readonly string[]
      }
      if (answer.validators.length === 0) throw new ConfigError(`${from} has no delegations`)
      return answer.validators.map((validator) => ({
        '@type': WITHDRAW_REWARD,
        delegator_address: from,
        validator_address: validator,
      }))
    },
  },
  {
    group: 'distribution',
    name: 'set-withdraw-address',
    aliases: ['set-withdraw-addr'],
    description: 'Set the account that receives the rewards',
    arguments: [['<address>', 'coin1… or 0x…']],
    build: ({ from, args: [address] }) => [
      {
        '@type': '/cosmos.distribution.v1beta1.MsgSetWithdrawAddress',
        delegator_address: from,
        withdraw_address: accountText(address!),
      },
    ],
  },
  {
    group: 'distribution',
    name: 'fund-community-pool',
    description: 'Send coins to the community pool',
    arguments: [AMOUNT],
    build: ({ from, args: [amount] }) => [
      {
        '@type': '/cosmos.distribution.v1beta1.MsgFundCommunityPool',
        amount: [coinJson(parseAmount(amount!))],
        depositor: from,
      },
    ],
  },
  {
    group: 'distribution',
    name: 'deposit-validator-rewards',
    description: 'Send coins to the delegators of a validator',
    arguments: [VALIDATOR, AMOUNT],
    build: ({ from, args: [validator, amount] }) => [
      {
        '@type': '/cosmos.distribution.v1beta1.MsgDepositValidatorRewardsPool',
        depositor: from,
        validator_address: operatorText(validator!),
        amount: [coinJson(parseAmount(amount!))],
      },
    ],
  },
]

export const SLASHING_COMMANDS: readonly TxCommand[] = [
  {
    group: 'slashing',
    name: 'unjail',
    description: "Release the sender's validator from jail",
    arguments: [],
    build: ({ from }) => [{ '@type': '/cosmos.slashing.v1beta1.MsgUnjail', validator_addr: operatorText(from) }],
  },
]

function descriptionOptions(note: string): Option[] {
  return [
    new Option('--moniker <name>', `name of the validator${note}`),
    new Option('--identity <id>', `identity, for its picture${note}`),
    new Option('--website <url>', `website${note}`),
    new Option('--security-contact <address>', `contact for security problems${note}`),
    new Option('--details <text>', `further details${note}`),
  ]
}

function description(options: TxInput['options'], otherwise: string): Record<string, string> {
  return Object.fromEntries(
    DESCRIPTION.map((name) => [name, options[name] === undefined ? otherwise : String(options[name])]),
  )
}

/** @throws ConfigError when the text is not a rate */
function rate(text: string | boolean | undefined): string {
  const value = parseDecimal(String(text))
  if (value === undefined || value < 0n) throw new ConfigError(`${text} is not a rate: expected a number such as 0.1`)
  return formatDecimal(value)
}

/**
 * Returns the base64 of a consensus key, from itself or from the JSON of the SDK's commands.
 * @throws ConfigError when the text is neither
 */
function keyText(text: string): string {
  let key: unknown = text
  if (text.trimStart().startsWith('{')) {
    try {
      const json = JSON.parse(text) as { readonly '@type'?: unknown; readonly key?: unknown }
      key = json['@type'] === ED25519_KEY ? json.key : undefined
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      key = undefined
    }
  }
  if (typeof key === 'string' && Buffer.from(key, 'base64').length === 32) return key
  throw new ConfigError(
    `${text} is not an ed25519 key: expected base64 of 32 bytes, or {"@type":"${ED25519_KEY}","key":"…"}`,
  )
}

/** Returns the consensus key from the command line, else the key of the node at --node. */
async function consensusKey({ options, client }: TxInput): Promise<string> {
  if (typeof options['pubkey'] === 'string') return options['pubkey']
  const status = (await client.comet('status', {})) as {
    readonly validator_info?: { readonly pub_key?: { readonly value?: string } }
  }
  const key = status.validator_info?.pub_key?.value
  if (key === undefined) throw new ConfigError(`${client.url} did not return its consensus key: give it with --pubkey`)
  return key
}
