import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { entryHash } from '../../../src/chain/block/entries.ts'
import {
  BLOCK_PROTOCOL,
  type ConsensusBlock,
  dataHash,
  encodeBlock,
  headerHash,
} from '../../../src/chain/comet/block.ts'
import { commitHash } from '../../../src/chain/comet/commit.ts'
import { createPartSet } from '../../../src/chain/comet/partSet.ts'
import { BLOCK_ID_FLAGS, EMPTY_COMMIT, NIL_BLOCK_ID } from '../../../src/chain/comet/types.ts'
import { validatorSetHash } from '../../../src/chain/comet/validatorSet.ts'
import type { ChainConfig } from '../../../src/chain/genesis/chainConfig.ts'
import { createGenesis, type GenesisInput } from '../../../src/chain/genesis/createGenesis.ts'
import { chainConfigOf } from '../../../src/chain/genesis/genesis.ts'
import type { DecidedBlock, ProposedData } from '../../../src/consensus/application.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import type { PrecompileTable } from '../../../src/evm/precompile.ts'
import type { BlockHooks } from '../../../src/execution/blockHooks.ts'
import { readEntry } from '../../../src/execution/entry.ts'
import type { StoppedReport } from '../../../src/execution/executionDeadline.ts'
import { type Executor, openExecutor } from '../../../src/execution/executor.ts'
import { genesisStateOf } from '../../../src/execution/genesisBlock.ts'
import type { ParallelCounts } from '../../../src/execution/parallel/parallelExecution.ts'
import type { UnforeseenReport } from '../../../src/execution/unforeseenError.ts'
import type { PooledTransaction } from '../../../src/mempool/types.ts'
import { createTransactionDecoder } from '../../../src/modules/tx/transactionDecoder.ts'
import type { Thread } from '../../../src/node/start/spawn.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { productionEngine } from '../evm/productionEngine.ts'
import { startTestSpeculators } from './parallel/testSpeculators.ts'

/** Of the account at `test test … junk`, index 0. */
export const WALLET_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
export const WALLET = hexToBytes('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
export const GENESIS_TIME_MS = 1_700_000_000_000

const CONSENSUS_KEY = new Uint8Array(32).fill(7)
/** Longer than any test's block takes. */
const BUILD_BUDGET_MS = 60_000
const PROPOSER = sha256(CONSENSUS_KEY).slice(0, 20)

/** A chain in a temporary directory whose blocks the test decides itself. */
export interface TestChain {
  readonly chain: ChainConfig
  readonly executor: Executor
  readonly location: string
  /** that execute beside the executor */
  readonly speculators: readonly Thread[]
  /** Asks the application for the next block, from these raw transactions. */
  propose(raws: readonly Uint8Array[]): Promise<ProposedData | undefined>
  /** The next block with these transactions, decided. */
  decide(txs: readonly Uint8Array[]): Promise<DecidedBlock>
  /** Builds a block from these raw transactions (or takes them as they are) and finalizes it. */
  produce(raws?: readonly Uint8Array[], options?: { readonly asGiven?: boolean }): Promise<DecidedBlock>
  close(): Promise<void>
  /** @param changed settings that are other ones from now on */
  reopen(changed?: TestChainOptions): Promise<TestChain>
  /** The chain that a start finds after this process was killed now: another one, of the files as they are on the disk. */
  afterKill(changed?: TestChainOptions): Promise<TestChain>
}

export interface TestChainOptions {
  readonly pruning?: 'archive' | number
  readonly blockHistory?: number
  /** `all` by default */
  readonly index?: 'all' | 'off'
  /** false by default */
  readonly indexTraces?: boolean
  readonly engine?: Engine
  /** executes each block too */
  readonly shadow?: Engine
  readonly hooks?: BlockHooks
  /** by default those of production */
  readonly precompiles?: PrecompileTable
  /** takes reports of unforeseen errors */
  readonly unforeseen?: (report: UnforeseenReport) => void
  /** takes reports of executions that took too long; by default an error */
  readonly stopped?: (report: StoppedReport) => void
  /** milliseconds, monotonic; by default those of the machine */
  readonly now?: () => number
  /** takes what a proposer tells its mempool, see `CandidateSource` */
  /** threads that execute, 1 by default; see `startTestSpeculators` */
  readonly executionThreads?: number
  /** takes what became of entries that were offered to them */
  readonly speculations?: (counts: ParallelCounts) => void
  readonly unexecutable?: (hashes: readonly Uint8Array[]) => void
}

export async function createTestChain(
  input: Partial<GenesisInput> = {},
  options: TestChainOptions = {},
): Promise<TestChain> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-chain-'))
  return openTestChain(directory, input, options)
}

async function openTestChain(
  directory: string,
  input: Partial<GenesisInput>,
  options: TestChainOptions,
): Promise<TestChain> {
  const genesis = createGenesis({
    genesisTimeMs: GENESIS_TIME_MS,
    chainId: 'coin_76287-1',
    wallet: WALLET,
    selfDelegationAcoin: 10n ** 24n,
    consensusPublicKey: CONSENSUS_KEY,
    moniker: 'test',
    ...input,
  })
  const chain = chainConfigOf(genesis)
  const location = join(directory, 'db')
  let offered: readonly PooledTransaction[] = []
  const speculators =
    (options.executionThreads ?? 1) === 1
      ? undefined
      : await startTestSpeculators(options.executionThreads!, { location, chain, observe: options.speculations })
  const executor = await openExecutor({
    location,
    chain,
    genesis: () => genesisStateOf(genesis),
    engine: options.engine ?? productionEngine,
    ...(options.shadow === undefined ? {} : { shadow: options.shadow }),
    ...(options.hooks === undefined ? {} : { hooks: options.hooks }),
    precompiles: options.precompiles ?? precompileTable(chain.registeredPrecompiles),
    parallel: speculators?.execution,
    candidates: {
      candidates: async ({ isFirst }) => (isFirst ? offered : []),
      ...(options.unexecutable && { unexecutable: options.unexecutable }),
    },
    pruning: options.pruning ?? 'archive',
    blockHistory: options.blockHistory ?? 0,
    index: options.index ?? 'all',
    indexTraces: options.indexTraces ?? false,
    defer: (work) => work(),
    now: options.now ?? (() => performance.now()),
    later: () => undefined,
    onPublished: () => undefined,
    observer: {
      executed: () => undefined,
      written: () => undefined,
      stopped:
        options.stopped ??
        (({ place }) => {
          throw new Error(`stopped: ${place}`)
        }),
      unforeseen:
        options.unforeseen ??
        (({ error }) => {
          throw error
        }),
    },
  })
  const { application } = executor
  await speculators?.ready()
  const closeAll = async (): Promise<void> => {
    await speculators?.close()
    await executor.close()
  }

  const propose = async (raws: readonly Uint8Array[]): Promise<ProposedData | undefined> => {
    const info = await application.info()
    const height = info.height + 1
    offered = raws.map((raw) => pooled(raw, chain))
    return application.prepareProposal(
      {
        height,
        timeMs: GENESIS_TIME_MS + height * chain.blockIntervalMs,
        proposerAddress: PROPOSER,
        parentConsensusHash: info.lastBlockId?.hash ?? chain.genesisHash,
        maxBytes: chain.maxBlockBytes,
        lastCommit: info.lastSeenCommit ?? EMPTY_COMMIT,
        evidence: [],
      },
      BUILD_BUDGET_MS,
    )
  }

  const decide = async (txs: readonly Uint8Array[]): Promise<DecidedBlock> => {
    const info = await application.info()
    const height = info.height + 1
    const timeMs = GENESIS_TIME_MS + height * chain.blockIntervalMs
    const lastCommit = info.lastSeenCommit ?? EMPTY_COMMIT
    const block: ConsensusBlock = {
      header: {
        version: { block: BLOCK_PROTOCOL, app: 0 },
        chainId: chain.chainId,
        height,
        timeMs,
        lastBlockId: info.lastBlockId ?? NIL_BLOCK_ID,
        lastCommitHash: commitHash(lastCommit),
        dataHash: dataHash(txs),
        validatorsHash: validatorSetHash(info.validators),
        nextValidatorsHash: validatorSetHash(info.nextValidators),
        consensusHash: sha256(CONSENSUS_KEY),
        appHash: info.appHash,
        lastResultsHash: info.lastResultsHash,
        evidenceHash: sha256(new Uint8Array()),
        proposerAddress: PROPOSER,
      },
      txs,
      evidence: [],
      lastCommit,
    }
    const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encodeBlock(block)).header }
    const signature = {
      flag: BLOCK_ID_FLAGS.commit,
      validatorAddress: PROPOSER,
      timestampMs: timeMs,
      signature: new Uint8Array(64).fill(1),
    }
    return { block, blockId, seenCommit: { height, round: 0, blockId, signatures: [signature] } }
  }

  return {
    chain,
    executor,
    location,
    propose,
    decide,
    async produce(raws = [], { asGiven = false } = {}) {
      const txs = asGiven ? raws : (await propose(raws))!.txs
      const decided = await decide(txs)
      await application.finalizeBlock(decided)
      return decided
    },
    speculators: speculators?.threads ?? [],
    async close() {
      await closeAll()
      rmSync(directory, { recursive: true, force: true })
    },
    async afterKill(changed = {}) {
      return openTestChain(copyWhileOpen(directory), input, { ...options, ...changed })
    },
    async reopen(changed = {}) {
      await closeAll()
      return openTestChain(directory, input, { ...options, ...changed })
    },
  }
}

/**
 * A copy of a directory that is in use, as `kill -9` would leave it. LevelDB's own thread adds and removes files meanwhile; a copy is of
 * one moment when the files before it are those after it, since they only ever grow.
 */
function copyWhileOpen(directory: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'coind-chain-'))
  for (;;) {
    const before = sizesIn(directory)
    try {
      cpSync(directory, copy, { recursive: true })
      if (isDeepStrictEqual(sizesIn(directory), before)) return copy
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    rmSync(copy, { recursive: true })
    mkdirSync(copy)
  }
}

function sizesIn(directory: string): readonly (readonly [path: string, bytes: number | undefined])[] {
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  return paths.map((path) => [path, statSync(join(directory, path), { throwIfNoEntry: false })?.size] as const)
}

/** A transaction of either kind as the pool offers it. */
export function pooled(
  raw: Uint8Array,
  chain: Pick<ChainConfig, 'chainId' | 'evmChainId' | 'allowsUnprotected'>,
): PooledTransaction {
  const entry = readEntry(raw, createTransactionDecoder(chain))
  if ('reason' in entry) throw new Error(entry.reason)
  return { raw, hash: entryHash(raw), sender: 'native' in entry ? entry.native.sender : entry.sender }
}
