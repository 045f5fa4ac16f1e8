import { blobBaseFee, nextBaseFee } from '../chain/block/baseFee.ts'
import type { EthereumHeader } from '../chain/block/ethereumBlock.ts'
import { type ChainConfig, forkAt } from '../chain/genesis/chainConfig.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import type { BlockContext, Rules } from '../evm/blockContext.ts'
import { CONSENSUS_PARAMS, maxBlockGas } from '../modules/consensus/params.ts'
import { feeMarketOf } from '../modules/feemarket/params.ts'
import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import type { NativeStore } from '../state/world.ts'

/** How many blocks back BLOCKHASH can read. */
const BLOCK_HASH_WINDOW = 256

/** Returns the rules that hold at `height`. */
export function rulesAt(chain: Pick<ChainConfig, 'forks' | 'evmChainId'>, height: number): Rules {
  return { fork: forkAt(chain, height), chainId: chain.evmChainId }
}

/**
 * Consensus time of a block, milliseconds since the epoch. For a block that is not decided yet it is the header's time, in whole
 * seconds.
 */
export function consensusTimeMs(
  { number, timestamp }: Pick<EthereumHeader, 'number' | 'timestamp'>,
  reader: Pick<ChainReader, 'consensusBlock'>,
  { genesisTimeMs }: Pick<ChainConfig, 'genesisTimeMs'>,
): number {
  return number === 0 ? genesisTimeMs : (reader.consensusBlock(number)?.header.timeMs ?? timestamp * 1000)
}

/**
 * Returns the facts that EVM code can read about the block with this header.
 * @param timeMs its consensus time, milliseconds since the epoch
 */
export function blockContextOf(
  header: Pick<
    EthereumHeader,
    'number' | 'timestamp' | 'gasLimit' | 'miner' | 'baseFeePerGas' | 'mixHash' | 'difficulty' | 'excessBlobGas'
  >,
  timeMs: number,
  reader: Pick<ChainReader, 'hash'>,
  rules: Rules,
): BlockContext {
  return {
    number: header.number,
    timestamp: header.timestamp,
    timeMs,
    gasLimit: header.gasLimit,
    coinbase: header.miner,
    baseFeePerGas: header.baseFeePerGas,
    prevRandao: header.mixHash,
    difficulty: header.difficulty,
    blobBaseFee: blobBaseFee(header.excessBlobGas ?? 0n, rules.fork),
    blockHash: (number) =>
      number >= 0 && number < header.number && number >= header.number - BLOCK_HASH_WINDOW
        ? reader.hash(number)
        : undefined,
  }
}

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

/** Facts about a block that consensus determines before its transactions are chosen. */
interface SeedInput {
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
 * Returns PREVRANDAO: a hash of the previous block's value and the previous consensus header hash.
 * So it is known one block ahead, and the previous proposer can influence it (by choosing among
 * blocks that it may propose).
 */
export function nextMixHash(parentMixHash: Hash, parentConsensusHash: Uint8Array): Hash {
  return keccak256(concatBytes(parentMixHash, parentConsensusHash))
}

/**
 * Returns the seed of the block after `parent`. Consecutive blocks may have the same second: they
 * are 400 ms apart.
 */
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

/** The genesis' rules for Ethereum blocks that governance can change. */
export type RunningParams = Pick<ChainConfig, 'blockGasLimit' | 'feeMarket'>

/**
 * Returns the parameters of the block after this state's block. A state without native modules, as
 * on conformance chains, has the parameters of the genesis.
 */
export function runningParams(native: Pick<NativeStore, 'get'>, genesis: RunningParams): RunningParams {
  if (CONSENSUS_PARAMS.find(native) === undefined) return genesis
  return { blockGasLimit: maxBlockGas(native), feeMarket: feeMarketOf(native, genesis.feeMarket) }
}
