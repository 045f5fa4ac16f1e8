import { evmChainIdOf } from '../../config/chainIds.ts'
import { moduleAddress, parseAddress, toBech32, toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex, bytesToUpperHex } from '../../primitives/bytes.ts'
import { ed25519Address } from '../../primitives/ed25519.ts'
import { MAX_TOTAL_POWER } from '../comet/validatorSet.ts'
import {
  BASE_DENOM,
  BONDED_POOL,
  MODULE_ACCOUNT_NAMES,
  NATIVE_TOKEN_ADDRESS,
  POWER_REDUCTION_ACOIN,
} from './genesisConstants.ts'
import { type Genesis, GenesisError, type GenesisVestingAccount } from './genesisSchema.ts'
import { includesFork } from './hardfork.ts'

/** CometBFT's bound for block.max_bytes. */
const MAX_BLOCK_BYTES = 104_857_600n
/** A block must be able to hold the largest transaction that EIP-7825 allows. */
const MIN_BLOCK_GAS = 2n ** 24n
/** Far below the range of 64-bit gas counters. */
const MAX_BLOCK_GAS = 2n ** 30n
/** The precompile gas of a block must be enough for a check of four bn254 pairings (EIP-1108), which verifiers of proofs make. */
const MIN_PRECOMPILE_GAS = 45_000n + 4n * 34_000n

/**
 * Checks the rules between the parts of a genesis.
 * @param isDraft whether it may still be without validators
 * @throws GenesisError for the first rule that does not hold
 */
export function checkGenesis(genesis: Genesis, isDraft = false): void {
  require(isDraft ||
    genesis.consensus.validators.length >
      0, 'consensus.validators', 'none: a draft gets them from coind genesis collect-gentxs')
  checkChainIds(genesis)
  checkConsensusParameters(genesis)
  checkForks(genesis)
  checkAddresses(genesis)
  checkBank(genesis)
  checkStaking(genesis)
  for (const [index, entry] of genesis.app_state.auth.accounts.entries()) {
    if ('base_vesting_account' in entry) checkVesting(genesis, entry, `app_state.auth.accounts[${index}]`)
  }
}

function require(holds: boolean, path: string, problem: string): asserts holds {
  if (!holds) throw new GenesisError(path, problem)
}

function checkChainIds(genesis: Genesis): void {
  const inChainId = evmChainIdOf(genesis.chain_id)
  require(inChainId !== undefined, 'chain_id', 'expected <name>_<EVM chain ID>-<revision>')
  const { chain_id } = genesis.app_state.evm.params.chain_config
  require(BigInt(chain_id) ===
    inChainId, 'app_state.evm.params.chain_config.chain_id', `${chain_id} is not the number in chain_id ${genesis.chain_id}`)
}

function checkConsensusParameters(genesis: Genesis): void {
  require(!Number.isNaN(Date.parse(genesis.genesis_time)), 'genesis_time', 'no such time')
  const { block, evidence, validator_ranks } = genesis.consensus.params
  const maxBytes = BigInt(block.max_bytes)
  require(maxBytes >= 65_536n &&
    maxBytes <= MAX_BLOCK_BYTES, 'consensus.params.block.max_bytes', `expected 65536 to ${MAX_BLOCK_BYTES}`)
  const maxGas = BigInt(block.max_gas)
  require(maxGas >= MIN_BLOCK_GAS &&
    maxGas <= MAX_BLOCK_GAS, 'consensus.params.block.max_gas', `expected ${MIN_BLOCK_GAS} to ${MAX_BLOCK_GAS}`)
  const precompileGas = BigInt(genesis.app_state.evm.params.precompile_gas_limit)
  require(precompileGas >= MIN_PRECOMPILE_GAS &&
    precompileGas <=
      MAX_BLOCK_GAS, 'app_state.evm.params.precompile_gas_limit', `expected ${MIN_PRECOMPILE_GAS} to ${MAX_BLOCK_GAS}`)
  require(BigInt(evidence.max_bytes) <= maxBytes, 'consensus.params.evidence.max_bytes', 'more than block.max_bytes')
  require(Number.isSafeInteger(
    Number(validator_ranks?.enable_height ?? 0),
  ), 'consensus.params.validator_ranks.enable_height', `expected a height, at most ${Number.MAX_SAFE_INTEGER}`)
  for (const [name, value] of Object.entries(genesis.app_state.timing.params)) {
    require(BigInt(value) >= 1n &&
      BigInt(value) <= 3_600_000n, `app_state.timing.params.${name}`, 'expected 1 to 3600000 milliseconds')
  }
  for (const name of ['base_fee', 'min_gas_price'] as const) {
    const value = genesis.app_state.feemarket.params[name]
    require(/\.0+$/.test(value), `app_state.feemarket.params.${name}`, 'expected whole acoin per gas')
  }
}

type ForkEntry = Genesis['app_state']['evm']['params']['chain_config']['fork_schedule'][number]

function checkForks(genesis: Genesis): void {
  const path = 'app_state.evm.params.chain_config.fork_schedule'
  let last: ForkEntry | undefined
  for (const entry of genesis.app_state.evm.params.chain_config.fork_schedule) {
    require(Number.isSafeInteger(Number(entry.height)), path, `height ${entry.height} is too large`)
    require(includesFork(entry.fork, 'cancun'), path, `${entry.fork} is older than cancun`)
    if (last === undefined) require(entry.height === '0', path, 'the first height must be 0')
    else {
      require(BigInt(entry.height) > BigInt(last.height), path, 'heights must rise')
      require(includesFork(entry.fork, last.fork), path, `${entry.fork} comes before ${last.fork}`)
    }
    last = entry
  }
}

function checkAddresses(genesis: Genesis): void {
  const { auth, evm, erc20 } = genesis.app_state
  for (const [index, entry] of auth.accounts.entries()) {
    const address = accountAddress(entry)
    readAddress(address, 'coin', `app_state.auth.accounts[${index}].address`)
  }
  const precompiles = erc20.native_precompiles.map((address) => toChecksumAddress(parseAddress(address)))
  for (const address of precompiles) {
    require(address ===
      NATIVE_TOKEN_ADDRESS, 'app_state.erc20.native_precompiles', `${address} is not ${NATIVE_TOKEN_ADDRESS}, the only native precompile there is`)
    const pair = erc20.token_pairs.find((entry) => toChecksumAddress(parseAddress(entry.erc20_address)) === address)
    require(pair?.denom === BASE_DENOM, 'app_state.erc20.token_pairs', `${address} needs a pair with ${BASE_DENOM}`)
  }
  require(erc20.token_pairs.length ===
    precompiles.length, 'app_state.erc20.token_pairs', 'one for each native precompile')
  const contracts = [
    ...precompiles,
    ...[...evm.params.active_static_precompiles, ...evm.preinstalls.map((entry) => entry.address)].map((address) =>
      toChecksumAddress(parseAddress(address)),
    ),
  ]
  const twice = contracts.find((address, index) => contracts.indexOf(address) !== index)
  require(twice === undefined, 'app_state.evm', `two contracts at ${twice}`)
}

type AccountEntry = Genesis['app_state']['auth']['accounts'][number]

/** `coin1…` */
export function accountAddress(entry: AccountEntry): string {
  if ('base_vesting_account' in entry) return entry.base_vesting_account.base_account.address
  return ('base_account' in entry ? entry.base_account : entry).address
}

const MAX_TIME = 2n ** 63n - 1n
/** Precompiles, present and future ones, and the account of native entries have addresses below 2^48. */
const RESERVED_ADDRESSES = `0x${'00'.repeat(14)}`

/**
 * Checks the rules of x/auth/vesting/types/vesting_account.go, and that the delegated coins are
 * those in the delegations.
 */
function checkVesting(genesis: Genesis, entry: GenesisVestingAccount, path: string): void {
  const { auth, staking, evm, erc20 } = genesis.app_state
  const { base_account, original_vesting, delegated_free, delegated_vesting, end_time } = entry.base_vesting_account
  const { address } = base_account
  const others = auth.accounts.filter((other) => accountAddress(other) === address)
  require(others.length === 1, path, `${address} is there twice`)
  const bytes = bytesToHex(parseAddress(address))
  const module = MODULE_ACCOUNT_NAMES.find((name) => bytesToHex(moduleAddress(name)) === bytes)
  require(module === undefined, path, `${address} is the account of the module ${module}: its coins cannot vest`)
  const isReserved = bytes === NATIVE_TOKEN_ADDRESS.toLowerCase() || bytes.startsWith(RESERVED_ADDRESSES)
  require(!isReserved, path, `${bytes} is reserved for precompiles: choose an address with a key`)
  const contracts = [
    ...evm.preinstalls.map((contract) => contract.address),
    ...evm.params.active_static_precompiles,
    ...erc20.native_precompiles,
  ]
  require(!contracts.some((contract) => contract.toLowerCase() === bytes), path, `${address} has code`)
  const sum = (coins: readonly { readonly denom: string; readonly amount: string }[]): bigint => {
    require(coins.every(({ denom }) => denom === BASE_DENOM), path, `expected ${BASE_DENOM}`)
    return coins.reduce((total, { amount }) => total + BigInt(amount), 0n)
  }
  const original = sum(original_vesting)
  const [free, vesting, end] = [sum(delegated_free), sum(delegated_vesting), BigInt(end_time)]
  require(original > 0n, `${path}.original_vesting`, 'expected coins')
  require(vesting <= original, `${path}.delegated_vesting`, 'more than original_vesting')
  const delegated = staking.delegations
    .filter(({ delegator_address }) => delegator_address === address)
    .reduce((total, { shares }) => total + decimalUnits(shares) / POWER_REDUCTION_ACOIN, 0n)
  require(free + vesting === delegated, path, `${free + vesting} is delegated, not ${delegated} as the delegations say`)
  require(end <= MAX_TIME, `${path}.end_time`, 'too late')
  const start = 'start_time' in entry ? BigInt(entry.start_time) : 0n
  switch (entry['@type']) {
    case '/cosmos.vesting.v1beta1.ContinuousVestingAccount':
      require(start < end, `${path}.start_time`, 'not before end_time')
      return
    case '/cosmos.vesting.v1beta1.PeriodicVestingAccount': {
      const { vesting_periods } = entry
      const lengths = vesting_periods.reduce((total, { length }) => total + BigInt(length), 0n)
      require(end === start + lengths, `${path}.end_time`, 'not the end of the last period')
      require(vesting_periods.every(({ amount }) => sum(amount) > 0n) &&
        sum(vesting_periods.flatMap(({ amount }) => amount)) ===
          original, `${path}.vesting_periods`, 'not the coins of original_vesting')
      return
    }
    case '/cosmos.vesting.v1beta1.DelayedVestingAccount':
      require(end > 0n, `${path}.end_time`, 'expected a time')
      return
    default:
      require(end === 0n, `${path}.end_time`, 'expected 0 for a permanent lock')
  }
}

function checkBank(genesis: Genesis): void {
  const { balances, supply } = genesis.app_state.bank
  const seen = new Set<string>()
  let sum = 0n
  for (const [index, { address, coins }] of balances.entries()) {
    const path = `app_state.bank.balances[${index}]`
    readAddress(address, 'coin', `${path}.address`)
    require(!seen.has(address), path, `${address} is there twice`)
    seen.add(address)
    require(coins[0]!.denom === BASE_DENOM, `${path}.coins`, `expected ${BASE_DENOM}, not ${coins[0]!.denom}`)
    sum += BigInt(coins[0]!.amount)
  }
  const total = supply[0]!
  require(total.denom === BASE_DENOM &&
    BigInt(total.amount) ===
      sum, 'app_state.bank.supply', `${total.amount}${total.denom} is not the sum of the balances, ${sum}${BASE_DENOM}`)
  require(sum < 2n ** 256n, 'app_state.bank.supply', 'more than 256 bits')
}

function checkStaking(genesis: Genesis): void {
  const { staking, bank } = genesis.app_state
  const { validators } = genesis.consensus
  require(staking.params.bond_denom === BASE_DENOM, 'app_state.staking.params.bond_denom', `expected ${BASE_DENOM}`)
  const { key_rotation_fee: fee } = staking.params
  const isFee = fee === undefined || (fee.denom === BASE_DENOM && fee.amount !== '0')
  require(isFee, 'app_state.staking.params.key_rotation_fee', `expected more than 0${BASE_DENOM}`)
  require(staking.validators.length <=
    staking.params
      .max_validators, 'app_state.staking.validators', `more than max_validators, ${staking.params.max_validators}`)
  require(validators.length === staking.validators.length, 'consensus.validators', 'not those of app_state.staking')
  let bonded = 0n
  let totalPower = 0n
  requireUnlike(staking.validators.flatMap((entry) => [entry.operator_address, entry.consensus_pubkey.key]))
  for (const [index, validator] of staking.validators.entries()) {
    const path = `app_state.staking.validators[${index}]`
    const tokens = BigInt(validator.tokens)
    readAddress(validator.operator_address, 'coinvaloper', `${path}.operator_address`)
    require(decimalUnits(validator.delegator_shares) ===
      tokens * POWER_REDUCTION_ACOIN, `${path}.delegator_shares`, 'expected one share a token')
    const delegated = staking.delegations
      .filter((delegation) => delegation.validator_address === validator.operator_address)
      .reduce((sum, delegation) => sum + decimalUnits(delegation.shares), 0n)
    require(delegated ===
      decimalUnits(validator.delegator_shares), `${path}.delegator_shares`, 'not the sum of its delegations')
    const power = tokens / POWER_REDUCTION_ACOIN
    require(power >= 1n, `${path}.tokens`, `less than ${POWER_REDUCTION_ACOIN}, one unit of power`)
    checkConsensusValidator(validators[index]!, validator.consensus_pubkey.key, power, `consensus.validators[${index}]`)
    bonded += tokens
    totalPower += power
  }
  require(totalPower <= MAX_TOTAL_POWER, 'consensus.validators', `total power above ${MAX_TOTAL_POWER}`)
  for (const [index, delegation] of staking.delegations.entries()) {
    const path = `app_state.staking.delegations[${index}]`
    readAddress(delegation.delegator_address, 'coin', `${path}.delegator_address`)
    require(staking.validators.some(
      (validator) => validator.operator_address === delegation.validator_address,
    ), `${path}.validator_address`, 'no such validator')
  }
  const pool = toBech32(moduleAddress(BONDED_POOL))
  const held = bank.balances.find((balance) => balance.address === pool)?.coins[0]?.amount ?? '0'
  require(BigInt(held) === bonded, 'app_state.bank.balances', `${BONDED_POOL} holds ${held}, not the bonded ${bonded}`)
}

/** No validator may have the operator or the consensus key of another. */
function requireUnlike(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  require(twice === undefined, 'app_state.staking.validators', `${twice} is there twice`)
}

function checkConsensusValidator(
  validator: Genesis['consensus']['validators'][number],
  key: string,
  power: bigint,
  path: string,
): void {
  require(validator.pub_key.value === key, `${path}.pub_key`, 'not that of the same entry in app_state.staking')
  const address = bytesToUpperHex(ed25519Address(new Uint8Array(Buffer.from(key, 'base64'))))
  require(validator.address === address, `${path}.address`, `expected ${address}, from the public key`)
  require(BigInt(validator.power) ===
    power, `${path}.power`, `expected ${power}, the tokens / ${POWER_REDUCTION_ACOIN}`)
}

function readAddress(text: string, prefix: string, path: string): void {
  try {
    parseAddress(text, prefix)
  } catch (error) {
    throw new GenesisError(path, (error as Error).message)
  }
}

/** Returns a LegacyDec as an integer of 10^-18 units. */
function decimalUnits(decimal: string): bigint {
  return BigInt(decimal.replace('.', ''))
}
