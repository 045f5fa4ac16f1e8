import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChainReader } from '../../src/chain/store/chainReader.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { Database } from '../../src/storage/database.ts'
import { runs } from '../propertyRuns.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { type LocalNodeOptions, openLocalNode, signTransfers } from './localNode.ts'

const BLOCKS = 80
/** LevelDB's log is made of blocks of this size. */
const LOG_BLOCK = 32_768

let directory: string
/** a node that was killed: everything is in LevelDB's log and in the write-ahead log */
let killed: string
/** the same with a log of which old segments are dropped */
let killedWithShortWal: string
let expected: ReadonlyMap<number, string>
let copies = 0

/** Runs a node for some blocks and copies its directory while it is open, as a kill would leave it. */
async function runAndKill(name: string, transactions: LocalNodeOptions['transactions'], segmentBytes?: number) {
  const home = join(directory, name)
  const copy = join(directory, `${name}-killed`)
  const node = await openLocalNode({
    directory: home,
    transactions,
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
  })
  await node.reached(BLOCKS)
  await node.consensus.close()
  cpSync(home, copy, { recursive: true })
  await node.close()
  return { copy, hashes: node.hashes }
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-torn-'))
  const run = await runAndKill('whole', await signTransfers(BLOCKS, 3))
  killed = run.copy
  expected = run.hashes
  killedWithShortWal = (await runAndKill('short', undefined, 20_000)).copy
})
afterAll(() => rmSync(directory, { recursive: true }))

function copyOf(home: string): string {
  const copy = join(directory, `copy-${++copies}`)
  cpSync(home, copy, { recursive: true })
  return copy
}

function logOf(home: string): string {
  const [log, ...others] = readdirSync(join(home, 'db')).filter((name) => name.endsWith('.log'))
  if (log === undefined || others.length > 0) throw new Error('one log was expected')
  return join(home, 'db', log)
}

/** Starts a node on the directory and gives how far the logs brought it, with the hashes of its blocks. */
async function recover(home: string): Promise<{ height: number; hashes: Map<number, string> }> {
  const node = await openLocalNode({ directory: home })
  await node.close()
  const database = await Database.open(join(home, 'db'), { readOnly: true })
  const chain = openChainReader(database)
  const hashes = new Map<number, string>()
  for (let height = 1; height <= node.replayedTo; height++) hashes.set(height, bytesToHex(chain.hash(height)!))
  await database.close()
  rmSync(home, { recursive: true })
  return { height: node.replayedTo, hashes }
}

async function expectWholeChain(home: string): Promise<void> {
  const { height, hashes } = await recover(home)
  expect(height).toBeGreaterThanOrEqual(BLOCKS)
  expect(hashes).toEqual(expected)
}

describe('a database whose log is torn', () => {
  it('is completed from the write-ahead log, wherever it was cut', async () => {
    const random = createRandom(3)
    const size = statSync(logOf(killed)).size
    const cuts = [
      0,
      1,
      size - 1,
      size,
      LOG_BLOCK,
      LOG_BLOCK + 3,
      ...Array.from({ length: runs(5) }, () => random(size)),
    ]
    for (const cut of cuts) {
      const home = copyOf(killed)
      truncateSync(logOf(home), cut)
      await expectWholeChain(home)
    }
  })

  it('is refused with what to do when the write-ahead log does not reach back to the cut', async () => {
    const home = copyOf(killedWithShortWal)
    truncateSync(logOf(home), LOG_BLOCK)
    await expect(recover(home)).rejects.toThrow(/block \d+ is in neither: restore both from one backup/)
  })

  it('is refused with what to do, or completed, when bytes within it are damaged', async () => {
    const random = createRandom(5)
    const size = statSync(logOf(killed)).size
    let refused = 0
    for (let trial = 0; trial < runs(12); trial++) {
      const home = copyOf(killed)
      const bytes = readFileSync(logOf(home))
      const offset = random(size)
      bytes[offset]! ^= 1 + random(255)
      writeFileSync(logOf(home), bytes)
      try {
        await expectWholeChain(home)
      } catch (error) {
        if ((error as Error).name !== 'DatabaseError') throw error
        expect((error as Error).message).toMatch(/is damaged \(block \d+ is missing, .*run `coind repair`/)
        refused++
      }
    }
    expect(refused).toBeGreaterThan(0)
  })

  it('is refused when the end of the older of two logs is lost', async () => {
    const home = copyOf(killed)
    const log = logOf(home)
    const bytes = readFileSync(log)
    const cut = LOG_BLOCK * Math.floor(bytes.length / LOG_BLOCK / 2)
    // The newer log begins within a batch, so that batch is lost.
    writeFileSync(log, bytes.subarray(0, cut))
    const newer = join(home, 'db', `${String(Number(log.slice(-10, -4)) + 20).padStart(6, '0')}.log`)
    writeFileSync(newer, bytes.subarray(cut))
    await expect(recover(home)).rejects.toThrow(/is damaged \(block \d+ is missing/)
  })
})

describe('a write-ahead log that is torn', () => {
  it('leaves a whole database as it is', async () => {
    const random = createRandom(9)
    const size = statSync(join(killed, 'wal', '00000001.wal')).size
    for (let trial = 0; trial < runs(6); trial++) {
      const home = copyOf(killed)
      truncateSync(join(home, 'wal', '00000001.wal'), random(size))
      await expectWholeChain(home)
    }
  })
})
