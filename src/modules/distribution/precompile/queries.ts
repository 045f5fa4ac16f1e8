import { type Address, BECH32_OPERATOR, toBech32 } from '../../../primitives/address.ts'
import { bigIntToBytes, bytesToBigInt } from '../../../primitives/bytes.ts'
import { address, array, string, tuple, uint64 } from '../../precompileFunctions/abi/types.ts'
import {
  defineFunction,
  type FunctionContext,
  isFailure,
  OUT_OF_GAS,
  type PrecompileFunction,
} from '../../precompileFunctions/dispatch.ts'
import { moduleContext, queryError, readOperator, refuseZero } from '../../precompileFunctions/nativeCall.ts'
import { answerPage } from '../../precompileFunctions/page.ts'
import { Dec, DecCoins, decCoinTuples, decTuple, PageRequest, PageResponse } from '../../precompileFunctions/types.ts'
import { isSdkError, type Outcome } from '../../sdkError.ts'
import { delegationsOf } from '../../staking/delegations.ts'
import { getValidator } from '../../staking/validators.ts'
import { delegationRewards } from '../delegationRewards.ts'
import { distributionError } from '../errors.ts'
import { communityPool } from '../feePool.ts'
import { commissionOf, outstandingRewards } from '../readRewards.ts'
import { slashEventsFrom } from '../slashEvents.ts'
import { withdrawAddressOf } from '../withdrawAddress.ts'

/** One record. */
const READ_GAS = 3_000n
/** The rewards of one validator or delegation: about five records and arithmetic. */
const REWARDS_GAS = 10_000n
const NAME_GAS = 1_000n
const SLASH_EVENT_GAS = 500n
const PERIOD_BYTES = 8
const LAST_PERIOD = 2n ** 64n - 1n

/** The functions of IDistribution that only read. */
export const DISTRIBUTION_QUERIES: readonly PrecompileFunction[] = [
  defineFunction({
    name: 'validatorDistributionInfo',
    inputs: { validatorAddress: string },
    outputs: {
      distributionInfo: tuple({ operatorAddress: string, selfBondRewards: DecCoins, commission: DecCoins }),
    },
    gas: 2n * REWARDS_GAS,
    mutability: 'view',
    run: (context, { validatorAddress }) => {
      const operator = readValidator(context, validatorAddress)
      if (isFailure(operator)) return operator
      const own = delegationRewards(moduleContext(context), operator, operator)
      if (isFailure(own)) return own
      const commission = commissionOf(moduleContext(context), operator)
      if (isSdkError(commission)) return commission
      return {
        distributionInfo: {
          operatorAddress: toBech32(operator),
          selfBondRewards: decCoinTuples(own),
          commission: decCoinTuples(commission),
        },
      }
    },
  }),
  defineFunction({
    name: 'validatorOutstandingRewards',
    inputs: { validatorAddress: string },
    outputs: { rewards: DecCoins },
    gas: REWARDS_GAS,
    mutability: 'view',
    run: (context, { validatorAddress }) => {
      const operator = readValidator(context, validatorAddress)
      if (isFailure(operator)) return operator
      const rewards = outstandingRewards(moduleContext(context), operator)
      return isSdkError(rewards) ? rewards : { rewards: decCoinTuples(rewards) }
    },
  }),
  defineFunction({
    name: 'validatorCommission',
    inputs: { validatorAddress: string },
    outputs: { commission: DecCoins },
    gas: REWARDS_GAS,
    mutability: 'view',
    run: (context, { validatorAddress }) => {
      const operator = readValidator(context, validatorAddress)
      if (isFailure(operator)) return operator
      const commission = commissionOf(moduleContext(context), operator)
      return isSdkError(commission) ? commission : { commission: decCoinTuples(commission) }
    },
  }),
  defineFunction({
    name: 'validatorSlashes',
    inputs: { validatorAddress: string, startingHeight: uint64, endingHeight: uint64, pageRequest: PageRequest },
    outputs: { slashes: array(tuple({ validatorPeriod: uint64, fraction: Dec })), pageResponse: PageResponse },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { validatorAddress, startingHeight, endingHeight, pageRequest }) => {
      if (endingHeight < startingHeight) {
        const heights = `(${startingHeight} > ${endingHeight})`
        return queryError('InvalidArgument', `starting height greater than ending height ${heights}`)
      }
      // As in the SDK: an address that no validator has is not an error, but has no slashes.
      const operator = readOperatorText(validatorAddress)
      if (isFailure(operator)) return operator
      const { native } = context.world
      return answerPage(context, pageRequest, 'slashes', {
        *walk(start, reverse) {
          const first = start === undefined ? (reverse ? LAST_PERIOD : 0n) : bytesToBigInt(start)
          for (const slash of slashEventsFrom(native, operator, first, reverse)) {
            yield [bigIntToBytes(slash.period, 8), slash] as const
          }
        },
        isKey: (key) => key.length === PERIOD_BYTES,
        matches: ({ height }) => BigInt(height) >= startingHeight && BigInt(height) <= endingHeight,
        itemGas: SLASH_EVENT_GAS,
        toTuple: ({ period, fraction }) => ({ validatorPeriod: period, fraction: decTuple(fraction) }),
      })
    },
  }),
  defineFunction({
    name: 'delegationRewards',
    inputs: { delegatorAddress: address, validatorAddress: string },
    outputs: { rewards: DecCoins },
    gas: REWARDS_GAS,
    mutability: 'view',
    run: (context, { delegatorAddress, validatorAddress }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const operator = readValidator(context, validatorAddress)
      if (isFailure(operator)) return operator
      const rewards = delegationRewards(moduleContext(context), delegatorAddress, operator)
      return isFailure(rewards) ? rewards : { rewards: decCoinTuples(rewards) }
    },
  }),
  defineFunction({
    name: 'delegationTotalRewards',
    inputs: { delegatorAddress: address },
    outputs: { rewards: array(tuple({ validatorAddress: string, reward: DecCoins })), total: DecCoins },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { delegatorAddress }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const rewards = []
      let total = 0n
      for (const { operator } of delegationsOf(context.world.native, delegatorAddress)) {
        if (!context.charge(REWARDS_GAS)) return OUT_OF_GAS
        const reward = delegationRewards(moduleContext(context), delegatorAddress, operator)
        if (isFailure(reward)) return reward
        rewards.push({ validatorAddress: toBech32(operator, BECH32_OPERATOR), reward: decCoinTuples(reward) })
        total += reward
      }
      return { rewards, total: decCoinTuples(total) }
    },
  }),
  defineFunction({
    name: 'delegatorValidators',
    inputs: { delegatorAddress: address },
    outputs: { validators: array(string) },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { delegatorAddress }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const validators = []
      for (const { operator } of delegationsOf(context.world.native, delegatorAddress)) {
        if (!context.charge(NAME_GAS)) return OUT_OF_GAS
        validators.push(toBech32(operator, BECH32_OPERATOR))
      }
      return { validators }
    },
  }),
  defineFunction({
    name: 'delegatorWithdrawAddress',
    inputs: { delegatorAddress: address },
    outputs: { withdrawAddress: string },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world }, { delegatorAddress }) =>
      refuseZero(delegatorAddress, 'invalid delegator address:') ?? {
        withdrawAddress: toBech32(withdrawAddressOf(world.native, delegatorAddress)),
      },
  }),
  defineFunction({
    name: 'communityPool',
    inputs: {},
    outputs: { coins: DecCoins },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world }) => ({ coins: decCoinTuples(communityPool(world.native)) }),
  }),
]

/** Reads the address of a validator that must exist. */
function readValidator({ world }: FunctionContext, text: string): Outcome<Address> {
  const operator = readOperatorText(text)
  if (isSdkError(operator)) return operator
  if (getValidator(world.native, operator) === undefined) {
    return distributionError('noValidator', toBech32(operator, BECH32_OPERATOR))
  }
  return operator
}

function readOperatorText(text: string): Outcome<Address> {
  return text === '' ? queryError('InvalidArgument', 'empty validator address') : readOperator(text)
}
