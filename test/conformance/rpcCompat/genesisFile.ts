import type { ChainConfig } from '../../../src/chain/chainConfig.ts'
import { HARDFORKS, type Hardfork } from '../../../src/chain/hardfork.ts'
import { ZERO_HASH } from '../../../src/primitives/hash.ts'

/** The parts of a genesis file in geth's format that the import needs. */
export interface GenesisFile {
  readonly config: Readonly<Record<string, unknown>>
  readonly parentHash: string
  readonly coinbase: string
  readonly difficulty: string
  readonly gasLimit: string
  readonly timestamp: string
  readonly extraData: string
  readonly mixHash: string
  readonly alloc: Readonly<
    Record<
      string,
      {
        readonly balance: string
        readonly nonce?: string
        readonly code?: string
        readonly storage?: Readonly<Record<string, string>>
      }
    >
  >
}

/** Where the file says at which block each fork starts; later ones start at a time. */
const BLOCK_KEYS: Readonly<Partial<Record<Hardfork, string>>> = {
  homestead: 'homesteadBlock',
  tangerineWhistle: 'eip150Block',
  spuriousDragon: 'eip158Block',
  byzantium: 'byzantiumBlock',
  constantinople: 'constantinopleBlock',
  petersburg: 'petersburgBlock',
  istanbul: 'istanbulBlock',
  muirGlacier: 'muirGlacierBlock',
  berlin: 'berlinBlock',
  london: 'londonBlock',
  arrowGlacier: 'arrowGlacierBlock',
  grayGlacier: 'grayGlacierBlock',
  paris: 'mergeNetsplitBlock',
}
const TIME_KEYS: Readonly<Partial<Record<Hardfork, string>>> = {
  shanghai: 'shanghaiTime',
  cancun: 'cancunTime',
  prague: 'pragueTime',
  osaka: 'osakaTime',
}

/** The chain's configuration, given that its blocks are `secondsPerBlock` apart from time 0. */
export function chainConfigOf(genesis: GenesisFile, secondsPerBlock: number): ChainConfig {
  const { config } = genesis
  const heightOf = (fork: Hardfork): number | undefined => {
    const block = config[BLOCK_KEYS[fork] ?? '']
    const time = config[TIME_KEYS[fork] ?? '']
    if (typeof block === 'number') return block
    return typeof time === 'number' ? time / secondsPerBlock : undefined
  }
  const forks = HARDFORKS.flatMap((fork) => {
    const height = fork === 'frontier' ? 0 : heightOf(fork)
    return height === undefined ? [] : [{ height, fork }]
  })
  const evmChainId = BigInt(config.chainId as number)
  return {
    chainId: `coin_${evmChainId}-1`,
    evmChainId,
    genesisHash: ZERO_HASH,
    genesisTimeMs: 0,
    forks,
    blockGasLimit: 200_000_000n,
    // another chain's, which has no such limit
    precompileGasLimit: 10n ** 12n,
    maxBlockBytes: 2_000_000,
    blockIntervalMs: secondsPerBlock * 1000,
    timing: {
      proposeTimeoutMs: 1,
      proposeTimeoutDeltaMs: 1,
      voteTimeoutMs: 1,
      voteTimeoutDeltaMs: 1,
      precisionMs: 1,
      messageDelayMs: 1,
    },
    evidence: { maxAgeBlocks: 1, maxAgeMs: 1, maxBytes: 0 },
    feeMarket: { elasticity: 2n, changeDenominator: 8n, minimumBaseFee: 0n, initialBaseFee: 1_000_000_000n },
    validatorRanksHeight: 0,
    registeredPrecompiles: [],
  }
}
