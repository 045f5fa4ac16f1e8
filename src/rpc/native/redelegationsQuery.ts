import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import {
  getRedelegation,
  type Redelegation,
  type RedelegationWalk,
  redelegationsFrom,
  redelegationsOf,
} from '../../modules/staking/redelegations.ts'
import { redelegationToSdk } from '../../modules/staking/sdkForms.ts'
import { RedelegationResponse } from '../../modules/staking/types.ts'
import { getValidator } from '../../modules/staking/validators.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { concatBytes } from '../../primitives/bytes.ts'
import { ONE } from '../../primitives/decimal.ts'
import { embedded, message, repeated, string } from '../../primitives/protoSchema.ts'
import { operatorText, readAccount, readOperator } from './addresses.ts'
import { addressKey, paginate, type Walk } from './paginate.ts'
import { defineQuery, type NativeQuery, type QueryContext } from './query.ts'
import { notFound } from './queryError.ts'

const ADDRESS_BYTES = 20

/** Those of a delegator, of one between two validators, or all that left one validator (x/staking/keeper/grpc_query.go). */
export const redelegationsQuery: NativeQuery = defineQuery({
  service: 'cosmos.staking.v1beta1.Query',
  name: 'Redelegations',
  get: ['/cosmos/staking/v1beta1/delegators/{delegator_addr}/redelegations'],
  request: {
    delegatorAddr: string(1),
    srcValidatorAddr: string(2),
    dstValidatorAddr: string(3),
    pagination: message(4, PageRequest),
  },
  response: {
    redelegationResponses: repeated(embedded(1, RedelegationResponse)),
    pagination: message(2, PageResponse),
  },
  run: async (context, { delegatorAddr, srcValidatorAddr, dstValidatorAddr, pagination: page }) => {
    const { native } = context.world
    if (delegatorAddr !== '' && srcValidatorAddr !== '' && dstValidatorAddr !== '') {
      const delegator = readAccount(delegatorAddr)
      const source = readOperator(srcValidatorAddr)
      const found = getRedelegation(native, delegator, source, readOperator(dstValidatorAddr))
      if (found === undefined) {
        const from = `from validator address ${operatorText(source)}`
        throw notFound(`redelegation not found for delegator address ${toBech32(delegator)} ${from}`)
      }
      return { redelegationResponses: [toResponse(context, found)], pagination: undefined }
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
    const { items, pagination } = await paginate(context, page, walk, (item) => toResponse(context, item))
    return { redelegationResponses: items, pagination }
  },
})

/** Keys are two addresses. */
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

function toResponse({ world }: QueryContext, redelegation: Redelegation): RedelegationResponse {
  // A validator that all have left is gone: the shares are worth nothing.
  const gone = { tokens: 0n, delegatorShares: ONE }
  return redelegationToSdk(redelegation, getValidator(world.native, redelegation.destination) ?? gone)
}
