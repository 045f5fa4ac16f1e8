import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { completeHashFiles } from '../../../../src/chain/indexes/makeHashFiles.ts'
import { dropBlockBodies } from '../../../../src/chain/retention/dropBlockBodies.ts'
import {
  listNextSegment,
  type MoveRules,
  makeNextSegment,
  moveBlocks,
  readMoved,
} from '../../../../src/chain/segments/moveBlocks.ts'
import { SEGMENT_BLOCKS } from '../../../../src/chain/segments/segments.ts'
import { openChainReader } from '../../../../src/chain/store/chainReader.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Database } from '../../../../src/storage/database.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'

const BASE = SEGMENT_BLOCKS - 12
const HEAD = SEGMENT_BLOCKS + 20
const RULES: MoveRules = { unpackedBlocks: 10, dropsBodies: false }
/** Two blocks with results as long as this take the bytes that are decoded with one batch. */
const LOG_BYTES = 300 << 10
const MANY = 10_000

describe('blocks with long results and few terms', () => {
  let directory: string
  let database: Database
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-long-'))
    database = await Database.open(join(directory, 'db'))
    await writeOldChain(database, { base: BASE, head: HEAD, isFull: () => true, logBytes: LOG_BYTES })
  })
  afterEach(async () => {
    await database.close()
    rmSync(directory, { recursive: true })
  })

  /** @returns how much `position` has moved with one batch */
  async function moves(position: () => number, work: (batch: WriteBatch) => void): Promise<number> {
    const before = position()
    const batch = new WriteBatch()
    work(batch)
    await database.write(batch, { sync: false })
    return position() - before
  }

  it('move to segments two at a time, however few deletes they take', async () => {
    await makeNextSegment(database, RULES, async () => undefined)
    await moves(
      () => 0,
      (batch) => listNextSegment(database, batch, HEAD, RULES),
    )
    await completeHashFiles(database, async () => undefined)
    const steps: number[] = []
    while (readMoved(database) < SEGMENT_BLOCKS) {
      steps.push(
        await moves(
          () => readMoved(database),
          (batch) => moveBlocks(database, batch, MANY),
        ),
      )
    }
    expect(steps).toEqual([2, 2, 2, 2, 2, 2])
  })

  it('lose their bodies two at a time', async () => {
    const oldest = () => openChainReader(database).oldestBlock
    for (let step = 0; step < 3; step++) {
      expect(await moves(oldest, (batch) => dropBlockBodies(database, batch, HEAD, MANY))).toBe(2)
    }
  })
})
