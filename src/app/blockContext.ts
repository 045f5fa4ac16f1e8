import { blobBaseFee } from '../chain/blobFee.ts'
import { type ChainConfig, forkAt } from '../chain/chainConfig.ts'
import type { EthereumHeader } from '../chain/ethereumHeader.ts'
import type { ChainReader } from '../chain/reader.ts'
import type { BlockContext } from '../evm/engine.ts'
import type { Rules } from '../evm/rules.ts'

/** BLOCKHASH reaches this many blocks back. */
const BLOCK_HASH_WINDOW = 256

/** The rules that hold at `height`. */
export function rulesAt(chain: Pick<ChainConfig, 'forks' | 'evmChainId'>, height: number): Rules {
  return { fork: forkAt(chain, height), chainId: chain.evmChainId }
}

/** What opcodes see of the block with this header. */
export function blockContextOf(
  header: Pick<
    EthereumHeader,
    'number' | 'timestamp' | 'gasLimit' | 'miner' | 'baseFeePerGas' | 'mixHash' | 'difficulty' | 'excessBlobGas'
  >,
  reader: Pick<ChainReader, 'hash'>,
  rules: Rules,
): BlockContext {
  return {
    number: header.number,
    timestamp: header.timestamp,
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
