import { AUTH_PARAMS } from '../../src/modules/auth/params.ts'
import { BANK_PARAMS } from '../../src/modules/bank/params.ts'
import { CONSENSUS_PARAMS } from '../../src/modules/consensus/params.ts'
import { DISTRIBUTION_PARAMS } from '../../src/modules/distribution/params.ts'
import { FEEMARKET_PARAMS } from '../../src/modules/feemarket/params.ts'
import { GOV_AUTHORITY } from '../../src/modules/gov/authority.ts'
import { GOV_PARAMS } from '../../src/modules/gov/params.ts'
import { MESSAGES } from '../../src/modules/messageTable.ts'
import { MINT_PARAMS } from '../../src/modules/mint/params.ts'
import { SLASHING_PARAMS } from '../../src/modules/slashing/params.ts'
import { STAKING_PARAMS } from '../../src/modules/staking/params.ts'
import { getValidator, putValidator } from '../../src/modules/staking/validators.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import type { Journal } from '../../src/state/journal.ts'
import {
  ACTOR,
  createValidator,
  delegate,
  deposit,
  grantFees,
  grantSend,
  grantStake,
  JAILED,
  lastProposal,
  OTHER,
  propose,
  redelegate,
  revoke,
  STRANGERS,
  spend,
  undelegate,
  VOTED,
  vote,
} from './grow.ts'
import { account, COIN, coin, coins, consensusKey, message, operator, type Stage, text, VALIDATORS } from './stage.ts'

/** An operation on a grown state: what a transaction of it pays for must not depend on how large the state is. */
export interface MessageRow {
  /** after the message's name, where it has several rows */
  readonly variant?: string
  /** in the measured block, before the measured message */
  readonly before?: (stage: Stage, world: Journal, size: number) => void
  readonly make: (size: number, stage: Stage) => AnyValue
  /** no state lets it succeed here; its checks are measured */
  readonly fails?: true
}

const [FIRST, SECOND] = VALIDATORS as [Uint8Array, Uint8Array]
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i))

const send = (from: number, to: number) => ({ from_address: text(from), to_address: text(to), amount: coins(1n) })
const sendAny = (from: number, to: number) => ({ '@type': '/cosmos.bank.v1beta1.MsgSend', ...send(from, to) })
const stakeAny = (from: number) => ({
  '@type': '/cosmos.staking.v1beta1.MsgDelegate',
  delegator_address: text(from),
  validator_address: operator(FIRST),
  amount: coin(1n),
})

function nestedExec(levels: number): AnyValue {
  let inner: { readonly [name: string]: unknown } = sendAny(ACTOR, OTHER)
  for (let level = 1; level < levels; level++) {
    inner = { '@type': '/cosmos.authz.v1beta1.MsgExec', grantee: text(ACTOR), msgs: [inner] }
  }
  return message('cosmos.authz.v1beta1.MsgExec', { grantee: text(ACTOR), msgs: [inner] } as never)
}

/** The parameters as they are. */
const update = (
  name: string,
  params: { readonly get: (native: Journal['native']) => unknown },
): { readonly [name: string]: readonly MessageRow[] } => ({
  [name]: [
    {
      make: (_, stage) => {
        const { type } = MESSAGES.get(`/${name}`)!
        let value: unknown
        stage.change((world) => {
          value = params.get(world.native)
        })
        return {
          typeUrl: type.typeUrl,
          value: type.encode(type.create({ authority: GOV_AUTHORITY, params: value } as never)),
        }
      },
    },
  ],
})

/** Rows by the name of the message. Each message of the chain has one at least. */
export const MESSAGE_ROWS: { readonly [name: string]: readonly MessageRow[] } = {
  ...update('cosmos.auth.v1beta1.MsgUpdateParams', AUTH_PARAMS),
  ...update('cosmos.bank.v1beta1.MsgUpdateParams', BANK_PARAMS),
  ...update('cosmos.distribution.v1beta1.MsgUpdateParams', DISTRIBUTION_PARAMS),
  ...update('cosmos.evm.feemarket.v1.MsgUpdateParams', FEEMARKET_PARAMS),
  ...update('cosmos.gov.v1.MsgUpdateParams', GOV_PARAMS),
  ...update('cosmos.mint.v1beta1.MsgUpdateParams', MINT_PARAMS),
  ...update('cosmos.slashing.v1beta1.MsgUpdateParams', SLASHING_PARAMS),
  ...update('cosmos.staking.v1beta1.MsgUpdateParams', STAKING_PARAMS),
  'cosmos.consensus.v1.MsgUpdateParams': [
    {
      make: (_, stage) => {
        const { type } = MESSAGES.get('/cosmos.consensus.v1.MsgUpdateParams')!
        let params: object = {}
        stage.change((world) => {
          params = CONSENSUS_PARAMS.get(world.native)
        })
        const { version: _version, ...rest } = params as { readonly version?: unknown }
        return { typeUrl: type.typeUrl, value: type.encode({ ...rest, authority: GOV_AUTHORITY } as never) }
      },
    },
  ],
  'cosmos.authz.v1beta1.MsgGrant': [
    { make: () => grantSend(ACTOR, OTHER) },
    { variant: 'validators', make: () => grantStake(ACTOR, OTHER) },
    {
      variant: 'texts that are not addresses',
      fails: true,
      make: (size) =>
        message('cosmos.authz.v1beta1.MsgGrant', {
          granter: text(ACTOR),
          grantee: text(OTHER),
          grant: {
            authorization: {
              '@type': '/cosmos.bank.v1beta1.SendAuthorization',
              spend_limit: coins(1n),
              allow_list: many(size * 5, () => 'x'),
            },
          },
        }),
    },
  ],
  'cosmos.authz.v1beta1.MsgExec': [
    {
      variant: 'of a grant with 64 receivers',
      make: (size) =>
        message('cosmos.authz.v1beta1.MsgExec', {
          grantee: text(ACTOR),
          msgs: many(size, () => sendAny(OTHER, OTHER)),
        }),
    },
    {
      variant: 'of a grant with 64 validators',
      make: (size) =>
        message('cosmos.authz.v1beta1.MsgExec', { grantee: text(ACTOR), msgs: many(size, () => stakeAny(OTHER)) }),
    },
    {
      variant: 'of grants of strangers, refused',
      fails: true,
      make: () =>
        message('cosmos.authz.v1beta1.MsgExec', { grantee: text(ACTOR), msgs: [sendAny(STRANGERS + 1, STRANGERS)] }),
    },
    { variant: 'in 6 levels', make: () => nestedExec(6) },
  ],
  'cosmos.authz.v1beta1.MsgRevoke': [{ make: () => revoke(OTHER, ACTOR) }],
  'cosmos.bank.v1beta1.MsgSend': [
    { make: () => message('cosmos.bank.v1beta1.MsgSend', send(ACTOR, OTHER)) },
    {
      variant: 'many coins',
      fails: true,
      make: (size) =>
        message('cosmos.bank.v1beta1.MsgSend', {
          ...send(ACTOR, OTHER),
          amount: many(size * 10, (index) => ({ denom: `c${String(index).padStart(5, '0')}`, amount: '1' })),
        }),
    },
  ],
  'cosmos.bank.v1beta1.MsgMultiSend': [
    {
      make: (size) =>
        message('cosmos.bank.v1beta1.MsgMultiSend', {
          inputs: [{ address: text(ACTOR), coins: coins(BigInt(size)) }],
          outputs: many(size, (index) => ({ address: text(STRANGERS + index), coins: coins(1n) })),
        }),
    },
  ],
  'cosmos.bank.v1beta1.MsgSetSendEnabled': [
    {
      make: (size) =>
        message('cosmos.bank.v1beta1.MsgSetSendEnabled', {
          authority: GOV_AUTHORITY,
          send_enabled: many(size, (index) => ({ denom: `denom${index}`, enabled: true })),
          use_default_for: many(size, (index) => `other${index}`),
        }),
    },
  ],
  'cosmos.distribution.v1beta1.MsgSetWithdrawAddress': [
    {
      make: () =>
        message('cosmos.distribution.v1beta1.MsgSetWithdrawAddress', {
          delegator_address: text(ACTOR),
          withdraw_address: text(OTHER),
        }),
    },
  ],
  'cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward': [
    {
      make: () =>
        message('cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward', {
          delegator_address: text(ACTOR),
          validator_address: operator(FIRST),
        }),
    },
  ],
  'cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission': [
    {
      fails: true,
      make: () =>
        message('cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission', { validator_address: operator(FIRST) }),
    },
  ],
  'cosmos.distribution.v1beta1.MsgFundCommunityPool': [
    {
      make: () =>
        message('cosmos.distribution.v1beta1.MsgFundCommunityPool', { depositor: text(ACTOR), amount: coins(1n) }),
    },
  ],
  'cosmos.distribution.v1beta1.MsgDepositValidatorRewardsPool': [
    {
      make: () =>
        message('cosmos.distribution.v1beta1.MsgDepositValidatorRewardsPool', {
          depositor: text(ACTOR),
          validator_address: operator(FIRST),
          amount: coins(1n),
        }),
    },
  ],
  'cosmos.distribution.v1beta1.MsgCommunityPoolSpend': [
    {
      before: (stage, world) =>
        void stage.run(
          world,
          message('cosmos.distribution.v1beta1.MsgFundCommunityPool', { depositor: text(ACTOR), amount: coins(COIN) }),
        ),
      make: () => {
        const { '@type': _type, ...fields } = spend() as { readonly [name: string]: never }
        return message('cosmos.distribution.v1beta1.MsgCommunityPoolSpend', fields)
      },
    },
  ],
  'cosmos.feegrant.v1beta1.MsgGrantAllowance': [
    { make: () => grantFees(ACTOR, OTHER) },
    {
      variant: 'too many messages',
      fails: true,
      make: (size) =>
        message('cosmos.feegrant.v1beta1.MsgGrantAllowance', {
          granter: text(ACTOR),
          grantee: text(OTHER),
          allowance: {
            '@type': '/cosmos.feegrant.v1beta1.AllowedMsgAllowance',
            allowance: { '@type': '/cosmos.feegrant.v1beta1.BasicAllowance', spend_limit: coins(1n) },
            allowed_messages: many(size * 5 + 65, () => 'x'),
          },
        }),
    },
  ],
  'cosmos.feegrant.v1beta1.MsgRevokeAllowance': [
    {
      make: () =>
        message('cosmos.feegrant.v1beta1.MsgRevokeAllowance', { granter: text(STRANGERS), grantee: text(ACTOR) }),
    },
  ],
  'cosmos.feegrant.v1beta1.MsgPruneAllowances': [
    { make: () => message('cosmos.feegrant.v1beta1.MsgPruneAllowances', { pruner: text(ACTOR) }) },
    {
      variant: 'of allowances that are over',
      before: (stage) => {
        stage.timeMs += 2 * 86_400_000
      },
      make: () => message('cosmos.feegrant.v1beta1.MsgPruneAllowances', { pruner: text(ACTOR) }),
    },
  ],
  'cosmos.gov.v1.MsgSubmitProposal': [{ make: (size) => propose(ACTOR, 10n * COIN, Math.min(size, 60)) }],
  'cosmos.gov.v1.MsgExecLegacyContent': [
    {
      make: () =>
        message('cosmos.gov.v1.MsgExecLegacyContent', {
          authority: GOV_AUTHORITY,
          content: { '@type': '/cosmos.gov.v1beta1.TextProposal', title: 't', description: 'd' },
        }),
    },
  ],
  'cosmos.gov.v1.MsgVote': [
    { make: () => vote(ACTOR, VOTED) },
    {
      variant: 'again',
      before: (stage, world) => void stage.run(world, vote(ACTOR, VOTED)),
      make: () => vote(ACTOR, VOTED),
    },
  ],
  'cosmos.gov.v1.MsgVoteWeighted': [
    {
      make: () =>
        message('cosmos.gov.v1.MsgVoteWeighted', {
          proposal_id: VOTED.toString(),
          voter: text(ACTOR),
          options: [1, 2, 3, 4].map((option) => ({ option, weight: '0.25' })),
        }),
    },
  ],
  'cosmos.gov.v1.MsgDeposit': [
    { make: () => deposit(ACTOR, VOTED) },
    {
      variant: 'that begins the vote',
      make: (size) =>
        message('cosmos.gov.v1.MsgDeposit', {
          proposal_id: lastProposal(size).toString(),
          depositor: text(ACTOR),
          amount: coins(9n * COIN),
        }),
    },
  ],
  'cosmos.gov.v1.MsgCancelProposal': [
    {
      make: (size) =>
        message('cosmos.gov.v1.MsgCancelProposal', {
          proposal_id: lastProposal(size).toString(),
          proposer: text(ACTOR),
        }),
    },
    {
      variant: 'with votes and deposits of strangers',
      make: () => message('cosmos.gov.v1.MsgCancelProposal', { proposal_id: VOTED.toString(), proposer: text(ACTOR) }),
    },
  ],
  'cosmos.gov.v1beta1.MsgSubmitProposal': [
    {
      make: () =>
        message('cosmos.gov.v1beta1.MsgSubmitProposal', {
          content: { '@type': '/cosmos.gov.v1beta1.TextProposal', title: 't', description: 'd'.repeat(100) },
          initial_deposit: coins(10n * COIN),
          proposer: text(ACTOR),
        }),
    },
    {
      variant: 'names that no parameter has',
      fails: true,
      make: (size) =>
        message('cosmos.gov.v1beta1.MsgSubmitProposal', {
          content: {
            '@type': '/cosmos.params.v1beta1.ParameterChangeProposal',
            title: 't',
            description: 'd',
            changes: [
              {
                subspace: 'gov',
                key: 'depositparams',
                value: JSON.stringify(Object.fromEntries(many(size * 10, (index) => [`n${index}`, 1]))),
              },
            ],
          },
          initial_deposit: coins(10n * COIN),
          proposer: text(ACTOR),
        }),
    },
  ],
  'cosmos.gov.v1beta1.MsgVote': [
    { make: () => message('cosmos.gov.v1beta1.MsgVote', { proposal_id: '1', voter: text(ACTOR), option: 1 }) },
  ],
  'cosmos.gov.v1beta1.MsgVoteWeighted': [
    {
      make: () =>
        message('cosmos.gov.v1beta1.MsgVoteWeighted', {
          proposal_id: '1',
          voter: text(ACTOR),
          options: [1, 2, 3, 4].map((option) => ({ option, weight: '0.25' })),
        }),
    },
  ],
  'cosmos.gov.v1beta1.MsgDeposit': [
    {
      make: () =>
        message('cosmos.gov.v1beta1.MsgDeposit', { proposal_id: '1', depositor: text(ACTOR), amount: coins(COIN) }),
    },
  ],
  'cosmos.slashing.v1beta1.MsgUnjail': [
    {
      before: (_, world) => {
        const validator = getValidator(world.native, account(JAILED))!
        putValidator(world.native, { ...validator, jailed: true })
      },
      make: () => message('cosmos.slashing.v1beta1.MsgUnjail', { validator_addr: operator(account(JAILED)) }),
    },
  ],
  'cosmos.staking.v1beta1.MsgCreateValidator': [{ make: () => createValidator(OTHER) }],
  'cosmos.staking.v1beta1.MsgEditValidator': [
    {
      make: () =>
        message('cosmos.staking.v1beta1.MsgEditValidator', {
          description: { moniker: 'another', details: 'd'.repeat(280) },
          validator_address: operator(FIRST),
        }),
    },
  ],
  'cosmos.staking.v1beta1.MsgRotateConsPubKey': [
    {
      before: (_, world) => world.setBalance(FIRST, 1_000_000n * COIN),
      make: () =>
        message('cosmos.staking.v1beta1.MsgRotateConsPubKey', {
          validator_address: operator(FIRST),
          new_pubkey: { '@type': '/cosmos.crypto.ed25519.PubKey', key: base64(consensusKey(77)) },
        }),
    },
  ],
  'cosmos.staking.v1beta1.MsgDelegate': [
    { make: () => delegate(ACTOR) },
    {
      variant: 'by a voter',
      before: (stage, world) => void stage.run(world, vote(ACTOR, VOTED)),
      make: () => delegate(ACTOR),
    },
  ],
  'cosmos.staking.v1beta1.MsgBeginRedelegate': [{ make: () => redelegate(ACTOR, VALIDATORS[2]!, FIRST) }],
  'cosmos.staking.v1beta1.MsgUndelegate': [
    { make: () => undelegate(ACTOR) },
    { variant: 'from another', make: () => undelegate(ACTOR, SECOND) },
  ],
  'cosmos.staking.v1beta1.MsgCancelUnbondingDelegation': [
    {
      make: () =>
        message('cosmos.staking.v1beta1.MsgCancelUnbondingDelegation', {
          delegator_address: text(ACTOR),
          validator_address: operator(FIRST),
          amount: coin(1n),
          creation_height: '4',
        }),
    },
  ],
  'cosmos.upgrade.v1beta1.MsgSoftwareUpgrade': [
    {
      make: () =>
        message('cosmos.upgrade.v1beta1.MsgSoftwareUpgrade', {
          authority: GOV_AUTHORITY,
          plan: { name: 'next', height: '1000', info: 'i'.repeat(1_000) },
        }),
    },
  ],
  'cosmos.upgrade.v1beta1.MsgCancelUpgrade': [
    {
      before: (stage, world) =>
        void stage.run(
          world,
          message('cosmos.upgrade.v1beta1.MsgSoftwareUpgrade', {
            authority: GOV_AUTHORITY,
            plan: { name: 'next', height: '1000', info: 'i'.repeat(1_000) },
          }),
        ),
      make: () => message('cosmos.upgrade.v1beta1.MsgCancelUpgrade', { authority: GOV_AUTHORITY }),
    },
  ],
  'cosmos.vesting.v1beta1.MsgCreateVestingAccount': [
    {
      make: () =>
        message('cosmos.vesting.v1beta1.MsgCreateVestingAccount', {
          from_address: text(ACTOR),
          to_address: text(42),
          amount: coins(COIN),
          end_time: '2000000000',
          delayed: false,
        }),
    },
  ],
  'cosmos.vesting.v1beta1.MsgCreatePermanentLockedAccount': [
    {
      make: () =>
        message('cosmos.vesting.v1beta1.MsgCreatePermanentLockedAccount', {
          from_address: text(ACTOR),
          to_address: text(42),
          amount: coins(COIN),
        }),
    },
  ],
  'cosmos.vesting.v1beta1.MsgCreatePeriodicVestingAccount': [
    {
      make: (size) =>
        message('cosmos.vesting.v1beta1.MsgCreatePeriodicVestingAccount', {
          from_address: text(ACTOR),
          to_address: text(42),
          start_time: '1900000000',
          vesting_periods: many(size, () => ({ length: '86400', amount: coins(COIN) })),
        }),
    },
  ],
}
