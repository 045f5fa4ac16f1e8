/**
 * What a transfer costs, step by step, from the bytes of its request to the database: the steps of socket, pool and executor thread on one
 * thread, without sockets, messages between threads and consensus. Prints and asserts nothing.
 *
 *   node bench/transferSteps.ts [transfers in a block] [senders] [blocks] [further accounts in the state] [1: INDEX_TRACES]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeTransaction } from '../src/chain/block/transaction.ts'
import { BLOCK_PROTOCOL, type ConsensusBlock } from '../src/chain/comet/block.ts'
import { BLOCK_ID_FLAGS, EMPTY_COMMIT, NIL_BLOCK_ID } from '../src/chain/comet/types.ts'
import { createGenesis } from '../src/chain/genesis/createGenesis.ts'
import { chainConfigOf } from '../src/chain/genesis/genesis.ts'
import { openChainReader } from '../src/chain/store/chainReader.ts'
import { createReferenceEngine } from '../src/evm/engines/reference/referenceEngine.ts'
import { createApplication } from '../src/execution/application.ts'
import { MODULE_HOOKS } from '../src/execution/blockHooks.ts'
import { genesisStateOf } from '../src/execution/genesisBlock.ts'
import { accountState } from '../src/execution/headEvent.ts'
import { openChain } from '../src/execution/openChain.ts'
import { createPublisher } from '../src/execution/publisher.ts'
import { packTransactions, unpackTransactions } from '../src/mempool/packedMessages.ts'
import { TransactionPool } from '../src/mempool/pool.ts'
import { toPooledTransaction } from '../src/mempool/poolEntry.ts'
import type { PooledTransaction, PoolHeadUpdate } from '../src/mempool/types.ts'
import { createTransactionDecoder } from '../src/modules/tx/transactionDecoder.ts'
import { precompileTable } from '../src/precompiles/registry.ts'
import { bytesToHex } from '../src/primitives/bytes.ts'
import { keccak256, sha256 } from '../src/primitives/hash.ts'
import { parseRequest } from '../src/rpc/jsonrpc/message.ts'
import { readData } from '../src/rpc/params/values.ts'
import { readEvmTransaction } from '../src/rpc/submit/readEvmTransaction.ts'
import { StateStore } from '../src/state/stateStore.ts'
import { Database } from '../src/storage/database.ts'
import { requestBody } from './load/rpc.ts'
import { accountOf, CHAIN_ID, FUNDER, GWEI, sign } from './load/sign.ts'
import { threadTimes, usedBetween } from './measure/processUsage.ts'
import { createStepTimes, threadMicroseconds } from './measure/stepTimes.ts'

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
/** The bodies of `eth_sendRawTransaction`, by block. */
const blocks = Array.from({ length: blockCount + WARM_UP }, (_, block) =>
  Array.from({ length: perBlock }, (__, at): string => {
    const index = block * perBlock + at
    const { raw } = sign(senders[index % senderCount]!, {
      nonce: BigInt(Math.floor(index / senderCount)),
      to: recipients[index % RECIPIENTS]!,
      value: 1n,
      maxFeePerGas: 500n * GWEI,
    })
    return requestBody(index, 'eth_sendRawTransaction', [raw])
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

const steps = createStepTimes()
const STEP = {
  read: 'reading the request',
  decode: 'decoding, hash, checks without state',
  recover: 'recovering the sender',
  hand: 'packing for the pool thread and back',
  admit: 'admission to the pool',
  select: 'selection, packing for the executor',
  build: 'execution',
  root: 'state root and history',
  header: 'receipts, header',
  stateBatch: "the state's batch",
  publish: 'block, receipts, indexes',
  write: "LevelDB's write, in this thread",
  follow: 'the pool follows the block',
} as const

let deferred = (): void => undefined
let candidates: Iterator<PooledTransaction, void, void> | undefined
let update: PoolHeadUpdate | undefined
let batchBytes = 0
let appliedAt = 0
const publisher = createPublisher({
  database: {
    get: (key) => database.get(key),
    bufferedBytes: 0,
    startBuffering: () => undefined,
    stopBuffering: async () => undefined,
    startFlush: async () => ({ done: Promise.resolve() }),
    writeBehind: async () => {
      throw new Error('this chain writes before it continues')
    },
    write: (batch, options) => {
      batchBytes = batch.bytes
      return steps.within(STEP.publish, STEP.write, () => database.write(batch, options))
    },
  },
  maintain: () => undefined,
  isIndexed: true,
  reader: { getCode: (hash) => state.reader().getCode(hash) },
  head: await openChain(database, state, chain, () => ({
    ...genesisStateOf(genesis),
    accounts: [...genesisStateOf(genesis).accounts, ...funded],
  })),
  onPublished: (event) => {
    update = event.update
  },
  onWritten: () => undefined,
  now: () => performance.now(),
  later: () => undefined,
})
const readState = () => state.reader()
const pool = new TransactionPool({
  chain,
  head: {
    height: 0,
    baseFeePerGas: chain.feeMarket.initialBaseFee,
    minimumBaseFee: chain.feeMarket.minimumBaseFee,
    gasLimit: chain.blockGasLimit,
  },
  readAccount: (address) => accountState(readState().getAccount(address), readState()),
  authoritiesOf: () => [],
  checkNativeState: () => undefined,
  nativeGas: ({ intrinsicGas }) => intrinsicGas,
  now: () => performance.now(),
})

const decoder = createTransactionDecoder(chain)

/** Does what socket and pool thread do with the requests, each step for all requests. */
function admit(bodies: readonly string[]): void {
  const raws = steps.run(STEP.read, () =>
    bodies.map((body) => {
      const request = parseRequest(body, 1)
      if (!('messages' in request)) throw request
      const [message] = request.messages
      if (message?.kind !== 'call') throw new Error('no call')
      return readData((message.params as readonly unknown[])[0])
    }),
  )
  const transactions = steps.run(STEP.decode, () =>
    raws.map((raw) => {
      const transaction = readEvmTransaction(raw, { feeCapAcoin: 0n, acceptsUnprotected: false })
      if ('reason' in transaction) throw new Error(transaction.reason)
      return transaction
    }),
  )
  const known = steps.run(STEP.recover, () =>
    transactions.map((transaction) => {
      const recovery = decoder.recoverSender(transaction)
      if ('reason' in recovery) throw new Error(recovery.reason)
      return { raw: transaction.raw, hash: transaction.hash, sender: recovery.sender }
    }),
  )
  const handed = steps.run(STEP.hand, () => unpackTransactions(packTransactions(known)))
  steps.run(STEP.admit, () => {
    for (const { raw, hash, sender } of handed) {
      const admission = pool.add(decodeTransaction(raw, hash), sender)
      if (!admission.accepted) throw new Error(admission.reason)
    }
  })
}

const application = createApplication({
  chain,
  state: {
    reader: () => state.reader(),
    apply: async (changes, height) => {
      const result = await steps.within(STEP.build, STEP.root, () => state.apply(changes, height))
      appliedAt = threadMicroseconds()
      return result
    },
  },
  onUnforeseen: ({ error }) => {
    throw error
  },
  onStopped: ({ place }) => {
    throw new Error(`stopped: ${place}`)
  },
  chainReader: () => openChainReader(database),
  engine: createReferenceEngine(),
  precompiles: precompileTable(chain.registeredPrecompiles),
  candidates: {
    candidates: ({ isFirst, ...request }) =>
      steps.within(STEP.build, STEP.select, async () => {
        if (isFirst || candidates === undefined) candidates = pool.candidates(request).map(toPooledTransaction)
        const answer: PooledTransaction[] = []
        while (answer.length < CANDIDATES_PER_ANSWER) {
          const next = candidates.next()
          if (next.done === true) break
          answer.push(next.value)
        }
        return unpackTransactions(packTransactions(answer))
      }),
  },
  hooks: MODULE_HOOKS,
  isCallIndexed: indexTraces === 1,
  head: publisher.head,
  flush: publisher.flush,
  written: publisher.written,
  durableHeight: publisher.durableHeight,
  publish: publisher.publish,
  onExecuted: () => undefined,
  defer: (work) => {
    deferred = work
  },
  now: () => performance.now(),
})

/** No block is cut short by it. */
const BUILD_BUDGET_MS = 60_000

async function produce(): Promise<void> {
  const info = await application.info()
  const height = info.height + 1
  const timeMs = GENESIS_TIME_MS + height * chain.blockIntervalMs
  const proposed = await steps.run(STEP.build, () =>
    application.prepareProposal(
      {
        height,
        timeMs,
        proposerAddress: PROPOSER,
        parentConsensusHash: info.lastBlockId?.hash ?? chain.genesisHash,
        maxBytes: 100_000_000,
        lastCommit: info.lastSeenCommit ?? EMPTY_COMMIT,
        evidence: [],
      },
      BUILD_BUDGET_MS,
    ),
  )
  const { txs } = proposed!
  steps.divide(STEP.build, STEP.header, appliedAt)
  steps.run(STEP.stateBatch, () => deferred())
  if (txs.length !== perBlock) throw new Error(`${txs.length} of ${perBlock} transfers are in the block`)
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
  await steps.run(STEP.publish, () =>
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
for (const [block, bodies] of blocks.entries()) {
  if (block === WARM_UP) {
    steps.reset()
    thread = process.threadCpuUsage()
    all = process.cpuUsage()
    tasks = threadTimes(process.pid)
  }
  admit(bodies)
  await produce()
  steps.run(STEP.follow, () => pool.headChanged(update!))
}
const used = process.cpuUsage(all)
const own = process.threadCpuUsage(thread)
const transfers = perBlock * blockCount
const each = ({ user, system }: { user: number; system: number }): number => (user + system) / transfers
console.log(
  `${blockCount} blocks of ${perBlock} transfers, ${senderCount} senders, ${furtherAccounts} further accounts; ` +
    `a block's batch has ${(batchBytes / 1e6).toFixed(2)} MB`,
)
console.log('processor time of a transfer in µs, and its share:')
const print = (name: string, microseconds: number): void =>
  console.log(
    `  ${name.padEnd(38)}${microseconds.toFixed(1).padStart(6)}${((microseconds / each(used)) * 100).toFixed(0).padStart(5)} %`,
  )
for (const [step, microseconds] of steps.entries) print(step, microseconds / transfers)
const counted = [...steps.entries.values()].reduce((sum, microseconds) => sum + microseconds, 0) / transfers
print('else in this thread', each(own) - counted)
for (const [name, ms] of usedBetween(tasks, threadTimes(process.pid))) {
  if (name !== 'node-MainThread') print(name, (ms * 1_000) / transfers)
}
print('all', each(used))
console.log(`state root ${bytesToHex(state.root)}, block hash ${bytesToHex(publisher.head().hash)}`)
await state.close()
await database.close()
rmSync(directory, { recursive: true })
