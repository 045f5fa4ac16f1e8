import type { Address } from '../../primitives/address.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { Hardfork } from './hardfork.ts'

/** EIP-1559 parameters of the chain. */
export interface FeeMarket {
  /** gas limit / elasticity = gas target */
  readonly elasticity: bigint
  readonly changeDenominator: bigint
  /** wei per gas: the base fee never falls below it */
  readonly minimumBaseFee: bigint
  /** wei per gas: the base fee of the genesis block */
  readonly initialBaseFee: bigint
}

/** Timeouts of consensus in milliseconds, the same for all validators. */
export interface ConsensusTiming {
  readonly proposeTimeoutMs: number
  /** added for each round from the fourth on */
  readonly proposeTimeoutDeltaMs: number
  /** of prevote and precommit */
  readonly voteTimeoutMs: number
  readonly voteTimeoutDeltaMs: number
  /** PBTS: maximum difference between two validators' clocks */
  readonly precisionMs: number
  /** PBTS: maximum time that a proposal may take to arrive */
  readonly messageDelayMs: number
}

/** Evidence has expired when it is older than both ages. */
export interface EvidenceParams {
  readonly maxAgeBlocks: number
  readonly maxAgeMs: number
  /** bytes of evidence in one block */
  readonly maxBytes: number
}

/** A hardfork and where it begins. */
export interface ForkActivation {
  readonly height: number
  readonly fork: Hardfork
  /** on chains whose forks begin by time, as Ethereum's later ones do: the time in seconds */
  readonly time?: number
  /**
   * limits of blobs per block from this fork on (EIP-7840); absent when blobs are not allowed, as
   * on all chains created by coind
   */
  readonly blobs?: { readonly target: number; readonly max: number; readonly baseFeeUpdateFraction: number }
  /**
   * contracts through which blocks talk to another consensus layer, by their names in EIP-7910;
   * none by default
   */
  readonly systemContracts?: Readonly<Record<string, string>>
}

/** Parameters of execution and RPC that the genesis fixes. */
export interface ChainConfig {
  /** native chain ID, e.g. coin_76287-1 */
  readonly chainId: string
  readonly evmChainId: bigint
  /** sha256 of the canonical genesis JSON */
  readonly genesisHash: Hash
  readonly genesisTimeMs: number
  /** ascending heights, the first is 0 */
  readonly forks: readonly ForkActivation[]
  /** for EVM transactions of one block */
  readonly blockGasLimit: bigint
  /**
   * gas that all transactions of a block together may use in Ethereum's precompiles (without SHA2-256, RIPEMD-160 and identity),
   * because these take more time for their gas than opcodes
   */
  readonly precompileGasLimit: bigint
  /** whether legacy transactions without a chain ID (before EIP-155) are valid, which are so on every chain that allows them */
  readonly allowsUnprotected: boolean
  /** bytes of a consensus block */
  readonly maxBlockBytes: number
  /** average milliseconds between blocks */
  readonly blockIntervalMs: number
  readonly timing: ConsensusTiming
  readonly evidence: EvidenceParams
  readonly feeMarket: FeeMarket
  /** the first block whose state holds the proposer priorities; 0 for none */
  readonly validatorRanksHeight: number
  /** stateful precompiles that the genesis registers */
  readonly registeredPrecompiles: readonly Address[]
}

/** Returns the hardfork whose rules hold at `height`. */
export function forkAt(config: Pick<ChainConfig, 'forks'>, height: number): Hardfork {
  let fork = config.forks[0]!.fork
  for (const entry of config.forks) if (entry.height <= height) fork = entry.fork
  return fork
}

/** The native transactions of a block may use this fraction (1/4) of the gas of its EVM transactions. */
const LANE_DIVISOR = 4n

/** Gas that the native transactions of one block may use, in addition to the gas of its EVM transactions. */
export function nativeGasLimit(blockGasLimit: bigint): bigint {
  return blockGasLimit / LANE_DIVISOR
}
