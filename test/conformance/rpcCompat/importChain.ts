import { type EthereumHeader, encodeEthereumBlock, ethereumHeaderHash } from '../../../src/chain/block/ethereumBlock.ts'
import { orderedTrieRoot } from '../../../src/chain/block/orderedTrieRoot.ts'
import { encodeReceipt, type Receipt } from '../../../src/chain/block/receipt.ts'
import type { SignedTransaction } from '../../../src/chain/block/transaction.ts'
import { recoverSender } from '../../../src/chain/block/transactionSender.ts'
import type { ChainConfig } from '../../../src/chain/genesis/chainConfig.ts'
import { type Hardfork, includesFork } from '../../../src/chain/genesis/hardfork.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import { applyBlockStart } from '../../../src/evm/systemCalls.ts'
import { blockContextOf, rulesAt } from '../../../src/execution/blockContext.ts'
import { bytesToHex, EMPTY_BYTES, hexToBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH } from '../../../src/primitives/hash.ts'
import { Journal } from '../../../src/state/journal.ts'
import { type ExecutionContext, executeTransactions } from '../../support/rpc/executeTransactions.ts'
import { type MemoryBlock, memoryChainReader } from '../../support/rpc/memoryChain.ts'
import { stateAfter, stateRootOf } from '../../support/rpc/memoryState.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'
import type { DecodedBlock } from './blockDecoding.ts'
import type { GenesisFile } from './genesisFile.ts'

const ETHER = 10n ** 18n
const GWEI = 10n ** 9n
const SYSTEM_ADDRESS = hexToBytes('0xfffffffffffffffffffffffffffffffffffffffe')
/** EIP-7002 and EIP-7251: called at the end of each block from Prague. */
const REQUEST_CONTRACTS = [
  hexToBytes('0x00000961ef480eb55e80d19ad83579a64c007002'),
  hexToBytes('0x0000bbddc7ce488642fb579f8b00f3a590007251'),
]

interface ImportedChain {
  readonly blocks: readonly MemoryBlock[]
  /** by height */
  readonly states: readonly MemoryStateReader[]
}

/**
 * Executes an Ethereum chain from its genesis. State roots, receipts roots and gas are checked against the headers; seals,
 * difficulties and timestamps are not.
 * @throws Error at the first block whose outcome differs from its header
 */
export async function importChain(
  genesis: GenesisFile,
  decoded: readonly DecodedBlock[],
  chain: ChainConfig,
  engine: Engine,
): Promise<ImportedChain> {
  const first = await genesisBlock(genesis)
  const blocks: MemoryBlock[] = [first]
  const states = [stateAfter([first.changes])]
  for (const block of decoded) {
    const executed = await executeBlock(block, blocks, states.at(-1)!, chain, engine)
    blocks.push(executed)
    states.push(stateAfter(blocks.map(({ changes }) => changes)))
    const stateRoot = await stateRootOf(states.at(-1)!)
    check(block, 'state root', bytesToHex(stateRoot), bytesToHex(block.header.stateRoot))
  }
  return { blocks, states }
}

async function executeBlock(
  block: DecodedBlock,
  ancestors: readonly MemoryBlock[],
  parentState: MemoryStateReader,
  chain: ChainConfig,
  engine: Engine,
): Promise<MemoryBlock> {
  const { header } = block
  const rules = rulesAt(chain, header.number)
  const world = new Journal(parentState)
  const context: ExecutionContext = {
    world,
    engine,
    rules,
    block: blockContextOf(header, header.timestamp * 1000, memoryChainReader(ancestors), rules),
    precompiles: new Map(),
    acceptsBlobs: true,
  }
  const { parentHash, parentBeaconBlockRoot } = header
  await applyBlockStart({ ...context, parentHash, parentBeaconBlockRoot })
  const transactions = block.transactions.map((transaction): SignedTransaction => {
    const recovery = recoverSender(transaction, { chainId: chain.evmChainId, allowUnprotected: true })
    if ('reason' in recovery) throw new Error(recovery.reason)
    return { transaction, sender: recovery.sender }
  })
  const changesSoFar = ancestors.map(({ changes }) => changes)
  const receipts = await executeTransactions(context, transactions, async () =>
    stateRootOf(stateAfter([...changesSoFar, world.changes()])),
  )
  if (includesFork(rules.fork, 'prague')) await collectRequests(context)
  payRewards(block, rules.fork, world)
  check(block, 'receipts root', bytesToHex(receiptsRoot(receipts)), bytesToHex(header.receiptsRoot))
  check(block, 'gas', receipts.at(-1)?.cumulativeGasUsed ?? 0n, header.gasUsed)
  const { encoded } = block
  return { header, hash: ethereumHeaderHash(header), transactions, receipts, encoded, changes: world.changes() }
}

function receiptsRoot(receipts: readonly Receipt[]): Uint8Array {
  return orderedTrieRoot(receipts.map(encodeReceipt))
}

/** EIP-7002 and EIP-7251: the calls that end a block. */
export async function collectRequests({
  world,
  engine,
  rules,
  block,
  precompiles,
}: Pick<ExecutionContext, 'world' | 'engine' | 'rules' | 'block' | 'precompiles'>): Promise<void> {
  for (const to of REQUEST_CONTRACTS) {
    if (world.getCode(to).length === 0) continue
    world.beginTransaction()
    await engine.run(
      { caller: SYSTEM_ADDRESS, to, value: 0n, data: EMPTY_BYTES, gasLimit: 30_000_000n },
      { world, block, rules, precompiles, transaction: { origin: SYSTEM_ADDRESS, gasPrice: 0n, blobHashes: [] } },
    )
    world.endTransaction({ clearEmpty: true })
  }
}

/** Proof-of-work rewards (EIP-649, EIP-1234) before the merge, withdrawals (EIP-4895) after it. */
function payRewards({ header, uncles, withdrawals = [] }: DecodedBlock, fork: Hardfork, world: Journal): void {
  world.beginTransaction()
  if (!includesFork(fork, 'paris')) {
    const reward = ETHER * (includesFork(fork, 'constantinople') ? 2n : includesFork(fork, 'byzantium') ? 3n : 5n)
    for (const uncle of uncles) {
      world.addBalance(uncle.miner, (BigInt(uncle.number + 8 - header.number) * reward) / 8n)
    }
    world.addBalance(header.miner, reward + (BigInt(uncles.length) * reward) / 32n)
  }
  for (const { address, amountGwei } of withdrawals) world.addBalance(address, amountGwei * GWEI)
  world.endTransaction({ clearEmpty: includesFork(fork, 'spuriousDragon') })
}

async function genesisBlock(genesis: GenesisFile): Promise<MemoryBlock> {
  const world = new Journal(new MemoryStateReader())
  for (const [hex, { balance, nonce, code, storage }] of Object.entries(genesis.alloc)) {
    const address = hexToBytes(hex)
    world.setBalance(address, BigInt(balance))
    if (nonce !== undefined) world.setNonce(address, BigInt(nonce))
    if (code !== undefined) world.setCode(address, hexToBytes(code))
    for (const [slot, value] of Object.entries(storage ?? {})) {
      world.setStorage(address, hexToBytes(slot), hexToBytes(value))
    }
  }
  const changes = world.changes()
  const header: EthereumHeader = {
    parentHash: hexToBytes(genesis.parentHash),
    sha3Uncles: EMPTY_UNCLES_HASH,
    miner: hexToBytes(genesis.coinbase),
    stateRoot: await stateRootOf(stateAfter([changes])),
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: new Uint8Array(256),
    difficulty: BigInt(genesis.difficulty),
    number: 0,
    gasLimit: BigInt(genesis.gasLimit),
    gasUsed: 0n,
    timestamp: Number(genesis.timestamp),
    extraData: hexToBytes(genesis.extraData),
    mixHash: hexToBytes(genesis.mixHash),
    nonce: new Uint8Array(8),
    baseFeePerGas: undefined,
    withdrawalsRoot: undefined,
    blobGasUsed: undefined,
    excessBlobGas: undefined,
    parentBeaconBlockRoot: undefined,
    requestsHash: undefined,
  }
  const encoded = encodeEthereumBlock(header, [])
  return { header, hash: ethereumHeaderHash(header), transactions: [], receipts: [], encoded, changes }
}

function check(block: DecodedBlock, what: string, actual: unknown, expected: unknown): void {
  if (actual === expected) return
  throw new Error(`block ${block.header.number}: the ${what} is ${actual}, its header says ${expected}`)
}
