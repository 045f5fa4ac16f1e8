import type { ChainConfig, ForkActivation } from '../../../src/chain/genesis/chainConfig.ts'
import { HARDFORKS, type Hardfork } from '../../../src/chain/genesis/hardfork.ts'
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
/** Forks that change nothing but the number of blobs (EIP-7892). */
const BLOB_FORKS = ['bpo1', 'bpo2', 'bpo3', 'bpo4', 'bpo5']

/** The chain's configuration, given that its blocks are `secondsPerBlock` apart from time 0. */
export function chainConfigOf(genesis: GenesisFile, secondsPerBlock: number): ChainConfig {
  const { config } = genesis
  const beginOf = (fork: Hardfork): Pick<ForkActivation, 'height' | 'time'> | undefined => {
    const block = config[BLOCK_KEYS[fork] ?? '']
    const time = config[TIME_KEYS[fork] ?? '']
    if (typeof block === 'number') return { height: block }
    return typeof time === 'number' ? { height: time / secondsPerBlock, time } : undefined
  }
  const schedule = (config.blobSchedule ?? {}) as Readonly<Record<string, NonNullable<ForkActivation['blobs']>>>
  const withBlobs = (name: string, activation: ForkActivation): ForkActivation => {
    const blobs = schedule[name]
    return { ...activation, ...(blobs === undefined ? {} : { blobs }), systemContracts: systemContracts(genesis, name) }
  }
  const forks = HARDFORKS.flatMap((fork): ForkActivation[] => {
    const begin = fork === 'frontier' ? { height: 0 } : beginOf(fork)
    return begin === undefined ? [] : [withBlobs(fork, { ...begin, fork })]
  })
  for (const name of BLOB_FORKS) {
    const time = config[`${name}Time`]
    if (typeof time === 'number')
      forks.push(withBlobs(name, { height: time / secondsPerBlock, time, fork: forks.at(-1)!.fork }))
  }
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
    allowsUnprotected: false,
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

/** EIP-7910's names of what Prague added. */
function systemContracts({ config }: GenesisFile, fork: string): Readonly<Record<string, string>> {
  if (!['prague', 'osaka', ...BLOB_FORKS].includes(fork)) return {}
  return {
    CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS: '0x0000bbddc7ce488642fb579f8b00f3a590007251',
    DEPOSIT_CONTRACT_ADDRESS: String(config.depositContractAddress),
    WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS: '0x00000961ef480eb55e80d19ad83579a64c007002',
  }
}
