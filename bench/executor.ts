/**
 * What one block of transfers costs the executor, phase by phase, on its own: no RPC, no pool, no consensus. Prints and asserts
 * nothing.
 *
 *   node bench/executor.ts [transfers in a block] [senders] [blocks] [further accounts in the state] [1: INDEX_TRACES]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApplication } from '../src/app/application.ts'
import { MODULE_HOOKS } from '../src/app/blockHooks.ts'
import { genesisStateOf } from '../src/app/genesisBlock.ts'
import { openChain } from '../src/app/openChain.ts'
import { createPublisher } from '../src/app/publisher.ts'
import { BLOCK_PROTOCOL, type ConsensusBlock } from '../src/chain/consensus/block.ts'
import { BLOCK_ID_FLAGS, EMPTY_COMMIT, NIL_BLOCK_ID } from '../src/chain/consensus/types.ts'
import { createGenesis } from '../src/chain/createGenesis.ts'
import { chainConfigOf } from '../src/chain/genesis.ts'
import { openChainReader } from '../src/chain/store.ts'
import { createReferenceEngine } from '../src/evm/engines/reference/referenceEngine.ts'
import type { PooledTransaction } from '../src/mempool/types.ts'
import { precompileTable } from '../src/precompiles/registry.ts'
import { bytesToHex, hexToBytes } from '../src/primitives/bytes.ts'
import { keccak256, sha256 } from '../src/primitives/hash.ts'
import { StateStore } from '../src/state/store.ts'
import { Database } from '../src/storage/database.ts'
import { accountOf, CHAIN_ID, FUNDER, GWEI, sign } from './load/sign.ts'
import { percentile } from './measure/percentile.ts'
import { threadTimes, usedBetween } from './measure/processUsage.ts'

const [perBlock = 2_000, senderCount = 200, blockCount = 12, furtherAccounts = 0, indexTraces = 0] = process.argv
  .slice(2)
  .map(Number)
const RECIPIENTS = 2_000
/** Blocks that are not counted: compilation. */
const WARM_UP = 3
const CANDIDATES_PER_ANSWER = 512
const FUNDS = 10n ** 21n
const GENESIS_TIME_MS = 1_700_000_000_000
const CONSENSUS_KEY = new Uint8Array(32).fill(7)
const PROPOSER = sha256(CONSENSUS_KEY).slice(0, 20)

const senders = Array.from({ length: senderCount }, (_, index) => accountOf(`bench ${index}`))
const recipients = Array.from({ length: RECIPIENTS }, (_, index) => keccak256(Buffer.from(`to ${index}`)).slice(12))
const others = Array.from({ length: furtherAccounts }, (_, index) => keccak256(Buffer.from(`other ${index}`)).slice(12))
const blocks = Array.from({ length: blockCount + WARM_UP }, (_, block) =>
  Array.from({ length: perBlock }, (__, at): PooledTransaction => {
    const index = block * perBlock + at
    const sender = senders[index % senderCount]!
    const { raw, hash } = sign(sender, {
      nonce: BigInt(Math.floor(index / senderCount)),
      to: recipients[index % RECIPIENTS]!,
      value: 1n,
      maxFeePerGas: 500n * GWEI,
    })
    return { raw: hexToBytes(raw), hash: hexToBytes(hash), sender: sender.address }
  }),
)

const genesis = createGenesis({
  genesisTimeMs: GENESIS_TIME_MS,
  chainId: `coin_${CHAIN_ID}-1`,
  wallet: FUNDER.address,
  selfDelegationAcoin: 10n ** 24n,
  consensusPublicKey: CONSENSUS_KEY,
  moniker: 'bench',
  blockGasLimit: 1_000_000_000n,
})
const funded = [...senders.map(({ address }) => address), ...others].map((address) => ({
  address,
  nonce: 0n,
  balanceAcoin: FUNDS,
  code: new Uint8Array(),
}))
const chain = chainConfigOf(genesis)
const directory = mkdtempSync(join(tmpdir(), 'coind-bench-'))
const database = await Database.open(directory)
const state = new StateStore(database)

const times = new Map<string, number[]>()
function note(phase: string, milliseconds: number): void {
  if (block < WARM_UP) return
  times.set(phase, [...(times.get(phase) ?? []), milliseconds])
}
async function timed<Result>(phase: string, run: () => Promise<Result>): Promise<Result> {
  const begin = performance.now()
  const result = await run()
  note(phase, performance.now() - begin)
  return result
}

let block = 0
let deferred = (): void => undefined
let offered: readonly PooledTransaction[] = []
let offeredUpTo = 0
let appliedAt = 0
let batchBytes = 0
const publisher = createPublisher({
  database: {
    get: (key) => database.get(key),
    bufferedBytes: 0,
    startBuffering: () => undefined,
    stopBuffering: async () => undefined,
    startFlush: async () => ({ done: Promise.resolve() }),
    write: (batch, options) => {
      note('publish: batch', performance.now() - publishBegin)
      batchBytes = batch.bytes
      return timed('publish: LevelDB write', () => database.write(batch, options))
    },
  },
  maintain: () => undefined,
  isIndexed: true,
  reader: { getCode: (hash) => state.reader().getCode(hash) },
  head: await openChain(database, state, chain, () => ({
    ...genesisStateOf(genesis),
    accounts: [...genesisStateOf(genesis).accounts, ...funded],
  })),
  onPublished: () => undefined,
  onWritten: () => undefined,
  now: () => performance.now(),
  later: () => undefined,
})
let publishBegin = 0
const application = createApplication({
  chain,
  state: {
    reader: () => state.reader(),
    apply: async (changes, height) => {
      const result = await timed('build: root', () => state.apply(changes, height))
      appliedAt = performance.now()
      return result
    },
  },
  onUnforeseen: ({ error }) => {
    throw error
  },
  chainReader: () => openChainReader(database),
  engine: createReferenceEngine(),
  precompiles: precompileTable(chain.registeredPrecompiles),
  candidates: {
    candidates: async ({ isFirst }) => {
      if (isFirst) offeredUpTo = 0
      const answer = offered.slice(offeredUpTo, offeredUpTo + CANDIDATES_PER_ANSWER)
      offeredUpTo += answer.length
      return answer
    },
  },
  hooks: MODULE_HOOKS,
  isCallIndexed: indexTraces === 1,
  head: publisher.head,
  flush: publisher.flush,
  durableHeight: publisher.durableHeight,
  publish: (decided, executed) => {
    publishBegin = performance.now()
    return publisher.publish(decided, executed)
  },
  onExecuted: () => undefined,
  buildBudgetMs: 60_000,
  defer: (work) => {
    deferred = work
  },
  now: () => performance.now(),
})

async function produce(): Promise<void> {
  const info = await application.info()
  const height = info.height + 1
  const timeMs = GENESIS_TIME_MS + height * chain.blockIntervalMs
  const begin = performance.now()
  const proposed = await application.prepareProposal({
    height,
    timeMs,
    proposerAddress: PROPOSER,
    parentConsensusHash: info.lastBlockId?.hash ?? chain.genesisHash,
    maxBytes: 100_000_000,
    lastCommit: info.lastSeenCommit ?? EMPTY_COMMIT,
    evidence: [],
  })
  const { txs } = proposed!
  const built = performance.now()
  note('build: receipts, header', built - appliedAt)
  note('build: all', built - begin)
  await timed('meanwhile: state batch', async () => deferred())
  if (txs.length !== offered.length) throw new Error(`${txs.length} of ${offered.length} transfers are in the block`)
  const filler = sha256(CONSENSUS_KEY)
  const header: ConsensusBlock['header'] = {
    version: { block: BLOCK_PROTOCOL, app: 0 },
    chainId: chain.chainId,
    height,
    timeMs,
    lastBlockId: info.lastBlockId ?? NIL_BLOCK_ID,
    lastCommitHash: filler,
    dataHash: filler,
    validatorsHash: filler,
    nextValidatorsHash: filler,
    consensusHash: filler,
    appHash: info.appHash,
    lastResultsHash: info.lastResultsHash,
    evidenceHash: filler,
    proposerAddress: PROPOSER,
  }
  const blockId = { hash: sha256(Buffer.from(`block ${height}`)), partSetHeader: { total: 1, hash: filler } }
  const signature = {
    flag: BLOCK_ID_FLAGS.commit,
    validatorAddress: PROPOSER,
    timestampMs: timeMs,
    signature: new Uint8Array(64).fill(1),
  }
  await timed('publish: all', () =>
    application.finalizeBlock({
      block: { header, txs, evidence: [], lastCommit: info.lastSeenCommit ?? EMPTY_COMMIT },
      blockId,
      seenCommit: { height, round: 0, blockId, signatures: [signature] },
    }),
  )
}

let thread = process.threadCpuUsage()
let all = process.cpuUsage()
let tasks = threadTimes(process.pid)
for (const transactions of blocks) {
  if (block === WARM_UP) {
    thread = process.threadCpuUsage()
    all = process.cpuUsage()
    tasks = threadTimes(process.pid)
  }
  offered = transactions
  await produce()
  block++
}
const used = process.cpuUsage(all)
const own = process.threadCpuUsage(thread)
const transfers = perBlock * blockCount
const each = ({ user, system }: { user: number; system: number }): number => (user + system) / transfers
console.log(
  `${blockCount} blocks of ${perBlock} transfers, ${senderCount} senders, ${furtherAccounts} further accounts`,
)
console.log(`CPU µs each: executor ${each(own).toFixed(1)}, other threads ${(each(used) - each(own)).toFixed(1)}`)
const threads = usedBetween(tasks, threadTimes(process.pid)).map(
  ([name, ms]) => `${name} ${((ms * 1_000) / transfers).toFixed(1)}`,
)
console.log(`by thread: ${threads.join(', ')}`)
console.log(`batch ${(batchBytes / 1e6).toFixed(2)} MB; ms a block: best, median, worst`)
for (const [phase, values] of [...times].sort()) {
  values.sort((a, b) => a - b)
  const columns = [values[0]!, percentile(values, 50), values.at(-1)!].map((value) => value.toFixed(1).padStart(8))
  console.log(`  ${phase.padEnd(26)}${columns.join('')}`)
}
console.log(`state root ${bytesToHex(state.root)}, block hash ${bytesToHex(publisher.head().hash)}`)
await state.close()
await database.close()
rmSync(directory, { recursive: true })
