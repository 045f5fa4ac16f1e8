import { type ChainConfig, forkAt } from '../chain/chainConfig.ts'
import type { EthereumHeader } from '../chain/ethereumBlock.ts'
import { includesFork } from '../chain/hardfork.ts'
import { logsBloom } from '../chain/receipt.ts'
import { ZERO_ADDRESS } from '../primitives/address.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, type Hash, ZERO_HASH } from '../primitives/hash.ts'
import { EMPTY_REQUESTS_HASH, EXTRA_DATA, ZERO_NONCE } from './blockExecution.ts'
import { nextMixHash } from './blockSeed.ts'

/** Header of block 0, whose state is what the genesis writes. It commits to the genesis hash. */
export function genesisHeader(
  chain: Pick<ChainConfig, 'genesisHash' | 'genesisTimeMs' | 'blockGasLimit' | 'feeMarket' | 'forks'>,
  stateRoot: Hash,
): EthereumHeader {
  const { genesisHash } = chain
  return {
    parentHash: ZERO_HASH,
    sha3Uncles: EMPTY_UNCLES_HASH,
    miner: ZERO_ADDRESS,
    stateRoot,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: logsBloom([]),
    difficulty: 0n,
    number: 0,
    gasLimit: chain.blockGasLimit,
    gasUsed: 0n,
    timestamp: Math.floor(chain.genesisTimeMs / 1000),
    extraData: EXTRA_DATA,
    mixHash: nextMixHash(ZERO_HASH, genesisHash),
    nonce: ZERO_NONCE,
    baseFeePerGas: chain.feeMarket.initialBaseFee,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: genesisHash,
    requestsHash: includesFork(forkAt(chain, 0), 'prague') ? EMPTY_REQUESTS_HASH : undefined,
  }
}
