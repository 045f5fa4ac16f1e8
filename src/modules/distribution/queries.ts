import { type Address, toBech32 } from '../../primitives/address.ts'
import type { Decimal } from '../../primitives/decimal.ts'
import { embedded, message, repeated, string, uint64 } from '../../primitives/protoSchema.ts'
import { DecCoin, decCoinsOf } from '../coin.ts'
import { PageRequest } from '../pagination.ts'
import { operatorText, readAccount, readOperator } from '../query/addresses.ts'
import { paginate, positionWalk } from '../query/paginate.ts'
import {
  definePagedQuery,
  defineParamsQuery,
  defineQuery,
  type NativeQuery,
  type QueryContext,
} from '../query/query.ts'
import { fromSdkError, invalidArgument, notFound } from '../query/queryError.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { delegationsOf, getDelegation } from '../staking/delegations.ts'
import { getValidator } from '../staking/validators.ts'
import { delegationRewards } from './delegationRewards.ts'
import { communityPool } from './feePool.ts'
import { DISTRIBUTION_PARAMS } from './params.ts'
import {
  commissionOf,
  DelegationDelegatorReward,
  outstandingRewards,
  rewardsOfDelegations,
  ValidatorAccumulatedCommission,
  ValidatorOutstandingRewards,
  ValidatorSlashEvent,
} from './readRewards.ts'
import { slashEvents } from './slashEvents.ts'
import { withdrawAddressOf } from './withdrawAddress.ts'

const SERVICE = 'cosmos.distribution.v1beta1.Query'
const BASE = '/cosmos/distribution/v1beta1'
const OF_VALIDATOR = { validatorAddress: string(1) }
const OF_DELEGATOR = { delegatorAddress: string(1) }

/** x/distribution/keeper/grpc_query.go */
export const DISTRIBUTION_QUERIES: readonly NativeQuery[] = [
  defineParamsQuery(SERVICE, BASE, DISTRIBUTION_PARAMS),
  defineQuery({
    service: SERVICE,
    name: 'ValidatorDistributionInfo',
    get: [`${BASE}/validators/{validator_address}`],
    request: OF_VALIDATOR,
    response: {
      operatorAddress: string(1),
      selfBondRewards: repeated(embedded(2, DecCoin)),
      commission: repeated(embedded(3, DecCoin)),
    },
    run: (context, { validatorAddress }) => {
      const operator = requireOperator(context, validatorAddress)
      const hasOwn = getDelegation(context.world.native, operator, operator) !== undefined
      const own = hasOwn ? amountOf(delegationRewards(context, operator, operator)) : 0n
      return {
        operatorAddress: toBech32(operator),
        selfBondRewards: decCoinsOf(own),
        commission: decCoinsOf(amountOf(commissionOf(context, operator))),
      }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'ValidatorOutstandingRewards',
    get: [`${BASE}/validators/{validator_address}/outstanding_rewards`],
    request: OF_VALIDATOR,
    response: { rewards: embedded(1, ValidatorOutstandingRewards) },
    run: (context, { validatorAddress }) => {
      const operator = requireOperator(context, validatorAddress)
      return { rewards: { rewards: decCoinsOf(amountOf(outstandingRewards(context, operator))) } }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'ValidatorCommission',
    get: [`${BASE}/validators/{validator_address}/commission`],
    request: OF_VALIDATOR,
    response: { commission: embedded(1, ValidatorAccumulatedCommission) },
    run: (context, { validatorAddress }) => {
      const operator = requireOperator(context, validatorAddress)
      return { commission: { commission: decCoinsOf(amountOf(commissionOf(context, operator))) } }
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'ValidatorSlashes',
    get: [`${BASE}/validators/{validator_address}/slashes`],
    request: {
      validatorAddress: string(1),
      startingHeight: uint64(2),
      endingHeight: uint64(3),
      pagination: message(4, PageRequest),
    },
    list: ['slashes', embedded(1, ValidatorSlashEvent)],
    run: (context, { validatorAddress, startingHeight, endingHeight, pagination }) => {
      const operator = readOperator(validatorAddress)
      if (endingHeight < startingHeight) {
        const heights = `(${startingHeight} > ${endingHeight})`
        throw invalidArgument(`starting height greater than ending height ${heights}`)
      }
      const events = slashEvents(context, operator, Number(startingHeight), Number(endingHeight))
      return paginate(context, pagination, positionWalk(events), ({ period, fraction }) => ({
        validatorPeriod: period,
        fraction,
      }))
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'DelegationRewards',
    get: [`${BASE}/delegators/{delegator_address}/rewards/{validator_address}`],
    request: { delegatorAddress: string(1), validatorAddress: string(2) },
    response: { rewards: repeated(embedded(1, DecCoin)) },
    run: (context, { delegatorAddress, validatorAddress }) => {
      const delegator = readAccount(delegatorAddress)
      const operator = requireOperator(context, validatorAddress)
      if (getDelegation(context.world.native, delegator, operator) === undefined) {
        throw notFound('delegation does not exist')
      }
      return { rewards: decCoinsOf(amountOf(delegationRewards(context, delegator, operator))) }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'DelegationTotalRewards',
    get: [`${BASE}/delegators/{delegator_address}/rewards`],
    runs: 'heavy',
    request: OF_DELEGATOR,
    response: {
      rewards: repeated(embedded(1, DelegationDelegatorReward)),
      total: repeated(embedded(2, DecCoin)),
    },
    run: async (context, { delegatorAddress }) => {
      const pause = context.beginPauses()
      const rewards: { readonly validatorAddress: string; readonly reward: DecCoin[] }[] = []
      let total: Decimal = 0n
      for (const { operator, rewards: reward } of rewardsOfDelegations(context, readAccount(delegatorAddress))) {
        rewards.push({ validatorAddress: operatorText(operator), reward: decCoinsOf(reward) })
        total += reward
        // A delegator may have as many delegations as there are validators, and the answer has no pages.
        await pause()
      }
      return { rewards, total: decCoinsOf(total) }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'DelegatorValidators',
    get: [`${BASE}/delegators/{delegator_address}/validators`],
    runs: 'heavy',
    request: OF_DELEGATOR,
    response: { validators: repeated(string(1)) },
    run: ({ world }, { delegatorAddress }) => ({
      validators: [...delegationsOf(world.native, readAccount(delegatorAddress))].map(({ operator }) =>
        operatorText(operator),
      ),
    }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'DelegatorWithdrawAddress',
    get: [`${BASE}/delegators/{delegator_address}/withdraw_address`],
    request: OF_DELEGATOR,
    response: { withdrawAddress: string(1) },
    run: ({ world }, { delegatorAddress }) => ({
      withdrawAddress: toBech32(withdrawAddressOf(world.native, readAccount(delegatorAddress))),
    }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'CommunityPool',
    get: [`${BASE}/community_pool`],
    request: {},
    response: { pool: repeated(embedded(1, DecCoin)) },
    run: ({ world }) => ({ pool: decCoinsOf(communityPool(world.native)) }),
  }),
]

function requireOperator({ world }: QueryContext, text: string): Address {
  const operator = readOperator(text)
  if (getValidator(world.native, operator) === undefined) throw notFound('validator does not exist')
  return operator
}

function amountOf(outcome: Outcome<Decimal>): Decimal {
  if (isSdkError(outcome)) throw fromSdkError(outcome)
  return outcome
}
