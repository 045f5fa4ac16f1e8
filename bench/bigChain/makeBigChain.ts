import { mkdirSync } from 'node:fs'
import { NO_BLOCK_EVENTS } from '../../src/chain/block/entries.ts'
import { type EthereumHeader, ethereumHeaderHash } from '../../src/chain/block/ethereumBlock.ts'
import { type ConsensusBlock, dataHash, encodeBlock, headerHash } from '../../src/chain/comet/block.ts'
import { createPartSet } from '../../src/chain/comet/partSet.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  EMPTY_COMMIT,
  NIL_BLOCK_ID,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
} from '../../src/chain/comet/types.ts'
import { voteSignBytes } from '../../src/chain/comet/vote.ts'
import type { ChainConfig } from '../../src/chain/genesis/chainConfig.ts'
import { chainConfigOf, formatGenesis } from '../../src/chain/genesis/genesis.ts'
import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import { writeValidators } from '../../src/chain/store/validatorRecords.ts'
import { writeBlock, writeHeadRecord } from '../../src/chain/store/writeBlock.ts'
import type { ValidatorUpdate } from '../../src/consensus/application.ts'
import { advanceState, type ConsensusState, engineChainOf, makeBlock } from '../../src/consensus/consensusState.ts'
import { createValidatorKey } from '../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { rulesAt, seedAfter } from '../../src/execution/blockContext.ts'
import { headerOf } from '../../src/execution/blockExecution.ts'
import { resultsHashOf } from '../../src/execution/executedBlock.ts'
import { genesisStateOf } from '../../src/execution/genesisBlock.ts'
import { openChain } from '../../src/execution/openChain.ts'
import { recordRanks } from '../../src/modules/consensus/validatorRanks.ts'
import { endStaking } from '../../src/modules/staking/endStaking.ts'
import { bytesKey, keyBytes } from '../../src/primitives/bytes.ts'
import { type Ed25519Key, signEd25519 } from '../../src/primitives/ed25519.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import { StateStore } from '../../src/state/stateStore.ts'
import { WriteBatch } from '../../src/storage/batch.ts'
import { BufferedDatabase } from '../../src/storage/bufferedDatabase.ts'
import { heightBytes } from '../../src/storage/columns.ts'
import { Database, type WritableDatabase } from '../../src/storage/database.ts'
import { writeFileDurably } from '../../src/storage/writeFileDurably.ts'
import { networkGenesis, testValidator } from '../../test/support/execution/testNetwork.ts'
import { fillSteps, type StateSize, writeStep } from './fillState.ts'

export interface BigChainOptions extends StateSize {
  /** HOMEDIR, which must not exist */
  readonly homedir: string
  readonly blocks: number
  /** 1 to 50; the first one has nearly all the power, so that its node continues alone */
  readonly validators: number
  /** of them, how many sign each block; the others were away */
  readonly signers: number
  /** milliseconds since the epoch; blocks follow each other after 400 ms */
  readonly genesisTimeMs: number
  /** is called for each step */
  readonly onStep?: (name: string, entries: number) => void
  /** changes the genesis */
  readonly adapt?: (genesis: Genesis) => Genesis
  /** Whether the blocks claim that each has changed the state, as empty ones do too. Only the last one has a true state root then. */
  readonly hasChangingRoots?: boolean
  /** the node's work on older blocks, which comes with each block; by default none */
  readonly upkeep?: (database: WritableDatabase, chain: ChainConfig) => Upkeep
}

export interface Upkeep {
  /** adds to the batch of a block, before its own entries */
  readonly withBlock: (batch: WriteBatch, height: number) => void
  /** Is called when the blocks up to this height are on stable storage. */
  readonly afterWrite: (database: Database, height: number) => Promise<void>
}

const FIRST_POWER_ACOIN = 10n ** 6n * 10n ** 18n
/** The block that claims to have made the whole state: its validators act from the third block on. */
const FILLED_AT = 1
const APP_VERSION = 0
const BLOCKS_PER_WRITE = 1_000

/**
 * Makes the data directory of a chain with a large state and many blocks, in minutes, for tests of what grows with them. The blocks are
 * **claims**: they are hashed, linked and signed as a network would have made them, so that light clients and importers of headers
 * accept them, but they were never executed. All of them are empty; the first claims to have made the state, without
 * transactions that could have. A node that executed them from block 1 on would get another state, and stop. The head's state
 * root is that of the state, so a node that opens the directory continues from there, after the minute that a validator with a
 * new log waits.
 *
 * The steps, in this order:
 * 1. Genesis and the key of the first validator; the seeds of all keys are public (`testValidator`).
 * 2. The state without the changes of the last blocks.
 * 3. The blocks, with the root of step 2.
 * 4. The last block: its state has the proposer priorities too, which follow from the blocks before.
 */
export async function makeBigChain(options: BigChainOptions): Promise<{ readonly stateRoot: Uint8Array }> {
  const { homedir, blocks, genesisTimeMs, onStep = () => undefined } = options
  // 1.
  const own = networkGenesis(options.validators, { genesisTimeMs, selfDelegationAcoin: FIRST_POWER_ACOIN })
  const genesis = options.adapt?.(own) ?? own
  const chain = chainConfigOf(genesis)
  const paths = dataPaths(homedir)
  mkdirSync(homedir)
  mkdirSync(paths.config, { mode: 0o700 })
  writeFileDurably(paths.genesis, formatGenesis(genesis), 0o644)
  createValidatorKey(paths.validatorKey, testValidator(0).key.seed)
  // Few large tables, or those that a node makes.
  const database = await Database.open(paths.db, options.upkeep === undefined ? { writeBufferBytes: 64 << 20 } : {})
  try {
    const empty = new StateStore(database)
    const head = await openChain(database, empty, chain, () => genesisStateOf(genesis))
    await empty.close()
    // 2.
    const block = { height: FILLED_AT, timeMs: genesisTimeMs + FILLED_AT * chain.blockIntervalMs }
    const operators = Array.from({ length: options.validators }, (_, index) => testValidator(index).operator)
    for (const { name, entries, change } of fillSteps(options, operators, block)) {
      await writeStep(database, blocks, change)
      onStep(name, entries)
    }
    let updates: readonly ValidatorUpdate[] = []
    const filledRoot = await writeStep(database, blocks, (world) => {
      updates = endStaking({ world, block })
    })
    // 3. and 4.
    const start: ConsensusState = {
      ...engineChainOf(chain, APP_VERSION, Number(chain.blockGasLimit)),
      lastHeight: 0,
      lastBlockId: NIL_BLOCK_ID,
      lastBlockTimeMs: head.timeMs,
      lastSeenCommit: EMPTY_COMMIT,
      appHash: head.hash,
      lastResultsHash: head.record.resultsHash,
      lastValidators: head.validators.last,
      validators: head.validators.next,
      nextValidators: head.validators.afterNext,
    }
    return {
      stateRoot: await writeBlocks(database, { ...options, chain, start, header: head.header, updates, filledRoot }),
    }
  } finally {
    await database.close()
  }
}

interface ClaimedBlocks extends BigChainOptions {
  readonly chain: ChainConfig
  /** consensus and Ethereum header at the genesis */
  readonly start: ConsensusState
  readonly header: EthereumHeader
  /** of the validators, at the end of block {@link FILLED_AT} */
  readonly updates: readonly ValidatorUpdate[]
  readonly filledRoot: Uint8Array
}

/** Writes blocks 1 to `blocks` and the proposer priorities of the last. @returns the root of the state after it */
async function writeBlocks(database: Database, claimed: ClaimedBlocks): Promise<Uint8Array> {
  const { blocks, validators, signers, chain, start, filledRoot, onStep = () => undefined } = claimed
  const members = Array.from({ length: validators }, (_, index) => testValidator(index))
  const operators = new Map(members.map(({ address, operator }) => [bytesKey(address), operator]))
  const keys = new Map(members.slice(0, signers).map(({ address, key }) => [bytesKey(address), key]))
  const lastResultsHash = resultsHashOf([])
  const ranks = new Map<string, Uint8Array>()
  const native = {
    get: (key: Uint8Array) => ranks.get(bytesKey(key)),
    set: (key: Uint8Array, value: Uint8Array) => void ranks.set(bytesKey(key), value),
  }
  let state = start
  let parent = claimed.header
  let stateRoot = filledRoot
  const buffered = new BufferedDatabase(database)
  buffered.startBuffering()
  const upkeep = claimed.upkeep?.(buffered, chain)
  for (let height = 1; height <= blocks; height++) {
    const timeMs = chain.genesisTimeMs + height * chain.blockIntervalMs
    const { address } = state.validators.validators[state.validators.proposer]!
    const content = { txs: [], evidence: [], dataHash: dataHash([]), timeMs, proposerAddress: address }
    const block = makeBlock(state, { ...content, lastCommit: state.lastSeenCommit })
    const encoded = encodeBlock(block)
    const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encoded).header }
    const decided = { block, blockId, seenCommit: signCommit(block, blockId, state.validators, keys) }

    const validatorUpdates = height === FILLED_AT ? claimed.updates : []
    const isChanged = validatorUpdates.length > 0
    const parentConsensusHash = height === 1 ? chain.genesisHash : state.lastBlockId.hash
    const parentHash = state.appHash
    // The application hash is not known yet: the state of the last block holds what follows from its validators.
    const result = { appHash: parentHash, lastResultsHash, validatorUpdates, durableHeight: height }
    state = advanceState(state, decided, result)
    const next = { next: state.validators, afterNext: state.nextValidators }
    recordRanks(native, chain.validatorRanksHeight, { height, ...next, isChanged })
    if (height === blocks) {
      await buffered.flush()
      stateRoot = await writeStep(database, blocks, (world) => {
        for (const [key, value] of ranks) world.native.set(keyBytes(key), value)
      })
    }
    const miner = operators.get(bytesKey(address))!
    const seed = seedAfter({ parent, parentHash, parentConsensusHash, timeMs, miner }, chain)
    const claimedRoot = claimed.hasChangingRoots === true && height < blocks ? sha256(heightBytes(height)) : stateRoot
    const header = headerOf(seed, rulesAt(chain, height), [], 0n, claimedRoot)
    const appHash = ethereumHeaderHash(header)
    const consensus = { block: encoded, hash: blockId.hash }
    const batch = new WriteBatch()
    upkeep?.withBlock(batch, height)
    writeBlock(batch, { header, hash: appHash, consensus, entries: [], events: NO_BLOCK_EVENTS, isIndexed: true })
    writeValidators(batch, buffered, { height: height + 2, set: state.nextValidators, isChanged })
    writeHeadRecord(batch, { height, decided, resultsHash: lastResultsHash })
    await buffered.write(batch, { sync: false })
    if (height % BLOCKS_PER_WRITE === 0 || height === blocks) {
      await buffered.flush()
      await upkeep?.afterWrite(database, height)
      onStep('blocks', height % BLOCKS_PER_WRITE || BLOCKS_PER_WRITE)
    }
    state = { ...state, appHash }
    parent = header
  }
  return stateRoot
}

/** Makes the commit of a block by the validators whose keys (by address) are passed. */
function signCommit(
  { header: { chainId, height, timeMs } }: ConsensusBlock,
  blockId: BlockId,
  { validators }: ValidatorSet,
  keys: ReadonlyMap<string, Ed25519Key>,
): Commit {
  const round = 0
  const vote = { type: SIGNED_MESSAGE_TYPES.precommit, height, round, blockId, timestampMs: timeMs }
  const message = voteSignBytes(chainId, vote)
  const signatures = validators.map(({ address }) => {
    const key = keys.get(bytesKey(address))
    if (key === undefined) return ABSENT_COMMIT_SIG
    const signature = signEd25519(key, message)
    return { flag: BLOCK_ID_FLAGS.commit, validatorAddress: address, timestampMs: timeMs, signature }
  })
  return { height, round, blockId, signatures }
}
