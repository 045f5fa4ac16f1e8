import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type EvmEntry, NO_BLOCK_EVENTS } from '../../../../src/chain/block/entries.ts'
import { ethereumHeaderHash } from '../../../../src/chain/block/ethereumBlock.ts'
import { logsBloom } from '../../../../src/chain/block/receipt.ts'
import { decodeTransaction } from '../../../../src/chain/block/transaction.ts'
import { createBlockCache } from '../../../../src/chain/store/blockCache.ts'
import { openChainReader, writeOldestBlocks } from '../../../../src/chain/store/chainReader.ts'
import { writeBlock, writeHeadRecord } from '../../../../src/chain/store/writeBlock.ts'
import { genesisHeader } from '../../../../src/execution/genesisBlock.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { ZERO_HASH } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'

const GENESIS = genesisHeader(
  {
    genesisHash: ZERO_HASH,
    genesisTimeMs: 0,
    blockGasLimit: 30_000_000n,
    feeMarket: { elasticity: 2n, changeDenominator: 240n, minimumBaseFee: 1n, initialBaseFee: 1n },
    forks: [{ height: 0, fork: 'osaka' }],
  },
  ZERO_HASH,
)

describe('block cache', () => {
  let directory: string
  let database: Database
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-store-'))
    database = await Database.open(join(directory, 'db'))
  })
  afterEach(async () => {
    await database.close()
    rmSync(directory, { recursive: true })
  })

  /** Blocks 0 to `blocks` − 1 with so many receipts each, and so many logs without topics in each receipt. */
  async function fill(blocks: number, transactions: number, logs = 0): Promise<void> {
    const entries = Array.from({ length: transactions }, (_, index) => entry(index, logs))
    const batch = new WriteBatch()
    for (let number = 0; number < blocks; number++) {
      const header = { ...GENESIS, number }
      writeBlock(batch, {
        header,
        hash: ethereumHeaderHash(header),
        consensus: undefined,
        entries,
        events: NO_BLOCK_EVENTS,
        isIndexed: true,
      })
    }
    writeHeadRecord(batch, { height: blocks - 1, decided: undefined, resultsHash: ZERO_HASH })
    await database.write(batch, { sync: false })
  }

  it.each([
    { blocks: 40, transactions: 1, kept: 32 },
    { blocks: 8, transactions: 2_500, kept: 3 },
    { blocks: 3, transactions: 9_000, kept: 1 },
  ])('keeps $kept of $blocks blocks with $transactions transactions each', async ({ blocks, transactions, kept }) => {
    await fill(blocks, transactions)
    const cache = createBlockCache()
    const reader = openChainReader(database, cache)
    for (let height = 0; height < blocks; height++) expect(reader.receipts(height)).toHaveLength(transactions)
    expect([...cache.results.keys()]).toEqual(Array.from({ length: kept }, (_, i) => blocks - kept + i))
  })

  it('keeps few blocks with few transactions that have many logs', async () => {
    const logs = 25_000
    await fill(12, 1, logs)
    const cache = createBlockCache()
    const reader = openChainReader(database, cache)
    for (let height = 0; height < 12; height++) expect(reader.receipts(height)![0]!.logs).toHaveLength(logs)
    // 600 KB each.
    expect([...cache.results.keys()]).toEqual([9, 10, 11])
    const [receipt] = reader.receipts(11)!
    expect(receipt!.logs).toBe(receipt!.logs)
  })

  it('has no block below the base of a chain that began with a snapshot', async () => {
    await fill(6, 1)
    const cache = createBlockCache()
    const hash = openChainReader(database, cache).hash(1)!
    expect(openChainReader(database).heightOf(hash)).toBe(1)
    const batch = new WriteBatch()
    for (const height of [0, 1]) batch.del(columnKey(Column.header, heightBytes(height)))
    for (const height of [0, 1, 2, 3]) batch.del(columnKey(Column.results, heightBytes(height)))
    writeOldestBlocks(batch, { base: 2, oldestBlock: 4 })
    await database.write(batch, { sync: false })
    const reader = openChainReader(database, cache)
    expect(reader).toMatchObject({ base: 2, oldestBlock: 4, headHeight: 5 })
    expect(reader.header(1)).toBeUndefined()
    expect(reader.hash(1)).toBeUndefined()
    expect(reader.heightOf(hash)).toBeUndefined()
    expect(reader.consensusBlock(1)).toBeUndefined()
    expect(reader.blockId(1)).toBeUndefined()
    expect(reader.seenCommit(1)).toBeUndefined()
    expect(reader.receipts(1)).toBeUndefined()
    expect(reader.header(2)?.number).toBe(2)
    expect(reader.receipts(3)).toBeUndefined()
    expect(reader.receipts(4)).toHaveLength(1)
  })

  it('has every block up to the head: a missing part is damage', async () => {
    await fill(4, 1)
    const damaged = expect.objectContaining({ name: 'DatabaseError', code: 'corrupt' })
    expect(openChainReader(database).header(4)).toBeUndefined()
    expect(openChainReader(database).header(-1)).toBeUndefined()
    expect(openChainReader(database).consensusBlock(0)).toBeUndefined()
    const batch = new WriteBatch()
    batch.del(columnKey(Column.header, heightBytes(2)))
    batch.del(columnKey(Column.results, heightBytes(3)))
    await database.write(batch, { sync: false })
    expect(() => openChainReader(database).header(2)).toThrow(damaged)
    expect(() => openChainReader(database).receipts(3)).toThrow(damaged)
    // `fill` stores none.
    expect(() => openChainReader(database).consensusBlock(1)).toThrow(damaged)
    expect(openChainReader(database).receipts(1)).toHaveLength(1)
  })
})

const raw = hexToBytes(
  '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
)

function entry(index: number, logs: number): EvmEntry {
  return {
    kind: 'evm',
    index,
    signed: { transaction: decodeTransaction(raw), sender: new Uint8Array(20) },
    receipt: {
      type: 0,
      status: 1,
      gasUsed: 21_000n,
      cumulativeGasUsed: 0n,
      effectiveGasPrice: 1n,
      logs: Array.from({ length: logs }, () => ({ address: new Uint8Array(20), topics: [], data: new Uint8Array() })),
      logsBloom: logsBloom([]),
      contractAddress: undefined,
      blobGasUsed: undefined,
      blobGasPrice: undefined,
    },
    transfers: [],
    events: [],
  }
}
