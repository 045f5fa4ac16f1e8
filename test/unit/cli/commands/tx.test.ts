import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { MsgExec, MsgGrant, MsgRevoke } from 'cosmjs-types/cosmos/authz/v1beta1/tx'
import { MsgMultiSend, MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import {
  MsgDepositValidatorRewardsPool,
  MsgFundCommunityPool,
  MsgSetWithdrawAddress,
  MsgWithdrawDelegatorReward,
  MsgWithdrawValidatorCommission,
} from 'cosmjs-types/cosmos/distribution/v1beta1/tx'
import { MsgGrantAllowance, MsgPruneAllowances, MsgRevokeAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import {
  MsgCancelProposal,
  MsgDeposit,
  MsgSubmitProposal,
  MsgVote,
  MsgVoteWeighted,
} from 'cosmjs-types/cosmos/gov/v1/tx'
import { MsgUnjail } from 'cosmjs-types/cosmos/slashing/v1beta1/tx'
import {
  MsgBeginRedelegate,
  MsgCancelUnbondingDelegation,
  MsgCreateValidator,
  MsgDelegate,
  MsgEditValidator,
  MsgUndelegate,
} from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import {
  MsgCreatePeriodicVestingAccount,
  MsgCreatePermanentLockedAccount,
  MsgCreateVestingAccount,
} from 'cosmjs-types/cosmos/vesting/v1beta1/tx'
import { describe, expect, it } from 'vitest'
import { MESSAGE_COMMANDS } from '../../../../src/cli/commands/tx.ts'
import { DEVNET_ACCOUNTS } from '../../../../src/cli/devnetAccounts.ts'
import type { NodeClient } from '../../../../src/cli/nodeClient.ts'
import type { Terminal } from '../../../../src/cli/ports.ts'
import { formatAmount, parseAmount } from '../../../../src/cli/tx/txCommand.ts'
import { toBech32, toChecksumAddress } from '../../../../src/primitives/address.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'
import { JSON_TYPES_OF_ANY } from '../../../../src/rpc/cosmos/anyTypes.ts'
import { readSdkFiles } from '../../../../src/rpc/cosmos/grpc/sdkFiles.ts'

const FROM = toBech32(DEVNET_ACCOUNTS[0]!.address)
const OTHER = toBech32(DEVNET_ACCOUNTS[1]!.address)
const OTHER_HEX = toChecksumAddress(DEVNET_ACCOUNTS[1]!.address)
const VALIDATOR = toBech32(DEVNET_ACCOUNTS[1]!.address, 'coinvaloper')
const OWN_VALIDATOR = toBech32(DEVNET_ACCOUNTS[0]!.address, 'coinvaloper')
const COIN = { denom: 'acoin', amount: (15n * 10n ** 17n).toString() }
const KEY = Buffer.alloc(32, 7).toString('base64')

const directory = mkdtempSync(join(tmpdir(), 'coind-tx-'))
const PROPOSAL = join(directory, 'proposal.json')
writeFileSync(PROPOSAL, JSON.stringify({ title: 'T', summary: 'S', deposit: '1.5COIN', expedited: true }))
const PERIODS = join(directory, 'periods.json')
writeFileSync(
  PERIODS,
  JSON.stringify({ start_time: 1625204910, periods: [{ coins: '1.5COIN', length_seconds: 2592000 }] }),
)
const MESSAGES = join(directory, 'messages.json')
writeFileSync(
  MESSAGES,
  JSON.stringify([{ '@type': '/cosmos.gov.v1.MsgVote', proposal_id: '7', voter: OTHER, option: 1 }]),
)

/** It is younger than cosmjs-types: read by the SDK's own .proto file. */
const MsgRotateConsPubKey = {
  typeUrl: '/cosmos.staking.v1beta1.MsgRotateConsPubKey',
  decode(bytes: Uint8Array): unknown {
    const sdk = createFileRegistry(create(FileDescriptorSetSchema, { file: [...readSdkFiles()] }))
    return fromBinary(sdk.getMessage(this.typeUrl.slice(1))!, bytes)
  },
}

/** How another implementation reads what a command made. */
const DECODERS: Readonly<Record<string, { decode(bytes: Uint8Array): unknown }>> = Object.fromEntries(
  [
    MsgSend,
    MsgMultiSend,
    MsgCreateValidator,
    MsgEditValidator,
    MsgDelegate,
    MsgUndelegate,
    MsgBeginRedelegate,
    MsgCancelUnbondingDelegation,
    MsgWithdrawDelegatorReward,
    MsgWithdrawValidatorCommission,
    MsgSetWithdrawAddress,
    MsgFundCommunityPool,
    MsgDepositValidatorRewardsPool,
    MsgSubmitProposal,
    MsgDeposit,
    MsgVote,
    MsgVoteWeighted,
    MsgCancelProposal,
    MsgUnjail,
    MsgGrant,
    MsgRevoke,
    MsgExec,
    MsgGrantAllowance,
    MsgRevokeAllowance,
    MsgPruneAllowances,
    MsgCreateVestingAccount,
    MsgCreatePermanentLockedAccount,
    MsgCreatePeriodicVestingAccount,
    MsgRotateConsPubKey,
  ].map((type) => [type.typeUrl, type]),
)

const client: NodeClient = {
  url: 'http://node',
  get: async (path): Promise<Json> => {
    expect(path).toBe(`/cosmos/distribution/v1beta1/delegators/${FROM}/validators`)
    return { validators: [VALIDATOR, OWN_VALIDATOR] }
  },
  post: async () => null,
  comet: async () => ({ validator_info: { pub_key: { type: 'tendermint/PubKeyEd25519', value: KEY } } }),
}
const terminal = { workingDirectory: directory } as Terminal

async function build(
  command: string,
  args: readonly string[] = [],
  options: Readonly<Record<string, string | boolean>> = {},
): Promise<unknown[]> {
  const entry = MESSAGE_COMMANDS.find(({ group, name }) => `${group} ${name}` === command)!
  const defaults = Object.fromEntries(
    (entry.options ?? []).flatMap((option) =>
      option.defaultValue === undefined ? [] : [[option.attributeName(), option.defaultValue as string]],
    ),
  )
  const input = { from: FROM, args, options: { ...defaults, ...options }, client, terminal }
  const messages = await entry.build(input)
  return messages.map(({ '@type': typeUrl, ...fields }) => {
    const type = JSON_TYPES_OF_ANY.typeOf(typeUrl)!
    const bytes = type.encode(type.fromJson(fields as Json, JSON_TYPES_OF_ANY) as never)
    return { typeUrl, ...(DECODERS[typeUrl]!.decode(bytes) as object) }
  })
}

describe('commands below coind tx', () => {
  it.each<[string, readonly string[], Readonly<Record<string, string | boolean>>, readonly object[]]>([
    ['bank send', [OTHER_HEX, '1.5COIN'], {}, [{ fromAddress: FROM, toAddress: OTHER, amount: [COIN] }]],
    [
      'bank multi-send',
      ['1500000000000000000acoin', OTHER, OTHER_HEX],
      {},
      [
        {
          inputs: [{ address: FROM, coins: [{ denom: 'acoin', amount: (3n * 10n ** 18n).toString() }] }],
          outputs: [
            { address: OTHER, coins: [COIN] },
            { address: OTHER, coins: [COIN] },
          ],
        },
      ],
    ],
    [
      'staking create-validator',
      ['1.5COIN'],
      { moniker: 'm' },
      [
        {
          delegatorAddress: FROM,
          validatorAddress: OWN_VALIDATOR,
          value: COIN,
          minSelfDelegation: '1',
          commission: {
            rate: `1${'0'.repeat(17)}`,
            maxRate: `2${'0'.repeat(17)}`,
            maxChangeRate: `1${'0'.repeat(16)}`,
          },
        },
      ],
    ],
    [
      'staking edit-validator',
      [],
      { website: 'https://example.org', commissionRate: '0.11' },
      [{ validatorAddress: OWN_VALIDATOR, commissionRate: `11${'0'.repeat(16)}`, minSelfDelegation: '' }],
    ],
    [
      'staking rotate-cons-pub-key',
      ['AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='],
      {},
      [{ validatorAddress: OWN_VALIDATOR }],
    ],
    [
      'staking rotate-cons-pub-key',
      ['{"@type":"/cosmos.crypto.ed25519.PubKey","key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}'],
      {},
      [{ validatorAddress: OWN_VALIDATOR }],
    ],
    [
      'staking delegate',
      [OTHER, '1.5COIN'],
      {},
      [{ delegatorAddress: FROM, validatorAddress: VALIDATOR, amount: COIN }],
    ],
    ['staking undelegate', [VALIDATOR, '1.5COIN'], {}, [{ validatorAddress: VALIDATOR, amount: COIN }]],
    [
      'staking redelegate',
      [VALIDATOR, FROM, '1.5COIN'],
      {},
      [{ validatorSrcAddress: VALIDATOR, validatorDstAddress: OWN_VALIDATOR, amount: COIN }],
    ],
    [
      'staking cancel-unbonding',
      [VALIDATOR, '1.5COIN', '77'],
      {},
      [{ validatorAddress: VALIDATOR, amount: COIN, creationHeight: 77n }],
    ],
    [
      'distribution withdraw-rewards',
      [VALIDATOR],
      { commission: true },
      [{ delegatorAddress: FROM, validatorAddress: VALIDATOR }, { validatorAddress: VALIDATOR }],
    ],
    [
      'distribution withdraw-all-rewards',
      [],
      {},
      [{ validatorAddress: VALIDATOR }, { validatorAddress: OWN_VALIDATOR }],
    ],
    ['distribution set-withdraw-address', [OTHER_HEX], {}, [{ delegatorAddress: FROM, withdrawAddress: OTHER }]],
    ['distribution fund-community-pool', ['1.5COIN'], {}, [{ depositor: FROM, amount: [COIN] }]],
    [
      'distribution deposit-validator-rewards',
      [VALIDATOR, '1.5COIN'],
      {},
      [{ depositor: FROM, validatorAddress: VALIDATOR, amount: [COIN] }],
    ],
    [
      'gov submit-proposal',
      [PROPOSAL],
      {},
      [{ title: 'T', summary: 'S', proposer: FROM, initialDeposit: [COIN], expedited: true, messages: [] }],
    ],
    ['gov deposit', ['7', '1.5COIN'], {}, [{ proposalId: 7n, depositor: FROM, amount: [COIN] }]],
    ['gov vote', ['7', 'no-with-veto'], {}, [{ proposalId: 7n, voter: FROM, option: 4, metadata: '' }]],
    [
      'gov weighted-vote',
      ['7', 'yes=0.6', 'no=0.4'],
      {},
      [
        {
          proposalId: 7n,
          options: [
            { option: 1, weight: '0.600000000000000000' },
            { option: 3, weight: '0.400000000000000000' },
          ],
        },
      ],
    ],
    ['gov cancel-proposal', ['7'], {}, [{ proposalId: 7n, proposer: FROM }]],
    ['slashing unjail', [], {}, [{ validatorAddr: OWN_VALIDATOR }]],
    [
      'authz grant',
      [OTHER, '/cosmos.bank.v1beta1.MsgSend'],
      { spendLimit: '1.5COIN', expires: '2030-01-01T00:00:00Z' },
      [{ granter: FROM, grantee: OTHER }],
    ],
    [
      'authz revoke',
      [OTHER, '/cosmos.gov.v1.MsgVote'],
      {},
      [{ granter: FROM, grantee: OTHER, msgTypeUrl: '/cosmos.gov.v1.MsgVote' }],
    ],
    ['authz exec', [MESSAGES], {}, [{ grantee: FROM, msgs: [{ typeUrl: '/cosmos.gov.v1.MsgVote' }] }]],
    ['feegrant grant', [OTHER], { spendLimit: '1.5COIN' }, [{ granter: FROM, grantee: OTHER }]],
    ['feegrant revoke', [OTHER], {}, [{ granter: FROM, grantee: OTHER }]],
    ['feegrant prune', [], {}, [{ pruner: FROM }]],
    [
      'vesting create-vesting-account',
      [OTHER_HEX, '1.5COIN', '1798761600'],
      { delayed: true },
      [{ fromAddress: FROM, toAddress: OTHER, amount: [COIN], endTime: 1_798_761_600n, delayed: true }],
    ],
    [
      'vesting create-permanent-locked-account',
      [OTHER, '1.5COIN'],
      {},
      [{ fromAddress: FROM, toAddress: OTHER, amount: [COIN] }],
    ],
    [
      'vesting create-periodic-vesting-account',
      [OTHER, PERIODS],
      {},
      [
        {
          fromAddress: FROM,
          toAddress: OTHER,
          startTime: 1_625_204_910n,
          vestingPeriods: [{ length: 2_592_000n, amount: [COIN] }],
        },
      ],
    ],
    ['messages send', [MESSAGES], {}, [{ typeUrl: '/cosmos.gov.v1.MsgVote', proposalId: 7n, voter: OTHER }]],
  ])('%s', async (command, args, options, expected) => {
    expect(await build(command, args, options)).toMatchObject(expected)
  })

  it('have a test each', () => {
    expect(MESSAGE_COMMANDS.map(({ group, name }) => `${group} ${name}`)).toHaveLength(30)
  })

  it.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    ['bank send', ['nobody', '1COIN'], {}, 'nobody is not an address'],
    ['bank send', [OTHER_HEX.replace('C51812dc', 'C51812Dc'), '1COIN'], {}, 'EIP-55'],
    ['bank send', [VALIDATOR, '1COIN'], {}, 'expected the prefix coin'],
    ['bank send', [OTHER, '1'], {}, '1 is not an amount'],
    ['bank send', [OTHER, '-1COIN'], {}, '-1COIN is not an amount'],
    ['bank send', [OTHER, '0.5acoin'], {}, '0.5acoin is not an amount'],
    ['bank send', [OTHER, '1.1234567890123456789COIN'], {}, 'is not an amount'],
    ['staking create-validator', ['1COIN'], { moniker: 'm', commissionRate: 'ten' }, 'ten is not a rate'],
    ['gov vote', ['7', 'maybe'], {}, 'maybe is not a vote option'],
    ['gov weighted-vote', ['7', 'yes'], {}, 'yes is not a share of a vote'],
    ['gov submit-proposal', [MESSAGES], {}, 'must hold a JSON object'],
    ['gov submit-proposal', ['absent.json'], {}, 'as JSON (ENOENT'],
    ['messages send', [PROPOSAL], {}, 'must hold an array of messages'],
    ['authz grant', [OTHER, '/cosmos.gov.v1.MsgVote'], { spendLimit: '1COIN' }, '--spend-limit can be used for'],
  ])('%s %j %j says what is wrong', async (command, args, options, problem) => {
    await expect(build(command, args, options)).rejects.toThrow(problem)
  })
})

describe('amounts', () => {
  it.each([
    ['1COIN', 10n ** 18n],
    ['1.5COIN', 15n * 10n ** 17n],
    ['1.5 coin', 15n * 10n ** 17n],
    ['0.000000000000000001COIN', 1n],
    ['42acoin', 42n],
    ['0COIN', 0n],
  ])('%s', (text, acoin) => {
    expect(parseAmount(text)).toBe(acoin)
  })

  it('are shown in the unit that people use', () => {
    expect([0n, 1n, 10n ** 18n, 15n * 10n ** 17n].map(formatAmount)).toEqual([
      '0 COIN',
      '0.000000000000000001 COIN',
      '1 COIN',
      '1.5 COIN',
    ])
  })
})
