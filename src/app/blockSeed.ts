import { nextBaseFee } from '../chain/baseFee.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import type { EthereumHeader } from '../chain/ethereumBlock.ts'
import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'

/** The part of an Ethereum header that is known before transactions are chosen. */
export type BlockSeed = Pick<
  EthereumHeader,
  | 'parentHash'
  | 'number'
  | 'timestamp'
  | 'miner'
  | 'gasLimit'
  | 'baseFeePerGas'
  | 'mixHash'
  | 'parentBeaconBlockRoot'
  | 'difficulty'
  | 'excessBlobGas'
>

/** What consensus says of a block before its transactions. */
export interface SeedInput {
  readonly parent: EthereumHeader
  readonly parentHash: Hash
  /** consensus header hash of the parent; the genesis hash for blocks 0 and 1 (EIP-4788's meaning) */
  readonly parentConsensusHash: Uint8Array
  /** consensus time, milliseconds since the epoch */
  readonly timeMs: number
  /** operator address of the proposer */
  readonly miner: Address
}

/**
 * PREVRANDAO: each block hashes the one before with the consensus header hash before, so it is known one block ahead and
 * the previous proposer can influence it (by choosing among blocks it may propose).
 */
export function nextMixHash(parentMixHash: Hash, parentConsensusHash: Uint8Array): Hash {
  return keccak256(concatBytes(parentMixHash, parentConsensusHash))
}

/** The seed of the block after `parent`. Equal seconds in consecutive blocks are allowed: blocks are 400 ms apart. */
export function seedAfter(
  { parent, parentHash, parentConsensusHash, timeMs, miner }: SeedInput,
  chain: Pick<ChainConfig, 'blockGasLimit' | 'feeMarket'>,
): BlockSeed {
  return {
    parentHash,
    number: parent.number + 1,
    timestamp: Math.floor(timeMs / 1000),
    miner,
    gasLimit: chain.blockGasLimit,
    baseFeePerGas: nextBaseFee(parent, chain.feeMarket),
    mixHash: nextMixHash(parent.mixHash, parentConsensusHash),
    parentBeaconBlockRoot: parentConsensusHash,
    difficulty: 0n,
    excessBlobGas: 0n,
  }
}
