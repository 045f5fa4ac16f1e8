import { z } from 'zod'
import { type Address, BECH32_OPERATOR, parseAddress } from '../../primitives/address.ts'
import { bytesKey, compareBytes, EMPTY_BYTES, hexToBytes } from '../../primitives/bytes.ts'
import { type Hash, sha256 } from '../../primitives/hash.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { ChainConfig } from './chainConfig.ts'
import { checkGenesis } from './genesisRules.ts'
import { type Genesis, GenesisError, genesisSchema } from './genesisSchema.ts'

/**
 * Reads a genesis file, or the genesis in an answer of /rpc/genesis, and checks that its parts agree with one another.
 * @param isDraft whether it may still be without validators
 * @throws GenesisError
 */
export function parseGenesis(json: string, isDraft = false): Genesis {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new GenesisError('', `not JSON (${(error as SyntaxError).message})`)
  }
  const result = genesisSchema.safeParse(fromCometGenesis(value))
  if (!result.success) {
    const issue = result.error.issues[0]!
    throw new GenesisError(z.core.toDotPath(issue.path), issue.message)
  }
  checkGenesis(result.data, isDraft)
  return result.data
}

/** Returns the text of a genesis file. */
export function formatGenesis(genesis: Genesis): string {
  return `${JSON.stringify(genesis, null, 2)}\n`
}

/**
 * sha256 of the canonical JSON, independent of the file's white space and order of keys. GENESIS_HASH, the handshake with peers and
 * block 0 use it.
 */
export function genesisHash(genesis: Genesis): Hash {
  return sha256(new TextEncoder().encode(canonicalJson(genesis)))
}

/**
 * Returns JSON in its canonical form: keys sorted by UTF-16 code units, no white space, integers
 * only.
 * @throws TypeError on a number that is not a safe integer, because its text would depend on the reader's number format
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new TypeError(`not a safe integer: ${value}`)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`)
  return `{${members.join(',')}}`
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}

/**
 * Returns the genesis as CometBFT's RPC shows it: validators and consensus parameters are also at
 * the places where CometBFT's GenesisDoc has them (types/genesis.go).
 */
export function toCometGenesis(genesis: Genesis): Json {
  const { params, validators } = genesis.consensus
  return { ...genesis, consensus_params: cometParams(params), validators }
}

/** Without the section that CometBFT does not have. */
function cometParams({ validator_ranks: _, ...params }: { readonly [name: string]: Json }): Json {
  return params
}

/**
 * Removes the fields that {@link toCometGenesis} added. Values that differ from those in `consensus` are left there, and the schema
 * refuses them.
 */
function fromCometGenesis(json: unknown): unknown {
  if (!isObject(json) || !isObject(json.consensus)) return json
  const { consensus_params, validators, ...rest } = json
  const { params } = json.consensus
  const isRepeated =
    isObject(params) && isSame(consensus_params, cometParams(params)) && isSame(validators, json.consensus.validators)
  return isRepeated ? rest : json
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b)
}

function isObject(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the parameters of execution and RPC that the genesis fixes. */
export function chainConfigOf(genesis: Genesis): ChainConfig {
  const { evm, feemarket, erc20, timing } = genesis.app_state
  const { block, evidence, validator_ranks } = genesis.consensus.params
  return {
    chainId: genesis.chain_id,
    evmChainId: BigInt(evm.params.chain_config.chain_id),
    genesisHash: genesisHash(genesis),
    genesisTimeMs: Date.parse(genesis.genesis_time),
    forks: evm.params.chain_config.fork_schedule.map(({ height, fork }) => ({ height: Number(height), fork })),
    // max_gas is the limit of EVM transactions alone; native transactions have an additional lane
    // of a quarter of max_gas.
    blockGasLimit: BigInt(block.max_gas),
    precompileGasLimit: BigInt(evm.params.precompile_gas_limit),
    allowsUnprotected: evm.params.allow_unprotected_txs ?? false,
    maxBlockBytes: Number(block.max_bytes),
    blockIntervalMs: Number(timing.params.block_interval_ms),
    timing: {
      proposeTimeoutMs: Number(timing.params.propose_timeout_ms),
      proposeTimeoutDeltaMs: Number(timing.params.propose_timeout_delta_ms),
      voteTimeoutMs: Number(timing.params.vote_timeout_ms),
      voteTimeoutDeltaMs: Number(timing.params.vote_timeout_delta_ms),
      precisionMs: Number(timing.params.pbts_precision_ms),
      messageDelayMs: Number(timing.params.pbts_message_delay_ms),
    },
    evidence: {
      maxAgeBlocks: Number(evidence.max_age_num_blocks),
      maxAgeMs: Number(BigInt(evidence.max_age_duration) / 1_000_000n),
      maxBytes: Number(evidence.max_bytes),
    },
    feeMarket: {
      elasticity: BigInt(feemarket.params.elasticity_multiplier),
      changeDenominator: BigInt(feemarket.params.base_fee_change_denominator),
      minimumBaseFee: wholePart(feemarket.params.min_gas_price),
      initialBaseFee: wholePart(feemarket.params.base_fee),
    },
    validatorRanksHeight: Number(validator_ranks?.enable_height ?? 0),
    registeredPrecompiles: [...erc20.native_precompiles, ...evm.params.active_static_precompiles].map((address) =>
      parseAddress(address),
    ),
  }
}

function wholePart(decimal: string): bigint {
  return BigInt(decimal.slice(0, decimal.indexOf('.')))
}

export interface GenesisValidator {
  readonly operator: Address
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  readonly power: bigint
}

/**
 * Returns the validators of the first block, in the file's order, which is that of
 * app_state.staking too.
 */
export function genesisValidators(genesis: Genesis): readonly GenesisValidator[] {
  const staked = genesis.app_state.staking.validators
  return genesis.consensus.validators.map((validator, index) => ({
    operator: parseAddress(staked[index]!.operator_address, BECH32_OPERATOR),
    publicKey: new Uint8Array(Buffer.from(validator.pub_key.value, 'base64')),
    power: BigInt(validator.power),
  }))
}

/** An account of the state at block 0. */
export interface GenesisAccount {
  readonly address: Address
  readonly nonce: bigint
  readonly balanceAcoin: bigint
  readonly code: Uint8Array
}

/**
 * Code of a registered precompile's account: a single STOP. With it EIP-161 never deletes the account, Solidity's code-size checks
 * pass, and a delegation to it (EIP-7702) executes nothing.
 */
const PRECOMPILE_STUB_CODE: Uint8Array = Uint8Array.of(0)

/**
 * Returns all accounts at block 0 in order of address: balances (the bonded pool's too),
 * preinstalled contracts, and registered precompiles. Contracts have nonce 1, as after a creation
 * under EIP-161.
 */
export function genesisAllocations(genesis: Genesis): readonly GenesisAccount[] {
  const { bank, evm, erc20 } = genesis.app_state
  const accounts = new Map<string, GenesisAccount>()
  for (const { address, coins } of bank.balances) {
    const bytes = parseAddress(address)
    const balanceAcoin = BigInt(coins[0]!.amount)
    accounts.set(bytesKey(bytes), { address: bytes, nonce: 0n, balanceAcoin, code: EMPTY_BYTES })
  }
  const addContract = (address: Address, code: Uint8Array): void => {
    const balanceAcoin = accounts.get(bytesKey(address))?.balanceAcoin ?? 0n
    accounts.set(bytesKey(address), { address, nonce: 1n, balanceAcoin, code })
  }
  for (const { address, code } of evm.preinstalls) addContract(parseAddress(address), hexToBytes(code))
  for (const address of [...erc20.native_precompiles, ...evm.params.active_static_precompiles]) {
    addContract(parseAddress(address), PRECOMPILE_STUB_CODE)
  }
  return [...accounts.values()].sort((a, b) => compareBytes(a.address, b.address))
}
