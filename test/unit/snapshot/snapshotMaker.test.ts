import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createSnapshotMaker,
  type SnapshotMaker,
  type SnapshotMakerOptions,
} from '../../../src/snapshot/snapshotMaker.ts'
import { Database } from '../../../src/storage/database.ts'
import type { TestChain } from '../../support/execution/testChain.ts'
import { createSnapshotChain } from '../../support/snapshot/snapshotChain.ts'

const INTERVAL = 4

let directory: string
let shelf: string
let chain: TestChain
let database: Database
let maker: SnapshotMaker
/** what the maker told */
let events: string[]
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-maker-'))
  shelf = join(directory, 'snapshots')
  events = []
  chain = await createSnapshotChain(6)
  database = await Database.open(chain.location, { readOnly: true })
})
afterEach(async () => {
  await maker.close()
  await database.close()
  await chain.close()
  rmSync(directory, { recursive: true })
})

function start(options: Partial<SnapshotMakerOptions> = {}): void {
  maker = createSnapshotMaker({
    chain: chain.chain,
    shelf,
    interval: INTERVAL,
    keep: 2,
    nowMs: () => 0,
    openSnapshot: () => database.snapshot(),
    rest: async () => undefined,
    observer: {
      began: (height) => events.push(`began ${height}`),
      made: (height, { chunks }) => events.push(`made ${height}${chunks > 3 ? '' : ' with too little'}`),
      failed: (height, error) => events.push(`failed ${height}: ${(error as Error).message}`),
    },
    ...options,
  })
}

const head = (): number => chain.executor.head().header.number

/** Produces blocks up to this height, tells of each, and waits for what the maker makes of it. */
async function goTo(height: number): Promise<void> {
  while (head() < height) {
    await chain.produce()
    maker.onHead(head())
    while (events.at(-1)?.startsWith('began')) await new Promise(setImmediate)
  }
}

describe('the maker of snapshots', () => {
  it('makes them at multiples of the interval, when three blocks follow, and keeps the newest', async () => {
    mkdirSync(join(shelf, '.2.making'), { recursive: true })
    mkdirSync(join(shelf, '.1.removed'))
    start()
    expect(readdirSync(shelf)).toEqual([])
    maker.onHead(head())
    expect(events).toEqual([])
    await goTo(7)
    expect(events).toEqual(['began 4', 'made 4'])
    await goTo(10)
    expect(readdirSync(shelf)).toEqual(['4'])
    await goTo(16)
    expect(events).toEqual(['began 4', 'made 4', 'began 8', 'made 8', 'began 12', 'made 12'])
    expect(readdirSync(shelf).sort()).toEqual(['12', '8'])
    // Another start: it is there already, and fewer are kept.
    await maker.close()
    start({ keep: 1 })
    expect(readdirSync(shelf)).toEqual(['12'])
    expect(maker.newest).toBe(12)
    await goTo(17)
    expect(events).toHaveLength(6)
  })

  it('makes the newest that is due when the one before has taken long, and none that is long past', async () => {
    const gate = Promise.withResolvers<void>()
    start({ rest: () => gate.promise })
    await chain.produce()
    maker.onHead(head())
    await new Promise(setImmediate)
    expect(events).toEqual(['began 4'])
    for (let i = 0; i < 9; i++) {
      await chain.produce()
      maker.onHead(head())
    }
    expect(events).toEqual(['began 4'])
    gate.resolve()
    while (!events.includes('made 4')) await new Promise(setImmediate)
    await new Promise(setImmediate)
    await goTo(17)
    expect(events).toEqual(['began 4', 'made 4', 'began 12', 'made 12'])

    await maker.close()
    start({ interval: 15, maxBlocksLate: 3 })
    while (head() < 22) await chain.produce()
    // Block 15 is the newest that is due, and block 19 could be.
    maker.onHead(head())
    await new Promise(setImmediate)
    expect(events).toHaveLength(4)
  })

  it('tells of a failure, and goes on with the next one', async () => {
    let fails = true
    start({
      rest: async () => {
        if (fails) throw new Error('the disk is full')
      },
    })
    await goTo(9)
    expect(events).toEqual(['began 4', 'failed 4: the disk is full'])
    fails = false
    await goTo(12)
    expect(events.slice(2)).toEqual(['began 8', 'made 8'])
    expect(readdirSync(shelf)).toEqual(['8'])
  })

  it('lives with a directory that cannot be used', async () => {
    writeFileSync(shelf, 'a file')
    start()
    await goTo(7)
    expect(maker.newest).toBe(0)
    expect(events).toEqual([
      expect.stringMatching(/^failed undefined: EEXIST/),
      'began 4',
      expect.stringMatching(/^failed 4: .*snapshots\/4 cannot be made: E/),
    ])
  })

  it('stops in the middle of one, and leaves nothing', async () => {
    start({
      rest: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
    })
    await chain.produce()
    maker.onHead(head())
    while (!existsSync(join(shelf, '.4.making'))) await new Promise(setImmediate)
    await maker.close()
    expect(events).toEqual(['began 4'])
    expect(readdirSync(shelf)).toEqual([])
    maker.onHead(head())
    expect(events).toEqual(['began 4'])
  })

  it('does not try to make one of a state that is not there', async () => {
    await database.close()
    await chain.close()
    chain = await createSnapshotChain(6, { pruning: 2 })
    database = await Database.open(chain.location, { readOnly: true })
    start()
    await goTo(8)
    expect(events).toEqual([])
  })

  it('makes none on a chain whose state does not hold the proposer priorities', async () => {
    start({ chain: { ...chain.chain, validatorRanksHeight: 0 } })
    await goTo(8)
    expect(events).toEqual([expect.stringMatching(/^began 4$/), expect.stringMatching(/^failed 4: this chain has no/)])
  })
})
