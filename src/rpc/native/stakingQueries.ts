import { BONDED_POOL, NOT_BONDED_POOL } from '../../modules/moduleAccounts.ts'
import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import { delegationsOf, delegationsTo, getDelegation } from '../../modules/staking/delegations.ts'
import { STAKING_PARAMS } from '../../modules/staking/params.ts'
import { delegationToSdk, unbondingToSdk, validatorToSdk } from '../../modules/staking/sdkForms.ts'
import {
  type BOND_STATUSES,
  DelegationResponse,
  Params,
  Pool,
  SdkUnbondingDelegation,
  SdkValidator,
} from '../../modules/staking/types.ts'
import { getUnbonding, unbondingsFrom, unbondingsOf } from '../../modules/staking/unbonding.ts'
import { getValidator, type Validator, validators } from '../../modules/staking/validators.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { embedded, message, repeated, string } from '../../primitives/protoSchema.ts'
import { operatorText, readAccount, readOperator } from './addresses.ts'
import { historicalInfoQuery } from './historicalInfoQuery.ts'
import { addressWalk, paginate } from './paginate.ts'
import { defineQuery, type NativeQuery, type QueryContext } from './query.ts'
import { invalidArgument, notFound } from './queryError.ts'
import { redelegationsQuery } from './redelegationsQuery.ts'

const SERVICE = 'cosmos.staking.v1beta1.Query'
const BASE = '/cosmos/staking/v1beta1'

const PAGED_VALIDATORS = { validators: repeated(embedded(1, SdkValidator)), pagination: message(2, PageResponse) }
const PAGED_DELEGATIONS = {
  delegationResponses: repeated(embedded(1, DelegationResponse)),
  pagination: message(2, PageResponse),
}
const PAGED_UNBONDINGS = {
  unbondingResponses: repeated(embedded(1, SdkUnbondingDelegation)),
  pagination: message(2, PageResponse),
}
const OF_DELEGATOR = { delegatorAddr: string(1), pagination: message(2, PageRequest) }
const OF_VALIDATOR = { validatorAddr: string(1), pagination: message(2, PageRequest) }
const OF_BOTH = { delegatorAddr: string(1), validatorAddr: string(2) }

/** x/staking/keeper/grpc_query.go */
export const STAKING_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Validators',
    get: [`${BASE}/validators`],
    request: { status: string(1), pagination: message(2, PageRequest) },
    response: PAGED_VALIDATORS,
    run: async (context, { status, pagination: page }) => {
      const wanted = readStatus(status)
      const walk = addressWalk((options) => validators(context.world.native, options), operatorOf)
      const { items, pagination } = await paginate(context, page, walk, (validator) =>
        wanted === undefined || validator.status === wanted ? validatorToSdk(validator) : undefined,
      )
      return { validators: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Validator',
    get: [`${BASE}/validators/{validator_addr}`],
    request: { validatorAddr: string(1) },
    response: { validator: embedded(1, SdkValidator) },
    run: (context, { validatorAddr }) => ({
      validator: validatorToSdk(requireValidator(context, readOperator(validatorAddr))),
    }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'ValidatorDelegations',
    get: [`${BASE}/validators/{validator_addr}/delegations`],
    request: OF_VALIDATOR,
    response: PAGED_DELEGATIONS,
    run: async (context, { validatorAddr, pagination: page }) => {
      const validator = requireValidator(context, readOperator(validatorAddr))
      const walk = addressWalk(
        (options) => delegationsTo(context.world.native, validator.operator, options),
        delegatorOf,
      )
      const { items, pagination } = await paginate(context, page, walk, (delegation) =>
        delegationToSdk(delegation, validator),
      )
      return { delegationResponses: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'ValidatorUnbondingDelegations',
    get: [`${BASE}/validators/{validator_addr}/unbonding_delegations`],
    request: OF_VALIDATOR,
    response: PAGED_UNBONDINGS,
    run: async (context, { validatorAddr, pagination: page }) => {
      const operator = readOperator(validatorAddr)
      const walk = addressWalk((options) => unbondingsFrom(context.world.native, operator, options), delegatorOf)
      const { items, pagination } = await paginate(context, page, walk, unbondingToSdk)
      return { unbondingResponses: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Delegation',
    get: [`${BASE}/validators/{validator_addr}/delegations/{delegator_addr}`],
    request: OF_BOTH,
    response: { delegationResponse: message(1, DelegationResponse) },
    run: (context, request) => {
      const { delegator, operator } = readBoth(request)
      const delegation = getDelegation(context.world.native, delegator, operator)
      if (delegation === undefined) throw noneFound('delegation', delegator, operator)
      return { delegationResponse: delegationToSdk(delegation, requireValidator(context, operator)) }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'UnbondingDelegation',
    get: [`${BASE}/validators/{validator_addr}/delegations/{delegator_addr}/unbonding_delegation`],
    request: OF_BOTH,
    response: { unbond: embedded(1, SdkUnbondingDelegation) },
    run: (context, request) => {
      const { delegator, operator } = readBoth(request)
      const unbonding = getUnbonding(context.world.native, delegator, operator)
      if (unbonding === undefined) throw noneFound('unbonding delegation', delegator, operator)
      return { unbond: unbondingToSdk(unbonding) }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'DelegatorDelegations',
    get: [`${BASE}/delegations/{delegator_addr}`],
    request: OF_DELEGATOR,
    response: PAGED_DELEGATIONS,
    run: async (context, { delegatorAddr, pagination: page }) => {
      const delegator = readAccount(delegatorAddr)
      const { items, pagination } = await paginate(context, page, ofDelegator(context, delegator), (delegation) =>
        delegationToSdk(delegation, requireValidator(context, delegation.operator)),
      )
      return { delegationResponses: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'DelegatorUnbondingDelegations',
    get: [`${BASE}/delegators/{delegator_addr}/unbonding_delegations`],
    request: OF_DELEGATOR,
    response: PAGED_UNBONDINGS,
    run: async (context, { delegatorAddr, pagination: page }) => {
      const delegator = readAccount(delegatorAddr)
      const walk = addressWalk((options) => unbondingsOf(context.world.native, delegator, options), operatorOf)
      const { items, pagination } = await paginate(context, page, walk, unbondingToSdk)
      return { unbondingResponses: items, pagination }
    },
  }),
  redelegationsQuery,
  defineQuery({
    service: SERVICE,
    name: 'DelegatorValidators',
    get: [`${BASE}/delegators/{delegator_addr}/validators`],
    request: OF_DELEGATOR,
    response: PAGED_VALIDATORS,
    run: async (context, { delegatorAddr, pagination: page }) => {
      const delegator = readAccount(delegatorAddr)
      const { items, pagination } = await paginate(context, page, ofDelegator(context, delegator), ({ operator }) =>
        validatorToSdk(requireValidator(context, operator)),
      )
      return { validators: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'DelegatorValidator',
    get: [`${BASE}/delegators/{delegator_addr}/validators/{validator_addr}`],
    request: OF_BOTH,
    response: { validator: embedded(1, SdkValidator) },
    run: (context, request) => {
      const { delegator, operator } = readBoth(request)
      if (getDelegation(context.world.native, delegator, operator) === undefined) {
        throw noneFound('delegation', delegator, operator)
      }
      return { validator: validatorToSdk(requireValidator(context, operator)) }
    },
  }),
  historicalInfoQuery,
  defineQuery({
    service: SERVICE,
    name: 'Pool',
    get: [`${BASE}/pool`],
    request: {},
    response: { pool: embedded(1, Pool) },
    run: ({ world }) => ({
      pool: { notBondedTokens: world.getBalance(NOT_BONDED_POOL), bondedTokens: world.getBalance(BONDED_POOL) },
    }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'Params',
    get: [`${BASE}/params`],
    request: {},
    response: { params: embedded(1, Params) },
    run: ({ world }) => ({ params: STAKING_PARAMS.get(world.native) }),
  }),
]

const STATUSES: ReadonlyMap<string, Validator['status']> = new Map<keyof typeof BOND_STATUSES, Validator['status']>([
  ['BOND_STATUS_UNBONDED', 'unbonded'],
  ['BOND_STATUS_UNBONDING', 'unbonding'],
  ['BOND_STATUS_BONDED', 'bonded'],
])

function readStatus(text: string): Validator['status'] | undefined {
  const status = STATUSES.get(text)
  if (text !== '' && status === undefined) throw invalidArgument(`invalid validator status ${text}`)
  return status
}

function requireValidator({ world }: QueryContext, operator: Address): Validator {
  const validator = getValidator(world.native, operator)
  if (validator === undefined) throw notFound(`validator ${operatorText(operator)} not found`)
  return validator
}

function readBoth({
  delegatorAddr,
  validatorAddr,
}: {
  readonly delegatorAddr: string
  readonly validatorAddr: string
}) {
  return { delegator: readAccount(delegatorAddr), operator: readOperator(validatorAddr) }
}

function noneFound(what: string, delegator: Address, operator: Address): Error {
  return notFound(`${what} with delegator ${toBech32(delegator)} not found for validator ${operatorText(operator)}`)
}

function ofDelegator({ world }: QueryContext, delegator: Address) {
  return addressWalk((options) => delegationsOf(world.native, delegator, options), operatorOf)
}

function operatorOf({ operator }: { readonly operator: Address }): Address {
  return operator
}

function delegatorOf({ delegator }: { readonly delegator: Address }): Address {
  return delegator
}
