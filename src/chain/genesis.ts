import { z } from 'zod'
import { type Address, BECH32_OPERATOR, parseAddress } from '../primitives/address.ts'
import { type Hash, sha256 } from '../primitives/hash.ts'
import { canonicalJson } from './canonicalJson.ts'
import type { ChainConfig } from './chainConfig.ts'
import { fromCometGenesis } from './cometGenesis.ts'
import { GenesisError } from './genesisError.ts'
import { checkGenesis } from './genesisRules.ts'
import { type Genesis, genesisSchema } from './genesisSchema.ts'

/**
 * Reads a genesis file, or the genesis in an answer of /rpc/genesis, and checks that its parts agree with one another.
 * @throws GenesisError that names the place and the problem
 */
export function parseGenesis(json: string): Genesis {
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
  const { block, evidence } = genesis.consensus.params
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
    registeredPrecompiles: [...erc20.native_precompiles, ...evm.params.active_static_precompiles].map((address) =>
      parseAddress(address),
    ),
  }
}

export interface GenesisValidator {
  readonly operator: Address
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  readonly power: bigint
}

/** The validators of the first block, in the file's order, which is that of app_state.staking too. */
export function genesisValidators(genesis: Genesis): readonly GenesisValidator[] {
  const staked = genesis.app_state.staking.validators
  return genesis.consensus.validators.map((validator, index) => ({
    operator: parseAddress(staked[index]!.operator_address, BECH32_OPERATOR),
    publicKey: new Uint8Array(Buffer.from(validator.pub_key.value, 'base64')),
    power: BigInt(validator.power),
  }))
}

function wholePart(decimal: string): bigint {
  return BigInt(decimal.slice(0, decimal.indexOf('.')))
}
