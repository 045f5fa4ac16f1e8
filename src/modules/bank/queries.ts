import { type Address, toBech32 } from '../../primitives/address.ts'
import { bool, defineMessage, embedded, message, repeated, string } from '../../primitives/protoSchema.ts'
import { accountsWalk } from '../auth/queries.ts'
import { BASE_DENOM, Coin, coinsOf, isValidDenom } from '../coin.ts'
import { PageRequest, PageResponse } from '../pagination.ts'
import { readAccount } from '../query/addresses.ts'
import { listWalk, paginate, storeWalk } from '../query/paginate.ts'
import {
  definePagedQuery,
  defineParamsQuery,
  defineQuery,
  type NativeQuery,
  type QueryContext,
} from '../query/query.ts'
import { invalidArgument, notFound } from '../query/queryError.ts'
import { getSupply } from './ledger.ts'
import { BANK_PARAMS, getMetadata, METADATA_PREFIX, Metadata, SendEnabled, sendEnabledEntries } from './params.ts'

const SERVICE = 'cosmos.bank.v1beta1.Query'
const BASE = '/cosmos/bank/v1beta1'

const DenomOwner = defineMessage('cosmos.bank.v1beta1.DenomOwner', { address: string(1), balance: embedded(2, Coin) })

const balancesResponse = { balances: repeated(embedded(1, Coin)), pagination: message(2, PageResponse) }
const ownersRequest = { denom: string(1), pagination: message(2, PageRequest) }
const ownersResponse = { denomOwners: repeated(message(1, DenomOwner)), pagination: message(2, PageResponse) }

/**
 * Queries of coins; there is only one denomination. Locked coins of vesting accounts are not
 * spendable.
 */
export const BANK_QUERIES: readonly NativeQuery[] = [
  defineQuery({
    service: SERVICE,
    name: 'Balance',
    get: [`${BASE}/balances/{address}/by_denom`],
    request: { address: string(1), denom: string(2) },
    response: { balance: message(1, Coin) },
    run: (context, { address, denom }) => ({ balance: balanceOf(context, address, denom) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'AllBalances',
    get: [`${BASE}/balances/{address}`],
    request: { address: string(1), pagination: message(2, PageRequest), resolveDenom: bool(3) },
    response: balancesResponse,
    run: allBalances,
  }),
  defineQuery({
    service: SERVICE,
    name: 'SpendableBalances',
    get: [`${BASE}/spendable_balances/{address}`],
    request: { address: string(1), pagination: message(2, PageRequest) },
    response: balancesResponse,
    run: async (context, { address, pagination: page }) => {
      const coins = coinsOf(spendableOf(context, readAccount(address)))
      const { items, pagination } = await coinPage(context, coins, page)
      return { balances: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'SpendableBalanceByDenom',
    get: [`${BASE}/spendable_balances/{address}/by_denom`],
    request: { address: string(1), denom: string(2) },
    response: { balance: message(1, Coin) },
    run: (context, { address, denom }) => {
      const account = readAccount(address)
      checkDenom(denom)
      return { balance: { denom, amount: denom === BASE_DENOM ? spendableOf(context, account) : 0n } }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'TotalSupply',
    get: [`${BASE}/supply`],
    request: { pagination: message(1, PageRequest) },
    response: { supply: repeated(embedded(1, Coin)), pagination: message(2, PageResponse) },
    run: async (context, { pagination: page }) => {
      const { items, pagination } = await coinPage(context, coinsOf(getSupply(context.world)), page)
      return { supply: items, pagination }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'SupplyOf',
    get: [`${BASE}/supply/by_denom`],
    request: { denom: string(1) },
    response: { amount: embedded(1, Coin) },
    run: ({ world }, { denom }) => {
      checkDenom(denom)
      return { amount: { denom, amount: denom === BASE_DENOM ? getSupply(world) : 0n } }
    },
  }),
  defineParamsQuery(SERVICE, BASE, BANK_PARAMS),
  defineQuery({
    service: SERVICE,
    name: 'DenomMetadata',
    get: [`${BASE}/denoms_metadata/{denom=**}`],
    request: { denom: string(1) },
    response: { metadata: embedded(1, Metadata) },
    run: (context, { denom }) => ({ metadata: metadataOf(context, denom) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'DenomMetadataByQueryString',
    get: [`${BASE}/denoms_metadata_by_query_string`],
    request: { denom: string(1) },
    response: { metadata: embedded(1, Metadata) },
    run: (context, { denom }) => ({ metadata: metadataOf(context, denom) }),
  }),
  definePagedQuery({
    service: SERVICE,
    name: 'DenomsMetadata',
    get: [`${BASE}/denoms_metadata`],
    request: { pagination: message(1, PageRequest) },
    list: ['metadatas', embedded(1, Metadata)],
    run: (context, { pagination }) => {
      const walk = storeWalk(context.world.native, METADATA_PREFIX, (_, value) => Metadata.decode(value))
      return paginate(context, pagination, walk, (metadata) => metadata)
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'DenomOwners',
    get: [`${BASE}/denom_owners/{denom=**}`],
    runs: 'heavy',
    request: ownersRequest,
    response: ownersResponse,
    run: denomOwners,
  }),
  defineQuery({
    service: SERVICE,
    name: 'DenomOwnersByQuery',
    get: [`${BASE}/denom_owners_by_query`],
    runs: 'heavy',
    request: ownersRequest,
    response: ownersResponse,
    run: denomOwners,
  }),
  defineQuery({
    service: SERVICE,
    name: 'SendEnabled',
    get: [`${BASE}/send_enabled`],
    runs: 'heavy',
    request: { denoms: repeated(string(1)), pagination: message(99, PageRequest) },
    response: { sendEnabled: repeated(message(1, SendEnabled)), pagination: message(99, PageResponse) },
    run: async (context, { denoms, pagination: page }) => {
      const entries = [...sendEnabledEntries(context.world.native)]
      if (denoms.length > 0) {
        return { sendEnabled: entries.filter(({ denom }) => denoms.includes(denom)), pagination: undefined }
      }
      const walk = listWalk(entries.map((entry) => [new TextEncoder().encode(entry.denom), entry] as const))
      const { items, pagination } = await paginate(context, page, walk, (entry) => entry)
      return { sendEnabled: items, pagination }
    },
  }),
]

function balanceOf({ world }: QueryContext, address: string, denom: string): Coin {
  const account = readAccount(address)
  checkDenom(denom)
  return { denom, amount: denom === BASE_DENOM ? world.getBalance(account) : 0n }
}

/** Returns the acoin that is not locked at the time of the state's block. */
function spendableOf({ world, block }: QueryContext, account: Address): bigint {
  if (world.hasVesting()) world.setTime(Math.floor(block.timeMs / 1000))
  return world.getSpendable(account)
}

async function allBalances(
  context: QueryContext,
  { address, pagination: page }: { readonly address: string; readonly pagination: PageRequest | undefined },
) {
  const coins = coinsOf(context.world.getBalance(readAccount(address)))
  const { items, pagination } = await coinPage(context, coins, page)
  return { balances: items, pagination }
}

/** Lists of coins have their denominations as keys. */
function coinPage(context: QueryContext, coins: readonly Coin[], page: PageRequest | undefined) {
  const walk = listWalk(coins.map((coin) => [new TextEncoder().encode(coin.denom), coin] as const))
  return paginate(context, page, walk, (coin) => coin)
}

async function denomOwners(
  context: QueryContext,
  { denom, pagination: page }: { readonly denom: string; readonly pagination: PageRequest | undefined },
) {
  checkDenom(denom)
  const { items, pagination } = await paginate(context, page, accountsWalk(context), (address) => {
    const amount = denom === BASE_DENOM ? context.world.getBalance(address) : 0n
    return amount === 0n ? undefined : { address: toBech32(address), balance: { denom, amount } }
  })
  return { denomOwners: items, pagination }
}

function metadataOf({ world }: QueryContext, denom: string): Metadata {
  checkDenom(denom)
  const metadata = getMetadata(world.native, denom)
  if (metadata === undefined) throw notFound(`client metadata for denom ${denom}`)
  return metadata
}

function checkDenom(denom: string): void {
  if (denom === '') throw invalidArgument('empty denom')
  if (!isValidDenom(denom)) throw invalidArgument(`invalid denom: ${denom.slice(0, 140)}`)
}
