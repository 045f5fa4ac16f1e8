import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_BLOCK_EVENTS } from '../../../src/chain/block/entries.ts'
import { ethereumHeaderHash } from '../../../src/chain/block/ethereumBlock.ts'
import { writeBlock, writeHeadRecord } from '../../../src/chain/store/writeBlock.ts'
import { createExecutionReaders } from '../../../src/execution/executor.ts'
import { genesisHeader } from '../../../src/execution/genesisBlock.ts'
import { ZERO_HASH } from '../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column } from '../../../src/storage/columns.ts'
import { Database, type DatabaseReader } from '../../../src/storage/database.ts'

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
const BLOCKS = 400
/** Blocks whose hashes BLOCKHASH reads. */
const WINDOW = 256

describe('readers of the blocks that are executed', () => {
  let directory: string
  let database: Database
  let headersRead = 0
  let counted: DatabaseReader
  const headerOf = (number: number) => ({ ...GENESIS, number })

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-readers-'))
    database = await Database.open(join(directory, 'db'))
    const batch = new WriteBatch()
    for (let number = 0; number < BLOCKS; number++) {
      const header = headerOf(number)
      const hash = ethereumHeaderHash(header)
      writeBlock(batch, {
        header,
        hash,
        consensus: undefined,
        entries: [],
        events: NO_BLOCK_EVENTS,
        isIndexed: true,
      })
    }
    writeHeadRecord(batch, { height: BLOCKS - 1, decided: undefined, resultsHash: ZERO_HASH })
    await database.write(batch, { sync: false })
    counted = {
      location: database.location,
      entries: (range) => database.entries(range),
      get: (key) => {
        if (key[0] === Column.header) headersRead++
        return database.get(key)
      },
    }
  })
  afterAll(async () => {
    await database.close()
    rmSync(directory, { recursive: true })
  })

  it('read each header for BLOCKHASH once, however often transactions and blocks ask', () => {
    const readers = createExecutionReaders(counted)
    for (let block = 0; block < 3; block++) {
      const reader = readers()
      for (let transaction = 0; transaction < 3; transaction++) {
        for (let number = BLOCKS - WINDOW; number < BLOCKS; number++) {
          expect(reader.hash(number)).toEqual(ethereumHeaderHash(headerOf(number)))
        }
      }
    }
    expect(headersRead).toBe(WINDOW)
  })
})
