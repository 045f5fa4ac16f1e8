import { blobBaseFee } from '../chain/baseFee.ts'
import { type ChainConfig, forkAt } from '../chain/chainConfig.ts'
import type { EthereumHeader } from '../chain/ethereumBlock.ts'
import type { ChainReader } from '../chain/store.ts'
import type { BlockContext } from '../evm/engine.ts'
import type { Rules } from '../evm/rules.ts'

/** BLOCKHASH reaches this many blocks back. */
const BLOCK_HASH_WINDOW = 256

/** The rules that hold at `height`. */
export function rulesAt(chain: Pick<ChainConfig, 'forks' | 'evmChainId'>, height: number): Rules {
  return { fork: forkAt(chain, height), chainId: chain.evmChainId }
}

/**
 * Consensus time of a block, milliseconds since the epoch; of one that is not decided yet what its header says, in whole
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
 * What code sees of the block with this header.
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
