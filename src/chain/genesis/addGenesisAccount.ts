import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { compareBytes } from '../../primitives/bytes.ts'
import { genesisCoins } from './createGenesis.ts'
import { accountAddress, checkGenesis } from './genesisRules.ts'
import { type Genesis, GenesisError } from './genesisSchema.ts'

export interface NewGenesisAccount {
  readonly address: Address
  /** the account's whole balance, in acoin */
  readonly balanceAcoin: bigint
  /** part of the balance that vests; none by default */
  readonly vesting?: {
    readonly amountAcoin: bigint
    /** seconds since the epoch; 0: all become free at the end */
    readonly startTime: bigint
    readonly endTime: bigint
  }
  /** adds the coins to an account that is there already */
  readonly isAppended?: boolean
}

/**
 * A genesis, or a draft of one, with another account, as x/genutil/genaccounts.go of the Cosmos SDK makes it.
 * @throws GenesisError when it is there already, or the vesting coins make no sense
 */
export function addGenesisAccount(genesis: Genesis, account: NewGenesisAccount): Genesis {
  const { address, balanceAcoin, isAppended = false } = account
  const { auth, bank } = genesis.app_state
  const text = toBech32(address)
  const present = bank.balances.find((balance) => balance.address === text)
  const isThere = present !== undefined || auth.accounts.some((entry) => accountAddress(entry) === text)
  if (isThere && !isAppended) {
    throw new GenesisError('', `account ${text} already exists: use --append to add coins to it`)
  }
  if (isThere && account.vesting !== undefined) {
    throw new GenesisError('', `account ${text} already exists: coins that are added to it cannot vest`)
  }
  const balances = [
    ...bank.balances.filter((balance) => balance !== present),
    { address: text, coins: genesisCoins(BigInt(present?.coins[0]?.amount ?? 0) + balanceAcoin) },
  ]
  const accounts = isThere ? auth.accounts : [...auth.accounts, accountOf(text, account)]
  const added = withBalances({ ...genesis, app_state: { ...genesis.app_state, auth: { ...auth, accounts } } }, balances)
  checkGenesis(added, true)
  return added
}

/**
 * Returns the genesis with these balances, in order of addresses, and the supply that is their sum.
 */
export function withBalances(genesis: Genesis, balances: Genesis['app_state']['bank']['balances']): Genesis {
  const supply = balances.reduce((sum, { coins }) => sum + BigInt(coins[0]!.amount), 0n)
  const bank = { ...genesis.app_state.bank, balances: sorted(balances), supply: genesisCoins(supply) }
  return { ...genesis, app_state: { ...genesis.app_state, bank } }
}

function sorted(balances: Genesis['app_state']['bank']['balances']): Genesis['app_state']['bank']['balances'] {
  const keyed = balances.map((balance) => [parseAddress(balance.address), balance] as const)
  return keyed.sort(([a], [b]) => compareBytes(a, b)).map(([, balance]) => balance)
}

type AuthAccount = Genesis['app_state']['auth']['accounts'][number]

function accountOf(address: string, { balanceAcoin, vesting }: NewGenesisAccount): AuthAccount {
  const base = { address, pub_key: null, account_number: '0', sequence: '0' } as const
  if (vesting === undefined) return { '@type': '/cosmos.auth.v1beta1.BaseAccount', ...base }
  const { amountAcoin, startTime, endTime } = vesting
  if (amountAcoin > balanceAcoin) throw new GenesisError('', 'vesting amount cannot be greater than total amount')
  const base_vesting_account = {
    base_account: base,
    original_vesting: genesisCoins(amountAcoin),
    delegated_free: [],
    delegated_vesting: [],
    end_time: endTime.toString(),
  }
  if (endTime === 0n) {
    throw new GenesisError('', 'invalid vesting parameters; must supply start and end time or end time')
  }
  if (startTime === 0n) return { '@type': '/cosmos.vesting.v1beta1.DelayedVestingAccount', base_vesting_account }
  const start_time = startTime.toString()
  return { '@type': '/cosmos.vesting.v1beta1.ContinuousVestingAccount', base_vesting_account, start_time }
}
