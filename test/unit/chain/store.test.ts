import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { genesisHeader } from '../../../src/app/genesisBlock.ts'
import type { StoredExecution } from '../../../src/chain/blockRecord.ts'
import { logsBloom } from '../../../src/chain/bloom.ts'
import { ethereumHeaderHash } from '../../../src/chain/ethereumHeaderCodec.ts'
import { writeHead } from '../../../src/chain/headRecord.ts'
import { createBlockCache, openChainReader } from '../../../src/chain/store.ts'
import { writeBlock } from '../../../src/chain/writeBlock.ts'
import { ZERO_HASH } from '../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database } from '../../../src/storage/database.ts'

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

  /** Blocks 0 to `blocks` − 1 with so many receipts each. */
  async function fill(blocks: number, transactions: number): Promise<void> {
    const executed = Array.from({ length: transactions }, (_, position) => execution(position))
    const batch = new WriteBatch()
    for (let number = 0; number < blocks; number++) {
      const header = { ...GENESIS, number }
      writeBlock(batch, {
        header,
        hash: ethereumHeaderHash(header),
        consensus: undefined,
        results: { executed, skipped: [] },
        transactionHashes: [],
      })
    }
    writeHead(batch, { height: blocks - 1, decided: undefined, resultsHash: ZERO_HASH })
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
})

function execution(position: number): StoredExecution {
  return {
    position,
    sender: new Uint8Array(20),
    receipt: {
      type: 2,
      status: 1,
      gasUsed: 21_000n,
      cumulativeGasUsed: 0n,
      effectiveGasPrice: 1n,
      logs: [],
      logsBloom: logsBloom([]),
      contractAddress: undefined,
      blobGasUsed: undefined,
      blobGasPrice: undefined,
    },
  }
}
