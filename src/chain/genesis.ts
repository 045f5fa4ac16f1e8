import { z } from 'zod'
import { type Address, BECH32_OPERATOR, parseAddress } from '../primitives/address.ts'
import { type Hash, sha256 } from '../primitives/hash.ts'
import { canonicalJson } from './canonicalJson.ts'
import type { ChainConfig } from './chainConfig.ts'
import { GenesisError } from './genesisError.ts'
import { checkGenesis } from './genesisRules.ts'
import { type Genesis, genesisSchema } from './genesisSchema.ts'

/**
 * Reads a genesis file and checks that its parts agree with one another.
 * @throws GenesisError that names the place and the problem
 */
export function parseGenesis(json: string): Genesis {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new GenesisError('', `not JSON (${(error as SyntaxError).message})`)
  }
  const result = genesisSchema.safeParse(value)
  if (!result.success) {
    const issue = result.error.issues[0]!
    throw new GenesisError(z.core.toDotPath(issue.path), issue.message)
  }
  checkGenesis(result.data)
  return result.data
}

/** The text of a genesis file. */
export function formatGenesis(genesis: Genesis): string {
  return `${JSON.stringify(genesis, null, 2)}\n`
}

/** sha256 of the canonical JSON: GENESIS_HASH, the peer handshake and block 0 use it. White space and order don't matter. */
export function genesisHash(genesis: Genesis): Hash {
  return sha256(new TextEncoder().encode(canonicalJson(genesis)))
}

/** What the genesis fixes for execution and RPC. */
export function chainConfigOf(genesis: Genesis): ChainConfig {
  const { evm, feemarket, erc20, timing } = genesis.app_state
  const { block } = genesis.consensus.params
  return {
    chainId: genesis.chain_id,
    evmChainId: BigInt(evm.params.chain_config.chain_id),
    genesisHash: genesisHash(genesis),
    genesisTimeMs: Date.parse(genesis.genesis_time),
    forks: evm.params.chain_config.fork_schedule.map(({ height, fork }) => ({ height: Number(height), fork })),
    // max_gas is the limit of EVM transactions alone; native transactions have a lane of a quarter of it beside.
    blockGasLimit: BigInt(block.max_gas),
    precompileGasLimit: BigInt(evm.params.precompile_gas_limit),
    maxBlockBytes: Number(block.max_bytes),
    blockIntervalMs: Number(timing.params.block_interval_ms),
    feeMarket: {
      elasticity: BigInt(feemarket.params.elasticity_multiplier),
      changeDenominator: BigInt(feemarket.params.base_fee_change_denominator),
      minimumBaseFee: wholePart(feemarket.params.min_gas_price),
      initialBaseFee: wholePart(feemarket.params.base_fee),
    },
    registeredPrecompiles: [...erc20.native_precompiles, ...evm.params.active_static_precompiles].map((address) =>
      parseAddress(address),
    ),
  }
}

export interface GenesisValidator {
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  readonly power: bigint
}

/** The validators of the first block, in the file's order. */
export function genesisValidators(genesis: Genesis): readonly GenesisValidator[] {
  return genesis.consensus.validators.map((validator) => ({
    publicKey: new Uint8Array(Buffer.from(validator.pub_key.value, 'base64')),
    power: BigInt(validator.power),
  }))
}

function wholePart(decimal: string): bigint {
  return BigInt(decimal.slice(0, decimal.indexOf('.')))
}

/** Operator addresses of the genesis validators by consensus address (the first 20 bytes of sha256 of the ed25519 key). */
export function genesisOperators(
  genesis: Genesis,
): readonly { readonly consensusAddress: Uint8Array; readonly operator: Address }[] {
  return genesis.app_state.staking.validators.map((validator) => ({
    consensusAddress: sha256(new Uint8Array(Buffer.from(validator.consensus_pubkey.key, 'base64'))).slice(0, 20),
    operator: parseAddress(validator.operator_address, BECH32_OPERATOR),
  }))
}
