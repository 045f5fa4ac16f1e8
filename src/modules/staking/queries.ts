import { type Address, toBech32 } from '../../primitives/address.ts'
import { concatBytes } from '../../primitives/bytes.ts'
import { ONE } from '../../primitives/decimal.ts'
import { defineMessage, embedded, int64, message, repeated, string } from '../../primitives/protoSchema.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { PageRequest } from '../pagination.ts'
import { operatorText, readAccount, readOperator } from '../query/addresses.ts'
import { Header, headerFields } from '../query/blockMessages.ts'
import { addressKey, addressWalk, paginate, type Walk } from '../query/paginate.ts'
import {
  definePagedQuery,
  defineParamsQuery,
  defineQuery,
  type NativeQuery,
  type QueryContext,
} from '../query/query.ts'
import { invalidArgument, notFound } from '../query/queryError.ts'
import { delegationsOf, delegationsTo, getDelegation } from './delegations.ts'
import { STAKING_PARAMS } from './params.ts'
import {
  getRedelegation,
  type Redelegation,
  type RedelegationWalk,
  redelegationsFrom,
  redelegationsOf,
} from './redelegations.ts'
import { delegationToSdk, redelegationToSdk, unbondingToSdk, validatorToSdk } from './sdkForms.ts'
import { settledDelegation, settledUnbonding } from './settle.ts'
import {
  type BOND_STATUSES,
  DelegationResponse,
  Pool,
  RedelegationResponse,
  SdkUnbondingDelegation,
  SdkValidator,
} from './types.ts'
import { getUnbonding, unbondingsFrom, unbondingsOf } from './unbonding.ts'
import { getValidator, getValidatorByConsensus, type Validator, validators } from './validators.ts'

const SERVICE = 'cosmos.staking.v1beta1.Query'
const BASE = '/cosmos/staking/v1beta1'

const HistoricalInfo = defineMessage('cosmos.staking.v1beta1.HistoricalInfo', {
  header: embedded(1, Header),
  valset: repeated(embedded(2, SdkValidator)),
})

const OF_DELEGATOR = { delegatorAddr: string(1), pagination: message(2, PageRequest) }
const OF_VALIDATOR = { validatorAddr: string(1), pagination: message(2, PageRequest) }
const OF_BOTH = { delegatorAddr: string(1), validatorAddr: string(2) }

/** x/staking/keeper/grpc_query.go */
export const STAKING_QUERIES: readonly NativeQuery[] = [
  definePagedQuery({
    service: SERVICE,
    name: 'Validators',
    get: [`${BASE}/validators`],
    request: { status: string(1), pagination: message(2, PageRequest) },
    list: ['validators', embedded(1, SdkValidator)],
    run: (context, { status, pagination }) => {
      const wanted = readStatus(status)
      const walk = addressWalk((options) => validators(context.world.native, options), operatorOf)
      return paginate(context, pagination, walk, (validator) =>
        wanted === undefined || validator.status === wanted ? validatorToSdk(validator) : undefined,
      )
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
  definePagedQuery({
    service: SERVICE,
    name: 'ValidatorDelegations',
    get: [`${BASE}/validators/{validator_addr}/delegations`],
    request: OF_VALIDATOR,
    list: ['delegationResponses', embedded(1, DelegationResponse)],
    run: (context, { validatorAddr, pagination }) => {
      const validator = requireValidator(context, readOperator(validatorAddr))
      const walk = addressWalk(
        (options) => delegationsTo(context.world.native, validator.operator, options),
        delegatorOf,
      )
      return paginate(context, pagination, walk, (delegation) =>
        delegationToSdk(settledDelegation(context.world.native, delegation), validator),
      )
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'ValidatorUnbondingDelegations',
    get: [`${BASE}/validators/{validator_addr}/unbonding_delegations`],
    request: OF_VALIDATOR,
    list: ['unbondingResponses', embedded(1, SdkUnbondingDelegation)],
    run: (context, { validatorAddr, pagination }) => {
      const operator = readOperator(validatorAddr)
      const walk = addressWalk((options) => unbondingsFrom(context.world.native, operator, options), delegatorOf)
      return paginate(context, pagination, walk, (unbonding) =>
        unbondingToSdk(settledUnbonding(context.world.native, unbonding)),
      )
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
      const settled = settledDelegation(context.world.native, delegation)
      return { delegationResponse: delegationToSdk(settled, requireValidator(context, operator)) }
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
      return { unbond: unbondingToSdk(settledUnbonding(context.world.native, unbonding)) }
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'DelegatorDelegations',
    get: [`${BASE}/delegations/{delegator_addr}`],
    request: OF_DELEGATOR,
    list: ['delegationResponses', embedded(1, DelegationResponse)],
    run: (context, { delegatorAddr, pagination }) => {
      const delegator = readAccount(delegatorAddr)
      return paginate(context, pagination, ofDelegator(context, delegator), (delegation) =>
        delegationToSdk(
          settledDelegation(context.world.native, delegation),
          requireValidator(context, delegation.operator),
        ),
      )
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'DelegatorUnbondingDelegations',
    get: [`${BASE}/delegators/{delegator_addr}/unbonding_delegations`],
    request: OF_DELEGATOR,
    list: ['unbondingResponses', embedded(1, SdkUnbondingDelegation)],
    run: (context, { delegatorAddr, pagination }) => {
      const delegator = readAccount(delegatorAddr)
      const walk = addressWalk((options) => unbondingsOf(context.world.native, delegator, options), operatorOf)
      return paginate(context, pagination, walk, (unbonding) =>
        unbondingToSdk(settledUnbonding(context.world.native, unbonding)),
      )
    },
  }),
  // Redelegations of a delegator, those between two validators, or all away from one validator.
  definePagedQuery({
    service: SERVICE,
    name: 'Redelegations',
    get: [`${BASE}/delegators/{delegator_addr}/redelegations`],
    request: {
      delegatorAddr: string(1),
      srcValidatorAddr: string(2),
      dstValidatorAddr: string(3),
      pagination: message(4, PageRequest),
    },
    list: ['redelegationResponses', embedded(1, RedelegationResponse)],
    run: async (context, { delegatorAddr, srcValidatorAddr, dstValidatorAddr, pagination }) => {
      const { native } = context.world
      if (delegatorAddr !== '' && srcValidatorAddr !== '' && dstValidatorAddr !== '') {
        const delegator = readAccount(delegatorAddr)
        const source = readOperator(srcValidatorAddr)
        const found = getRedelegation(native, delegator, source, readOperator(dstValidatorAddr))
        if (found === undefined) {
          const from = `from validator address ${operatorText(source)}`
          throw notFound(`redelegation not found for delegator address ${toBech32(delegator)} ${from}`)
        }
        return { items: [redelegationResponse(context, found)], pagination: undefined }
      }
      let walk: Walk<Redelegation>
      if (delegatorAddr === '' && srcValidatorAddr !== '' && dstValidatorAddr === '') {
        const source = readOperator(srcValidatorAddr)
        walk = pairWalk(
          (options) => redelegationsFrom(native, source, options),
          ({ delegator, destination }) => [delegator, destination],
        )
      } else {
        const delegator = readAccount(delegatorAddr)
        walk = pairWalk(
          (options) => redelegationsOf(native, delegator, options),
          ({ source, destination }) => [source, destination],
        )
      }
      return paginate(context, pagination, walk, (item) => redelegationResponse(context, item))
    },
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'DelegatorValidators',
    get: [`${BASE}/delegators/{delegator_addr}/validators`],
    request: OF_DELEGATOR,
    list: ['validators', embedded(1, SdkValidator)],
    run: (context, { delegatorAddr, pagination }) => {
      const delegator = readAccount(delegatorAddr)
      return paginate(context, pagination, ofDelegator(context, delegator), ({ operator }) =>
        validatorToSdk(requireValidator(context, operator)),
      )
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
  /*
   * The header and the validators of one of the last `historical_entries` blocks. Nothing is stored for it: the header and the set are in
   * the blocks' records, and the rest about those validators is in the state after that block.
   */
  defineQuery({
    service: SERVICE,
    name: 'HistoricalInfo',
    get: [`${BASE}/historical_info/{height}`],
    request: { height: int64(1) },
    // Old blocks are in segments.
    runs: 'heavy',
    response: { hist: message(1, HistoricalInfo) },
    run: ({ world, block, chain, worldAt }, { height: requested }) => {
      if (requested < 0n) throw invalidArgument('height cannot be negative')
      const { historicalEntries } = STAKING_PARAMS.get(world.native)
      const isRetained = requested > 0n && requested <= block.height && requested > block.height - historicalEntries
      const header = isRetained ? chain.consensusBlock(Number(requested))?.header : undefined
      const set = isRetained ? chain.validatorSetAt(Number(requested)) : undefined
      if (header === undefined || set === undefined) throw notFound(`historical info for height ${requested} not found`)
      const { native } = worldAt(Number(requested))
      const valset = set.validators.flatMap(({ address }) => getValidatorByConsensus(native, address) ?? [])
      return {
        hist: {
          header: { ...headerFields(header), proposerAddress: header.proposerAddress },
          valset: valset.map(validatorToSdk),
        },
      }
    },
  }),
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
  defineParamsQuery(SERVICE, BASE, STAKING_PARAMS),
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

const ADDRESS_BYTES = 20

/** A list of redelegations whose keys are two addresses. */
function pairWalk(
  walk: (options: RedelegationWalk) => Iterable<Redelegation>,
  keyOf: (item: Redelegation) => readonly [Address, Address],
): Walk<Redelegation> {
  return function* ({ start, reverse }) {
    const from = start === undefined ? {} : { start: readPair(start) }
    for (const item of walk({ ...from, reverse })) yield [concatBytes(...keyOf(item)), item]
  }
}

function readPair(key: Uint8Array): readonly [Address, Address] {
  return [addressKey(key.subarray(0, ADDRESS_BYTES)), addressKey(key.subarray(ADDRESS_BYTES))]
}

function redelegationResponse({ world }: QueryContext, redelegation: Redelegation): RedelegationResponse {
  // A validator without delegations is removed: its shares are worth nothing.
  const removed = { tokens: 0n, delegatorShares: ONE }
  return redelegationToSdk(redelegation, getValidator(world.native, redelegation.destination) ?? removed)
}
