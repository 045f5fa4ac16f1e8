import { MODULE_ACCOUNT_NAMES } from '../../chain/genesis/genesisConstants.ts'
import { type Address, BECH32_ACCOUNT, moduleAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type AnyValue, any, bytes, int64, message, repeated, string, uint64 } from '../../primitives/protoSchema.ts'
import { getSchedule, hasSchedule } from '../../state/vesting.ts'
import { PageRequest } from '../pagination.ts'
import { readAccount } from '../query/addresses.ts'
import { addressKey, paginate } from '../query/paginate.ts'
import {
  definePagedQuery,
  defineParamsQuery,
  defineQuery,
  type NativeQuery,
  type QueryContext,
} from '../query/query.ts'
import { invalidArgument, notFound } from '../query/queryError.ts'
import { vestingAccountOf } from '../vesting/types.ts'
import { AUTH_PARAMS } from './params.ts'
import { getPublicKey } from './publicKeys.ts'
import { BaseAccount, ModuleAccount } from './types.ts'

const SERVICE = 'cosmos.auth.v1beta1.Query'
const BASE = '/cosmos/auth/v1beta1'

type ModuleAccountName = (typeof MODULE_ACCOUNT_NAMES)[number]

/** Permissions of each module's account (maccPerms of an SDK application). */
const PERMISSIONS: Readonly<Record<ModuleAccountName, readonly string[]>> = {
  fee_collector: [],
  bonded_tokens_pool: ['burner', 'staking'],
  not_bonded_tokens_pool: ['burner', 'staking'],
  distribution: [],
  gov: ['burner'],
  mint: ['minter'],
  key_rotation_fee_pool: ['burner'],
  gov_deposits: ['burner'],
}

const MODULE_ACCOUNTS = MODULE_ACCOUNT_NAMES.map((name) => ({ name, address: moduleAddress(name) }))

/** Accounts of this chain have no numbers: each has 0. An account is whatever has a balance, a nonce or code. */
export const AUTH_QUERIES: readonly NativeQuery[] = [
  definePagedQuery({
    service: SERVICE,
    name: 'Accounts',
    get: [`${BASE}/accounts`],
    request: { pagination: message(1, PageRequest) },
    list: ['accounts', any(1)],
    run: (context, { pagination }) => {
      return paginate(context, pagination, accountsWalk(context), (address) => findAccount(context, address))
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Account',
    get: [`${BASE}/accounts/{address}`],
    request: { address: string(1) },
    response: { account: any(1) },
    run: (context, { address }) => ({ account: requireAccount(context, readAccount(address)) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'AccountAddressByID',
    get: [`${BASE}/address_by_id/{id}`],
    request: { id: int64(1), accountId: uint64(2) },
    response: { accountAddress: string(1) },
    run: () => {
      throw notFound('accounts of this chain have no numbers: they are found by their addresses')
    },
  }),
  defineParamsQuery(SERVICE, BASE, AUTH_PARAMS),
  defineQuery({
    service: SERVICE,
    name: 'ModuleAccounts',
    get: [`${BASE}/module_accounts`],
    request: {},
    response: { accounts: repeated(any(1)) },
    run: (context) => ({ accounts: MODULE_ACCOUNTS.map(({ address }) => accountOf(context, address)) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'ModuleAccountByName',
    get: [`${BASE}/module_accounts/{name}`],
    request: { name: string(1) },
    response: { account: any(1) },
    run: (context, { name }) => {
      const account = MODULE_ACCOUNTS.find((candidate) => candidate.name === name)
      if (account === undefined) throw notFound(`account ${name} not found`)
      return { account: accountOf(context, account.address) }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'Bech32Prefix',
    get: [`${BASE}/bech32`],
    request: {},
    response: { bech32Prefix: string(1) },
    messageNames: ['Bech32PrefixRequest', 'Bech32PrefixResponse'],
    run: () => ({ bech32Prefix: BECH32_ACCOUNT }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'AddressBytesToString',
    get: [],
    request: { addressBytes: bytes(1) },
    response: { addressString: string(1) },
    messageNames: ['AddressBytesToStringRequest', 'AddressBytesToStringResponse'],
    run: (_, { addressBytes }) => {
      if (addressBytes.length === 0) throw invalidArgument('empty address bytes is not allowed')
      if (addressBytes.length > 255) throw invalidArgument('an address has at most 255 bytes')
      return { addressString: toBech32(addressBytes) }
    },
  }),
  defineQuery({
    service: SERVICE,
    name: 'AddressStringToBytes',
    get: [`${BASE}/bech32/{address_string}`],
    request: { addressString: string(1) },
    response: { addressBytes: bytes(1) },
    messageNames: ['AddressStringToBytesRequest', 'AddressStringToBytesResponse'],
    run: (_, { addressString }) => ({ addressBytes: readAccount(addressString) }),
  }),
  defineQuery({
    service: SERVICE,
    name: 'AccountInfo',
    get: [`${BASE}/account_info/{address}`],
    request: { address: string(1) },
    response: { info: message(1, BaseAccount) },
    run: (context, { address: text }) => {
      const address = readAccount(text)
      requireAccount(context, address)
      return { info: baseAccount(context, address) }
    },
  }),
]

function requireAccount(context: QueryContext, address: Address): AnyValue {
  const account = findAccount(context, address)
  if (account === undefined) throw notFound(`account ${toBech32(address)} not found`)
  return account
}

function findAccount(context: QueryContext, address: Address): AnyValue | undefined {
  const { world } = context
  const isVesting = world.hasVesting() && hasSchedule(world.native, address)
  const isKnown = world.exists(address) || isVesting || moduleOf(address) !== undefined
  return isKnown ? accountOf(context, address) : undefined
}

/** Returns a BaseAccount, a ModuleAccount or a vesting one. */
function accountOf(context: QueryContext, address: Address): AnyValue {
  const base = baseAccount(context, address)
  const name = moduleOf(address)
  if (name === undefined) {
    const { native } = context.world
    const schedule = getSchedule(native, address)
    if (schedule !== undefined) return vestingAccountOf(native, address, schedule, base)
    return { typeUrl: BaseAccount.typeUrl, value: BaseAccount.encode(base) }
  }
  const account = { baseAccount: base, name, permissions: PERMISSIONS[name] }
  return { typeUrl: ModuleAccount.typeUrl, value: ModuleAccount.encode(account) }
}

function moduleOf(address: Address): ModuleAccountName | undefined {
  return MODULE_ACCOUNTS.find((account) => equalBytes(account.address, address))?.name
}

function baseAccount({ world }: QueryContext, address: Address): BaseAccount {
  return {
    address: toBech32(address),
    pubKey: getPublicKey(world.native, address),
    accountNumber: 0n,
    sequence: world.getNonce(address),
  }
}

/**
 * Returns the accounts of the newest state. The caller skips those that the asked state does not
 * have.
 */
export function accountsWalk({ accounts }: Pick<QueryContext, 'accounts'>) {
  return async function* ({ start, reverse }: { readonly start: Uint8Array | undefined; readonly reverse: boolean }) {
    const options = { reverse, ...(start === undefined ? {} : { start: addressKey(start) }) }
    for await (const address of accounts(options)) yield [address, address] as const
  }
}
