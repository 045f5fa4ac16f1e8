/**
 * Measures the permanent disk space of blocks with all their indexes, in LevelDB and after the move to a segment. It measures empty
 * blocks with few and many validators, transfers, and transfers of the native token's ERC-20 contract. The state and its history are not counted.
 * Prints bytes by column, after LevelDB's compaction.
 *
 *   node bench/disk.ts [empty blocks] [blocks with transactions] [transactions in each]
 */
import { readAllHashFiles } from '../src/chain/indexes/hashFileList.ts'
import { completeHashFiles } from '../src/chain/indexes/makeHashFiles.ts'
import { moveBlocks, readMoved, writeTermsOf } from '../src/chain/segments/moveBlocks.ts'
import { segmentEntry, storedBlock, writeSegment } from '../src/chain/segments/segments.ts'
import { termsEntry } from '../src/chain/segments/segmentTerms.ts'
import { openChainReader } from '../src/chain/store/chainReader.ts'
import { advanceState } from '../src/consensus/consensusState.ts'
import { hexToBytes } from '../src/primitives/bytes.ts'
import { keccak256, ZERO_HASH } from '../src/primitives/hash.ts'
import { WriteBatch } from '../src/storage/batch.ts'
import type { Column } from '../src/storage/columns.ts'
import { Database } from '../src/storage/database.ts'
import { columnBytes } from '../src/storage/diskBytes.ts'
import {
  type NetworkNode,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
} from '../test/support/execution/testNetwork.ts'
import { NATIVE_TOKEN, transferData } from './contracts/token.ts'
import { accountOf, GWEI, sign } from './load/sign.ts'

const [emptyBlocks = 2_048, fullBlocks = 64, perBlock = 100] = process.argv.slice(2).map(Number)
const SENDERS = 50
const RECIPIENTS = 5_000
/** Columns that retain blocks; the rest is state and its history, and sets of validators, which many blocks share. */
const BLOCK_COLUMNS = [
  'header',
  'blockHash',
  'consensusBlock',
  'consensusHash',
  'results',
  'transaction',
  'nativeTransaction',
  'logTerm',
  'eventTerm',
] as const satisfies readonly (keyof typeof Column)[]

const senders = Array.from({ length: SENDERS }, (_, index) => accountOf(`disk ${index}`))
const recipient = (index: number) => keccak256(Buffer.from(`to ${(index * 7919) % RECIPIENTS}`)).slice(12)

type Transactions = (block: number) => readonly Uint8Array[]

/** Makes transactions of many accounts in turns, to many others, of amounts as people send them. */
function transactions(fieldsOf: (to: Uint8Array, value: bigint) => Parameters<typeof sign>[1]): Transactions {
  return (block) =>
    Array.from({ length: perBlock }, (_, position) => {
      const index = block * perBlock + position
      const fields = fieldsOf(recipient(index), BigInt(1 + ((index * 31) % 997)) * 10n ** 15n)
      const nonce = BigInt(Math.floor(index / SENDERS))
      return hexToBytes(sign(senders[index % SENDERS]!, { nonce, maxFeePerGas: 500n * GWEI, ...fields }).raw)
    })
}

const CASES: readonly { name: string; unit: string; validators: number; blocks: number; raws: Transactions }[] = [
  { name: 'empty blocks, 1 validator', unit: 'block', validators: 1, blocks: emptyBlocks, raws: () => [] },
  { name: 'empty blocks, 50 validators', unit: 'block', validators: 50, blocks: emptyBlocks / 2, raws: () => [] },
  {
    name: `transfers, ${perBlock} per block`,
    unit: 'transfer',
    validators: 1,
    blocks: fullBlocks,
    raws: transactions((to, value) => ({ to, value })),
  },
  {
    name: `ERC-20 transfers, ${perBlock} per block`,
    unit: 'transfer',
    validators: 1,
    blocks: fullBlocks,
    raws: transactions((to, value) => ({ to: NATIVE_TOKEN, data: transferData(to, value), gasLimit: 100_000n })),
  },
]

for (const { name, unit, validators, blocks, raws } of CASES) {
  const genesis = networkGenesis(validators, {
    fundedAccounts: senders.map(({ address }) => ({ address, balanceAcoin: 10n ** 24n })),
  })
  const node = await openNetworkNode(genesis)
  await produce(node, blocks, raws)
  const location = node.location
  await node.executor.close()
  const units = raws(0).length === 0 ? blocks : blocks * perBlock
  const database = await Database.open(location)
  const before = await measure(database)
  const began = performance.now()
  const { segment, terms, hashes } = await moveAll(database, blocks)
  const milliseconds = performance.now() - began
  const after = await measure(database)
  console.log(`\n${name}: bytes a ${unit}${' '.repeat(20)}in LevelDB     moved`)
  let total = { before: 0, after: 0 }
  for (const column of BLOCK_COLUMNS) {
    const sizes = { before: before.get(column)! / units, after: after.get(column)! / units }
    total = { before: total.before + sizes.before, after: total.after + sizes.after }
    if (sizes.before + sizes.after > 0.05) show(column, sizes.before, sizes.after)
  }
  show('segment', 0, segment / units)
  show('terms of the segment', 0, terms / units)
  show('hashes of the segment', 0, hashes / units)
  show('all', total.before, total.after + (segment + terms + hashes) / units)
  console.log(`  moved in ${(milliseconds / blocks).toFixed(2)} ms per block`)
  await database.close()
  await node.close()
}

async function produce(node: NetworkNode, blocks: number, raws: Transactions): Promise<void> {
  let state = await node.state()
  for (let block = 0; block < blocks; block++) {
    const wanted = raws(block)
    const decided = await proposeBlock(node, state, { raws: wanted })
    if (decided.block.txs.length !== wanted.length) throw new Error(`only ${decided.block.txs.length} transactions fit`)
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
  }
}

async function measure(database: Database): Promise<ReadonlyMap<string, number>> {
  // Behind all columns: a table's filters, which lie behind its last entry, would be counted for the last column.
  const last = new WriteBatch()
  last.put(Uint8Array.of(0xf0), Uint8Array.of(0))
  await database.write(last, { sync: false })
  await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
  return columnBytes(database)
}

/** Moves all blocks except the newest to one segment; returns the bytes of its files. */
async function moveAll(
  database: Database,
  blocks: number,
): Promise<{ segment: number; terms: number; hashes: number }> {
  const segment = await writeSegment(
    database.location,
    {
      first: 0,
      last: blocks - 1,
      genesisHash: ZERO_HASH,
      lastCommit: openChainReader(database).seenCommit(blocks - 1)!,
      read: (height) => storedBlock(database, height),
    },
    async () => undefined,
  )
  const list = new WriteBatch()
  list.put(...segmentEntry(segment))
  const terms = await writeTermsOf(database, segment, async () => undefined)
  list.put(...termsEntry(terms))
  await database.write(list, { sync: true })
  await completeHashFiles(database, async () => undefined)
  while (readMoved(database) < blocks) {
    const batch = new WriteBatch()
    moveBlocks(database, batch, 10_000)
    await database.write(batch, { sync: false })
  }
  const hashes = readAllHashFiles(database).reduce((sum, { bytes }) => sum + bytes, 0)
  return { segment: segment.bytes, terms: terms.bytes, hashes }
}

function show(column: string, before: number, after: number): void {
  console.log(`  ${column.padEnd(30)}${before.toFixed(1).padStart(22)}${after.toFixed(1).padStart(10)}`)
}
