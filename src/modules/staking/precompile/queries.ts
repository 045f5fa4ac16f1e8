import { type Address, BECH32_OPERATOR, toBech32 } from '../../../primitives/address.ts'
import { EMPTY_BYTES } from '../../../primitives/bytes.ts'
import { truncate } from '../../../primitives/decimal.ts'
import { BASE_DENOM } from '../../coin.ts'
import { type AbiValue, address, array, string, uint256 } from '../../precompileFunctions/abi/types.ts'
import {
  defineFunction,
  type FunctionContext,
  type FunctionFailure,
  isFailure,
  OUT_OF_GAS,
  type PrecompileFunction,
  revertWith,
} from '../../precompileFunctions/dispatch.ts'
import { queryError, readOperator, refuseZero } from '../../precompileFunctions/nativeCall.ts'
import { addressInKey, answerPage, byAccount, isAddressesKey, readPage } from '../../precompileFunctions/page.ts'
import { Coin, PageRequest, PageResponse } from '../../precompileFunctions/types.ts'
import { isSdkError } from '../../sdkError.ts'
import { addressesKey } from '../../storeKey.ts'
import { getDelegation } from '../delegations.ts'
import { getRedelegation, type Redelegation, redelegationsFrom, redelegationsOf } from '../redelegations.ts'
import { settledDelegation, settledUnbonding } from '../settle.ts'
import { tokensFromShares } from '../shares.ts'
import { BOND_STATUSES } from '../types.ts'
import { getUnbonding } from '../unbonding.ts'
import { getValidator, type Validator, validators } from '../validators.ts'
import {
  BOND_STATUS,
  NO_VALIDATOR,
  type RedelegationEntry,
  RedelegationOutput,
  RedelegationResponse,
  UnbondingDelegationOutput,
  ValidatorInfo,
  validatorTuple,
  wholeSeconds,
} from './types.ts'

/** One or two records. */
const READ_GAS = 5_000n
/** A validator with texts of some hundred bytes. */
const VALIDATOR_GAS = 6_000n
/** A redelegation or unbonding has at most as many entries as parameters say, by default 7. */
const ENTRY_GAS = 500n
const REDELEGATION_GAS = 3_000n
/** BOND_STATUS_UNSPECIFIED, which no validator has and no query may ask for. */
const NO_STATUS = 0n

/** The functions of IStaking that only read. */
export const STAKING_QUERIES: readonly PrecompileFunction[] = [
  defineFunction({
    name: 'delegation',
    inputs: { delegatorAddress: address, validatorAddress: string },
    outputs: { shares: uint256, balance: Coin },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world: { native } }, { delegatorAddress, validatorAddress }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const operator = readOperator(validatorAddress)
      if (isSdkError(operator)) return operator
      const delegation = getDelegation(native, delegatorAddress, operator)
      const shares = delegation === undefined ? 0n : settledDelegation(native, delegation).shares
      return { shares, balance: { denom: BASE_DENOM, amount: worthOf(getValidator(native, operator), shares) } }
    },
  }),
  defineFunction({
    name: 'unbondingDelegation',
    inputs: { delegatorAddress: address, validatorAddress: string },
    outputs: { unbondingDelegation: UnbondingDelegationOutput },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world: { native }, charge }, { delegatorAddress, validatorAddress }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const operator = readOperator(validatorAddress)
      if (isSdkError(operator)) return operator
      const unbonding = getUnbonding(native, delegatorAddress, operator)
      if (unbonding === undefined) {
        return { unbondingDelegation: { delegatorAddress: '', validatorAddress: '', entries: [] } }
      }
      if (!charge(BigInt(unbonding.entries.length) * ENTRY_GAS)) return OUT_OF_GAS
      const { entries } = settledUnbonding(native, unbonding)
      return {
        unbondingDelegation: {
          delegatorAddress: toBech32(delegatorAddress),
          validatorAddress: toBech32(operator, BECH32_OPERATOR),
          entries: entries.map(({ creationHeight, completionTimeMs, initialBalance, balance, id }) => ({
            creationHeight: BigInt(creationHeight),
            completionTime: wholeSeconds(completionTimeMs),
            initialBalance,
            balance,
            unbondingId: id,
            unbondingOnHoldRefCount: 0n,
          })),
        },
      }
    },
  }),
  defineFunction({
    name: 'validator',
    inputs: { validatorAddress: address },
    outputs: { validator: ValidatorInfo },
    gas: VALIDATOR_GAS,
    mutability: 'view',
    run: ({ world: { native } }, { validatorAddress }) => {
      const zero = refuseZero(validatorAddress, 'invalid validator address:')
      if (zero !== undefined) return zero
      const found = getValidator(native, validatorAddress)
      return { validator: found === undefined ? NO_VALIDATOR : validatorTuple(found) }
    },
  }),
  defineFunction({
    name: 'validators',
    inputs: { status: string, pageRequest: PageRequest },
    outputs: { validators: array(ValidatorInfo), pageResponse: PageResponse },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { status, pageRequest }) => {
      const isName = Object.hasOwn(BOND_STATUSES, status)
      const wanted = BigInt(isName ? BOND_STATUSES[status as keyof typeof BOND_STATUSES] : NO_STATUS)
      if (status !== '' && wanted === NO_STATUS) {
        return queryError('InvalidArgument', `invalid validator status ${status}`)
      }
      return answerPage(context, pageRequest, 'validators', {
        ...byAccount(
          (options) => validators(context.world.native, options),
          ({ operator }) => operator,
        ),
        matches: (found) => wanted === NO_STATUS || BOND_STATUS[found.status] === wanted,
        itemGas: VALIDATOR_GAS,
        toTuple: validatorTuple,
      })
    },
  }),
  defineFunction({
    name: 'redelegation',
    inputs: { delegatorAddress: address, srcValidatorAddress: string, dstValidatorAddress: string },
    outputs: { redelegation: RedelegationOutput },
    gas: READ_GAS,
    mutability: 'view',
    run: ({ world: { native }, charge }, { delegatorAddress, srcValidatorAddress, dstValidatorAddress }) => {
      const zero = refuseZero(delegatorAddress, 'invalid delegator address:')
      if (zero !== undefined) return zero
      const source = readOperator(srcValidatorAddress)
      if (isSdkError(source)) return source
      const destination = readOperator(dstValidatorAddress)
      if (isSdkError(destination)) return destination
      const found = getRedelegation(native, delegatorAddress, source, destination)
      if (found !== undefined && !charge(BigInt(found.entries.length) * ENTRY_GAS)) return OUT_OF_GAS
      return { redelegation: found === undefined ? NO_REDELEGATION : redelegationTuple(found) }
    },
  }),
  defineFunction({
    name: 'redelegations',
    inputs: {
      delegatorAddress: address,
      srcValidatorAddress: string,
      dstValidatorAddress: string,
      pageRequest: PageRequest,
    },
    outputs: { response: array(RedelegationResponse), pageResponse: PageResponse },
    gas: READ_GAS,
    mutability: 'view',
    run: (context, { delegatorAddress, srcValidatorAddress, dstValidatorAddress, pageRequest }) => {
      const hasDelegator = delegatorAddress.some((byte) => byte !== 0)
      if (!hasDelegator && srcValidatorAddress === '') {
        return revertWith('invalid query. Need to specify at least a source validator address or delegator address')
      }
      const source = srcValidatorAddress === '' ? undefined : readOperator(srcValidatorAddress)
      if (isSdkError(source)) return source
      const destination = dstValidatorAddress === '' ? undefined : readOperator(dstValidatorAddress)
      if (isSdkError(destination)) return destination
      if (!hasDelegator && destination !== undefined) {
        return queryError('InvalidArgument', 'empty address string is not allowed')
      }
      if (hasDelegator && source !== undefined && destination !== undefined) {
        return oneRedelegation(context, delegatorAddress, source, destination)
      }
      return redelegationsPage(
        context,
        pageRequest,
        hasDelegator ? { delegator: delegatorAddress } : { source: source! },
      )
    },
  }),
]

const NO_REDELEGATION: AbiValue<typeof RedelegationOutput> = {
  delegatorAddress: '',
  validatorSrcAddress: '',
  validatorDstAddress: '',
  entries: [],
}

interface RedelegationsAnswer {
  readonly response: readonly AbiValue<typeof RedelegationResponse>[]
  readonly pageResponse: AbiValue<typeof PageResponse>
}

function oneRedelegation(
  { world: { native }, charge }: FunctionContext,
  delegator: Address,
  source: Address,
  destination: Address,
): RedelegationsAnswer | FunctionFailure {
  const found = getRedelegation(native, delegator, source, destination)
  if (found === undefined) {
    const from = `delegator address ${toBech32(delegator)} from validator address ${toBech32(source, BECH32_OPERATOR)}`
    return queryError('NotFound', `redelegation not found for ${from}`)
  }
  if (!charge(REDELEGATION_GAS + BigInt(found.entries.length) * ENTRY_GAS)) return OUT_OF_GAS
  return {
    response: [responseTuple(found, getValidator(native, destination))],
    pageResponse: { nextKey: EMPTY_BYTES, total: 0n },
  }
}

/** Redelegations of a delegator, or from a validator. A destination alone filters nothing, as in the SDK. */
function redelegationsPage(
  context: FunctionContext,
  request: AbiValue<typeof PageRequest>,
  by: { readonly delegator: Address } | { readonly source: Address },
): RedelegationsAnswer | FunctionFailure {
  const { native } = context.world
  const page = readPage(context, request, {
    *walk(start, reverse) {
      const first = start && ([addressInKey(start, 0), addressInKey(start, 1)] as const)
      const options = { ...(first && { start: first }), reverse }
      const found =
        'delegator' in by
          ? redelegationsOf(native, by.delegator, options)
          : redelegationsFrom(native, by.source, options)
      for (const item of found) {
        yield [addressesKey(EMPTY_BYTES, 'delegator' in by ? item.source : item.delegator, item.destination), item]
      }
    },
    isKey: (key) => isAddressesKey(key, 2),
    itemGas: REDELEGATION_GAS,
  })
  if (isFailure(page)) return page
  const response = []
  for (const item of page.items) {
    if (!context.charge(BigInt(item.entries.length) * ENTRY_GAS)) return OUT_OF_GAS
    response.push(responseTuple(item, getValidator(native, item.destination)))
  }
  return { response, pageResponse: page.pageResponse }
}

function redelegationTuple(found: Redelegation): AbiValue<typeof RedelegationOutput> {
  return {
    delegatorAddress: toBech32(found.delegator),
    validatorSrcAddress: toBech32(found.source, BECH32_OPERATOR),
    validatorDstAddress: toBech32(found.destination, BECH32_OPERATOR),
    entries: found.entries.map(entryTuple),
  }
}

/**
 * Converts a redelegation. As in the SDK's answer its entries are next to it, with their worth, and
 * not inside.
 */
function responseTuple(found: Redelegation, destination: Validator | undefined): AbiValue<typeof RedelegationResponse> {
  return {
    redelegation: { ...redelegationTuple(found), entries: [] },
    entries: found.entries.map((entry) => ({
      redelegationEntry: entryTuple(entry),
      balance: worthOf(destination, entry.sharesDestination),
    })),
  }
}

function entryTuple(entry: Redelegation['entries'][number]): AbiValue<typeof RedelegationEntry> {
  return {
    creationHeight: BigInt(entry.creationHeight),
    completionTime: wholeSeconds(entry.completionTimeMs),
    initialBalance: entry.initialBalance,
    sharesDst: entry.sharesDestination,
  }
}

/** Returns the worth of shares in whole acoin. */
function worthOf(validator: Validator | undefined, shares: bigint): bigint {
  if (validator === undefined || validator.delegatorShares === 0n) return 0n
  return truncate(tokensFromShares(validator, shares))
}
