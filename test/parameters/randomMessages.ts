import { GenericAuthorization, MsgGrant, MsgRevoke } from '../../src/modules/authz/types.ts'
import { MsgSend } from '../../src/modules/bank/messages.ts'
import { coinsOf } from '../../src/modules/coin.ts'
import type { ModuleContext } from '../../src/modules/context.ts'
import {
  MsgFundCommunityPool,
  MsgSetWithdrawAddress,
  MsgWithdrawDelegatorReward,
  MsgWithdrawValidatorCommission,
} from '../../src/modules/distribution/messages.ts'
import { BasicAllowance, MsgGrantAllowance, MsgRevokeAllowance } from '../../src/modules/feegrant/types.ts'
import { MsgCancelProposal, MsgDeposit, MsgSubmitProposal, MsgVote } from '../../src/modules/gov/types.ts'
import { MsgUnjail } from '../../src/modules/slashing/messages.ts'
import { allDelegations } from '../../src/modules/staking/delegations.ts'
import {
  MsgBeginRedelegate,
  MsgCancelUnbondingDelegation,
  MsgCreateValidator,
  MsgDelegate,
  MsgEditValidator,
  MsgRotateConsPubKey,
  MsgUndelegate,
} from '../../src/modules/staking/messages.ts'
import { allUnbondings } from '../../src/modules/staking/unbonding.ts'
import { validators } from '../../src/modules/staking/validators.ts'
import { Ed25519PubKey } from '../../src/modules/tx/publicKey.ts'
import { MsgCreateVestingAccount } from '../../src/modules/vesting/types.ts'
import { type Address, BECH32_OPERATOR, toBech32 } from '../../src/primitives/address.ts'
import { bigIntToBytes } from '../../src/primitives/bytes.ts'
import { ONE } from '../../src/primitives/decimal.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import { anyOf } from '../native/signTransaction.ts'
import type { Random } from './random.ts'

const COIN = 10n ** 18n
const NO_TEXTS = { identity: '', website: '', securityContact: '', details: '' }

/** A message of one of the accounts, some of which operate validators. Many are refused for what the state is. */
export function randomMessage({ world, block }: ModuleContext, people: readonly Address[], random: Random): AnyValue {
  const me = random.pick(people)
  const text = toBech32(me)
  const other = toBech32(random.pick(people))
  const own = toBech32(me, BECH32_OPERATOR)
  const validator = () => toBech32(random.pick(people.slice(0, 8)), BECH32_OPERATOR)
  const amount = random.pick([1n, COIN / 3n, COIN, 7n * COIN, 1_000n * COIN])
  const coin = { denom: 'acoin', amount }
  const stake = { delegatorAddress: text, validatorAddress: validator(), amount: coin }
  const delegations = [...allDelegations(world.native)]
  const chosen = random.pick(delegations)
  const present = {
    delegatorAddress: toBech32(chosen.delegator),
    validatorAddress: toBech32(chosen.operator, BECH32_OPERATOR),
  }
  const jailed = [...validators(world.native)].filter((each) => each.jailed)
  const unjailed = jailed.length === 0 ? validator() : toBech32(random.pick(jailed).operator, BECH32_OPERATOR)
  const key = Ed25519PubKey.encode({ key: sha256(bigIntToBytes(BigInt(random.below(40)), 8)) })
  const pubkey = { typeUrl: Ed25519PubKey.typeUrl, value: key }
  const proposalId = BigInt(1 + random.below(20))
  const nowSeconds = BigInt(Math.floor(block.timeMs / 1000))
  const messages: readonly (() => AnyValue)[] = [
    () => anyOf(MsgDelegate, stake),
    () => anyOf(MsgDelegate, stake),
    () => anyOf(MsgUndelegate, { ...present, amount: coin }),
    () => anyOf(MsgUndelegate, { ...present, amount: coin }),
    () =>
      anyOf(MsgBeginRedelegate, {
        delegatorAddress: present.delegatorAddress,
        validatorSrcAddress: present.validatorAddress,
        validatorDstAddress: validator(),
        amount: coin,
      }),
    () =>
      anyOf(MsgBeginRedelegate, {
        delegatorAddress: present.delegatorAddress,
        validatorSrcAddress: present.validatorAddress,
        validatorDstAddress: validator(),
        amount: coin,
      }),
    () => {
      const unbondings = [...allUnbondings(world.native)]
      const found = unbondings.length === 0 ? undefined : random.pick(unbondings)
      if (found === undefined) return anyOf(MsgUndelegate, stake)
      return anyOf(MsgCancelUnbondingDelegation, {
        delegatorAddress: toBech32(found.delegator),
        validatorAddress: toBech32(found.operator, BECH32_OPERATOR),
        amount: coin,
        creationHeight: BigInt(found.entries[0]!.creationHeight),
      })
    },
    () =>
      anyOf(MsgCreateValidator, {
        description: { ...NO_TEXTS, moniker: 'random' },
        commission: { rate: ONE / 10n, maxRate: ONE, maxChangeRate: ONE },
        minSelfDelegation: random.pick([1n, amount]),
        validatorAddress: own,
        pubkey,
        value: coin,
      }),
    () =>
      anyOf(MsgEditValidator, {
        description: { ...NO_TEXTS, moniker: 'edited' },
        validatorAddress: own,
        commissionRate: random.pick([undefined, 0n, ONE / 2n, ONE]),
        minSelfDelegation: random.pick([undefined, undefined, amount]),
      }),
    () => anyOf(MsgRotateConsPubKey, { validatorAddress: own, newPubkey: pubkey }),
    () => anyOf(MsgUnjail, { validatorAddr: unjailed }),
    () => anyOf(MsgUnjail, { validatorAddr: unjailed }),
    () => anyOf(MsgWithdrawDelegatorReward, present),
    () => anyOf(MsgWithdrawValidatorCommission, { validatorAddress: own }),
    () => anyOf(MsgSetWithdrawAddress, { delegatorAddress: text, withdrawAddress: other }),
    () => anyOf(MsgFundCommunityPool, { depositor: text, amount: coinsOf(amount) }),
    () => anyOf(MsgSend, { fromAddress: text, toAddress: other, amount: coinsOf(amount) }),
    () =>
      anyOf(MsgSubmitProposal, {
        title: 'a title',
        summary: 'a summary',
        metadata: 'no JSON',
        proposer: text,
        initialDeposit: coinsOf(random.pick([amount, 100n * COIN])),
        expedited: random.below(3) === 0,
      }),
    () => anyOf(MsgDeposit, { proposalId, depositor: text, amount: coinsOf(amount) }),
    () => anyOf(MsgVote, { proposalId, voter: text, option: 1 + random.below(4), metadata: '' }),
    () => anyOf(MsgVote, { proposalId, voter: text, option: 1, metadata: '' }),
    () => anyOf(MsgCancelProposal, { proposalId, proposer: text }),
    () =>
      anyOf(MsgGrant, {
        granter: text,
        grantee: other,
        grant: {
          authorization: {
            typeUrl: GenericAuthorization.typeUrl,
            value: GenericAuthorization.encode({ msg: MsgSend.typeUrl }),
          },
          expiration: (nowSeconds + BigInt(1 + random.below(20))) * 1_000_000_000n,
        },
      }),
    () => anyOf(MsgRevoke, { granter: text, grantee: other, msgTypeUrl: MsgSend.typeUrl }),
    () =>
      anyOf(MsgGrantAllowance, {
        granter: text,
        grantee: other,
        allowance: {
          typeUrl: BasicAllowance.typeUrl,
          value: BasicAllowance.encode({
            spendLimit: coinsOf(amount),
            expiration: (nowSeconds + BigInt(1 + random.below(20))) * 1_000_000_000n,
          }),
        },
      }),
    () => anyOf(MsgRevokeAllowance, { granter: text, grantee: other }),
    () =>
      anyOf(MsgCreateVestingAccount, {
        fromAddress: text,
        toAddress: toBech32(sha256(bigIntToBytes(BigInt(random.below(1_000_000)), 8)).slice(0, 20)),
        amount: coinsOf(amount),
        endTime: nowSeconds + BigInt(1 + random.below(1_000)),
        delayed: random.below(2) === 0,
      }),
  ]
  return random.pick(messages)()
}
