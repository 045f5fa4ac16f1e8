import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { accountText, operatorText } from './addresses.ts'
import { coinJson, parseAmount } from './amount.ts'
import type { MessageJson, TxCommand } from './txCommand.ts'

const WITHDRAW_REWARD = '/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward'

export const DISTRIBUTION_COMMANDS: readonly TxCommand[] = [
  {
    group: 'distribution',
    name: 'withdraw-rewards',
    description: 'Withdraw the rewards of a delegation',
    arguments: [['<validator>', 'operator: coinvaloper1…, coin1… or 0x…']],
    options: [new Option('--commission', 'withdraw the commission of the validator too, as its operator')],
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
    description: 'Let rewards go to another account',
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
    description: 'Give coins to the community pool',
    arguments: [['<amount>', 'amount with its unit, like 100COIN']],
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
    description: 'Give coins to the delegators of a validator',
    arguments: [
      ['<validator>', 'operator: coinvaloper1…, coin1… or 0x…'],
      ['<amount>', 'amount with its unit, like 100COIN'],
    ],
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
