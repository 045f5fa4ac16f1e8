import { randomBytes } from 'node:crypto'
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database, DatabaseError } from '../../../src/storage/database.ts'
import { verifyFiles } from '../../../src/storage/verifyFiles.ts'
import { openLocalNode, signTransfers, writeConfig } from '../../crash/localNode.ts'
import { firstSeed, runs } from '../../propertyRuns.ts'
import { WALLET } from '../../support/execution/testChain.ts'
import { createRandom } from '../../support/state/randomChain.ts'

/** 1,000 of them: PROPERTY_RUNS=10 vitest run --project unit test/unit/storage/randomDamage.test.ts */
const CASES = runs(100)
const SEED = firstSeed(1)
const SESSIONS = [40, 80, 120]
const RECIPIENTS = Array.from({ length: 20 }, (_, i) => hexToBytes(`0x${(i * 11 + 1).toString(16).padStart(40, '0')}`))

const KINDS = ['flip', 'flip', 'flip', 'flip', 'zeros', 'cut', 'lost'] as const
type Kind = (typeof KINDS)[number]

let directory: string
let source: string
let files: readonly string[]
let expected: readonly string[]

/** What clients would read of each height, up to the head: block, receipts, accounts then. */
async function answers(location: string): Promise<string[]> {
  const database = await Database.open(location)
  const snapshot = database.snapshot()
  try {
    const { chain, stateAt } = openView(snapshot, createViewCaches())
    const found: string[] = []
    for (let height = 0; height <= chain.headHeight; height++) {
      const state = stateAt(height)
      const accounts = [WALLET, ...RECIPIENTS].map((address) => {
        const { nonce, balance } = state.getAccount(address) ?? { nonce: 0n, balance: 0n }
        return `${nonce} ${balance}`
      })
      const receipts = chain.receipts(height)!.map(({ gasUsed, status }) => `${gasUsed} ${status}`)
      const entries = chain.consensusBlock(height)?.txs.map(bytesToHex)
      found.push(JSON.stringify([bytesToHex(chain.hash(height)!), entries, receipts, accounts]))
    }
    return found
  } finally {
    await snapshot.close()
    await database.close()
  }
}

/** Entries of a column that nothing reads, which stay in tables of their own beside those of the chain. */
async function addTables(location: string): Promise<void> {
  const database = await Database.open(location, { writeBufferBytes: 64 << 10 })
  for (let i = 0; i < 200; i++) {
    const batch = new WriteBatch()
    batch.put(Uint8Array.of(0xf0, i), randomBytes(2_000))
    await database.write(batch, { sync: false })
  }
  await database.close()
}

/** A copy of the database, made of links, with one file of its own. */
function copyWith(location: string, name: string, content: Uint8Array | undefined): void {
  mkdirSync(location)
  for (const other of files) if (other !== name) linkSync(join(source, other), join(location, other))
  if (content !== undefined) writeFileSync(join(location, name), content)
}

function damaged(bytes: Uint8Array, kind: Kind, random: (below: number) => number): Uint8Array | undefined {
  if (kind === 'lost') return undefined
  const at = random(bytes.length)
  if (kind === 'cut') return bytes.slice(0, at)
  const copy = bytes.slice()
  if (kind === 'flip') copy[at]! ^= 1 << random(8)
  else copy.fill(0, at - (at % 512), at - (at % 512) + 512)
  return copy
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-random-damage-'))
  const home = join(directory, 'home')
  writeConfig(home)
  const transactions = await signTransfers(SESSIONS.at(-1)!, 2)
  // The start of a session turns the log of the one before into a table.
  for (const height of SESSIONS) {
    const node = await openLocalNode({ directory: home, transactions })
    await node.reached(height)
    await node.close()
    if (height === SESSIONS[0]) await addTables(join(home, 'db'))
  }
  source = join(directory, 'source')
  mkdirSync(source)
  files = readdirSync(join(home, 'db')).filter((name) => !/^LO/.test(name))
  expect(files.filter((name) => name.endsWith('.ldb')).length).toBeGreaterThan(3)
  for (const name of files) copyFileSync(join(home, 'db', name), join(source, name))
  const copy = join(directory, 'whole')
  copyWith(copy, '', undefined)
  expected = await answers(copy)
  expect(expected.length).toBeGreaterThan(SESSIONS.at(-1)!)
})
afterAll(() => rmSync(directory, { recursive: true }))

describe('a random damage of one file of the database', () => {
  it(`is named, or every answer is right (${CASES} cases)`, async () => {
    const random = createRandom(SEED)
    const outcomes = { named: 0, right: 0, withoutNewest: 0 }
    for (let run = 0; run < CASES; run++) {
      const name = files[random(files.length)]!
      const kind = KINDS[random(KINDS.length)]!
      const bytes = new Uint8Array(readFileSync(join(source, name)))
      const location = join(directory, `copy-${run}`)
      const context = `seed ${SEED}, case ${run}: ${kind} in ${name}`
      copyWith(location, name, damaged(bytes, kind, random))
      try {
        verifyFiles(location)
        const found = await answers(location)
        // What is lost at the end of the log, the node has in its write-ahead log (test/crash/tornDatabase.test.ts).
        expect(found.length, context).toBeLessThanOrEqual(expected.length)
        expect(found, context).toEqual(expected.slice(0, found.length))
        if (found.length === expected.length) outcomes.right++
        else outcomes.withoutNewest++
        expect(found.length === expected.length || name.endsWith('.log'), context).toBe(true)
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error
        expect(error.code, context).toBe('corrupt')
        expect(error.message, context).toContain(`${location}/`)
        outcomes.named++
      }
      rmSync(location, { recursive: true })
    }
    expect(outcomes.named).toBeGreaterThan(CASES / 3)
    expect(outcomes.withoutNewest).toBeGreaterThan(0)
  })
})
