import { type EthereumHeader, encodeEthereumBlock, ethereumHeaderHash } from '../../../src/chain/block/ethereumBlock.ts'
import { orderedTrieRoot } from '../../../src/chain/block/orderedTrieRoot.ts'
import { encodeReceipt, logsBloom, type Receipt } from '../../../src/chain/block/receipt.ts'
import { decodeTransaction, type SignedTransaction } from '../../../src/chain/block/transaction.ts'
import type { ChainConfig } from '../../../src/chain/genesis/chainConfig.ts'
import type { RpcLimits } from '../../../src/config/config.ts'
import { ExecutionTimeout } from '../../../src/evm/engine.ts'
import type { PrecompileTable } from '../../../src/evm/precompile.ts'
import { createPrecompileGas } from '../../../src/evm/precompileGas.ts'
import { type BlockSeed, blockContextOf, rulesAt, seedAfter } from '../../../src/execution/blockContext.ts'
import { MODULE_HOOKS } from '../../../src/execution/blockHooks.ts'
import { type Address, ZERO_ADDRESS } from '../../../src/primitives/address.ts'
import { bigIntToBytes, EMPTY_BYTES, hexToBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, sha256, ZERO_HASH } from '../../../src/primitives/hash.ts'
import { OWN_SCOPE } from '../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../src/rpc/jsonrpc/method.ts'
import type { StateChanges } from '../../../src/state/changes.ts'
import { Journal } from '../../../src/state/journal.ts'
import type { NodeView } from '../../../src/state/view.ts'
import { productionEngine } from '../evm/productionEngine.ts'
import { MemoryStateReader } from '../state/memoryReader.ts'
import { executeTransactions } from './executeTransactions.ts'
import { type MemoryBlock, memoryChainReader } from './memoryChain.ts'
import { createMemoryPool, type MemoryPool } from './memoryPool.ts'
import { stateAfter, stateRootOf } from './memoryState.ts'
import { memoryView, type Pruning } from './memoryView.ts'
import { withSubmissions } from './withSubmissions.ts'

export const TEST_CHAIN: ChainConfig = {
  chainId: 'coin_7628-1',
  evmChainId: 7628n,
  genesisHash: sha256(new TextEncoder().encode('genesis')),
  genesisTimeMs: 1_700_000_000_000,
  forks: [{ height: 0, fork: 'osaka' }],
  blockGasLimit: 30_000_000n,
  precompileGasLimit: 2_000_000n,
  allowsUnprotected: false,
  maxBlockBytes: 2_000_000,
  blockIntervalMs: 400,
  timing: {
    proposeTimeoutMs: 700,
    proposeTimeoutDeltaMs: 200,
    voteTimeoutMs: 200,
    voteTimeoutDeltaMs: 100,
    precisionMs: 500,
    messageDelayMs: 3_000,
  },
  evidence: { maxAgeBlocks: 1_000, maxAgeMs: 400_000, maxBytes: 100_000 },
  feeMarket: {
    elasticity: 2n,
    changeDenominator: 240n,
    minimumBaseFee: 1_000_000_000n,
    initialBaseFee: 1_000_000_000n,
  },
  validatorRanksHeight: 0,
  registeredPrecompiles: [],
}

export const TEST_LIMITS: RpcLimits = {
  callGas: 50_000_000n,
  callTimeoutMs: 5_000,
  logBlockRange: 10_000,
  logResults: 10_000,
  feeCapAcoin: 10n ** 18n,
  acceptsUnprotected: false,
  batchItems: 1_000,
  responseBytes: 25_000_000,
  requestBytes: 5 * 2 ** 20,
}

interface GenesisAccount {
  readonly address: Address
  readonly nonce?: bigint
  readonly balance?: bigint
  readonly code?: Uint8Array
  /** slot number to value */
  readonly storage?: Readonly<Record<number, bigint>>
}

interface MemoryNodeOptions {
  readonly accounts?: readonly GenesisAccount[]
  readonly chain?: Partial<ChainConfig>
  readonly precompiles?: PrecompileTable
}

/** A node in one thread without consensus or disk: blocks are made on demand, by the real transition and journal. */
export interface MemoryNode {
  readonly chain: ChainConfig
  readonly pool: MemoryPool
  readonly blocks: readonly MemoryBlock[]
  /** Blocks and state as of now; `oldestState` and `oldestBlock` play a pruned node. */
  view(pruning?: Pruning): NodeView
  /** Makes a block of these transactions, or of the pool's. */
  produce(transactions?: readonly SignedTransaction[], miner?: Address): Promise<MemoryBlock>
  /** A context on the present view. */
  context(overrides?: Partial<RpcContext>): RpcContext
}

export async function createMemoryNode(options: MemoryNodeOptions = {}): Promise<MemoryNode> {
  const chain: ChainConfig = { ...TEST_CHAIN, ...options.chain }
  const precompiles: PrecompileTable = options.precompiles ?? new Map()
  const engine = productionEngine
  const pool = createMemoryPool()
  const blocks: MemoryBlock[] = []
  const states: MemoryStateReader[] = []
  const waiting = new Set<() => void>()

  const append = async (seed: BlockSeed, executed: Executed): Promise<MemoryBlock> => {
    const state = stateAfter([...blocks.map((block) => block.changes), executed.changes])
    const header = headerOf(seed, executed, await stateRootOf(state))
    const { transactions, receipts, changes } = executed
    const encoded = encodeEthereumBlock(header, transactions)
    const block = { header, hash: ethereumHeaderHash(header), transactions, receipts, encoded, changes }
    blocks.push(block)
    states.push(state)
    for (const wake of waiting) wake()
    return block
  }

  const node: MemoryNode = {
    chain,
    pool,
    blocks,
    view: (pruning) => memoryView([...blocks], states, pruning),
    async produce(given, miner = ZERO_ADDRESS) {
      const transactions = given ?? pooledTransactions(pool)
      for (const { transaction } of transactions) pool.remove(transaction.hash)
      const parent = blocks.at(-1)!
      const seed = seedAfter(
        {
          parent: parent.header,
          parentHash: parent.hash,
          parentConsensusHash: chain.genesisHash,
          timeMs: chain.genesisTimeMs + blocks.length * chain.blockIntervalMs,
          miner,
        },
        chain,
      )
      const rules = rulesAt(chain, seed.number)
      const world = new Journal(states.at(-1)!)
      const block = blockContextOf(seed, seed.timestamp * 1000, memoryChainReader(blocks), rules)
      const precompileGas = createPrecompileGas(chain.precompileGasLimit)
      const receipts = await executeTransactions(
        { world, block, rules, engine, precompiles, precompileGas },
        transactions,
      )
      return append(seed, { transactions, receipts, changes: world.changes() })
    },
    context: (overrides = {}) =>
      withSubmissions({
        view: node.view(),
        scope: OWN_SCOPE,
        txs: pool,
        chain,
        limits: TEST_LIMITS,
        clientVersion: 'coind/v0.0.0-test',
        retention: { states: undefined, bodies: undefined },
        peerCount: () => 0,
        syncing: () => undefined,
        nextView: (timeoutMs) =>
          new Promise((resolve) => {
            const finish = (view: NodeView | undefined): void => {
              clearTimeout(timer)
              waiting.delete(wake)
              resolve(view)
            }
            const wake = (): void => finish(node.view())
            const timer = setTimeout(() => finish(undefined), timeoutMs)
            waiting.add(wake)
          }),
        now: () => Date.now(),
        monotonicMs: () => performance.now(),
        execution: {
          engine,
          precompiles,
          hooks: { ...MODULE_HOOKS, begin: () => undefined, end: () => [] },
          yieldUntil: (deadlineMs) => async () => {
            if (performance.now() > deadlineMs) throw new ExecutionTimeout('deadline')
          },
        },
        ...overrides,
      }),
  }

  const genesis = genesisChanges(options.accounts ?? [])
  await append(genesisSeed(chain), { transactions: [], receipts: [], changes: genesis })
  return node
}

interface Executed {
  readonly transactions: readonly SignedTransaction[]
  readonly receipts: readonly Receipt[]
  readonly changes: StateChanges
}

function pooledTransactions(pool: MemoryPool): SignedTransaction[] {
  return pool.drain().map(({ raw, sender }) => ({ transaction: decodeTransaction(raw), sender }))
}

function genesisChanges(accounts: readonly GenesisAccount[]): StateChanges {
  const world = new Journal(new MemoryStateReader())
  for (const { address, nonce = 0n, balance = 0n, code, storage = {} } of accounts) {
    world.setBalance(address, balance)
    world.setNonce(address, nonce)
    if (code !== undefined) world.setCode(address, code)
    for (const [slot, value] of Object.entries(storage)) {
      world.setStorage(address, bigIntToBytes(BigInt(slot), 32), bigIntToBytes(value, 32))
    }
  }
  return world.changes()
}

function genesisSeed(chain: ChainConfig): BlockSeed {
  return {
    parentHash: ZERO_HASH,
    number: 0,
    timestamp: Math.floor(chain.genesisTimeMs / 1000),
    miner: ZERO_ADDRESS,
    gasLimit: chain.blockGasLimit,
    baseFeePerGas: chain.feeMarket.initialBaseFee,
    mixHash: ZERO_HASH,
    parentBeaconBlockRoot: chain.genesisHash,
    difficulty: 0n,
    excessBlobGas: 0n,
  }
}

function headerOf(seed: BlockSeed, { transactions, receipts }: Executed, stateRoot: Uint8Array): EthereumHeader {
  return {
    ...seed,
    sha3Uncles: EMPTY_UNCLES_HASH,
    stateRoot,
    transactionsRoot: orderedTrieRoot(transactions.map(({ transaction }) => transaction.raw)),
    receiptsRoot: orderedTrieRoot(receipts.map(encodeReceipt)),
    logsBloom: logsBloom(receipts.flatMap((receipt) => receipt.logs)),
    gasUsed: receipts.at(-1)?.cumulativeGasUsed ?? 0n,
    extraData: hexToBytes('0x636f696e64'),
    nonce: new Uint8Array(8),
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: 0n,
    requestsHash: sha256(EMPTY_BYTES),
  }
}
