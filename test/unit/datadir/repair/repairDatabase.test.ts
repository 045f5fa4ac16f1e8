import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ChainConfig } from '../../../../src/chain/genesis/chainConfig.ts'
import { CALLS_KEY } from '../../../../src/chain/indexes/callIndex.ts'
import { writeHashFiles } from '../../../../src/chain/indexes/hashFileList.ts'
import { dropBlockBodies } from '../../../../src/chain/retention/dropBlockBodies.ts'
import { termsEntry } from '../../../../src/chain/segments/segmentTerms.ts'
import { RESTORED_KEY } from '../../../../src/chain/store/chainReader.ts'
import { isRepairUnfinished } from '../../../../src/chain/store/mendable.ts'
import { type RepairRequest, repairDatabase } from '../../../../src/datadir/repair/repairDatabase.ts'
import { rollback } from '../../../../src/datadir/rollback.ts'
import { readStateHead } from '../../../../src/state/head.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, columnKey, heightBytes } from '../../../../src/storage/columns.ts'
import type { Database } from '../../../../src/storage/database.ts'
import { FORMAT_KEY } from '../../../../src/storage/format.ts'
import { firstSeed, PROPERTY_RUNS, runs, variants } from '../../../propertyRuns.ts'
import {
  type Contents,
  contentsOf,
  expectSame,
  extend,
  openBusyNode,
  withDatabase,
} from '../../../support/execution/busyChain.ts'
import { createRandom } from '../../../support/state/randomChain.ts'

const BLOCKS = 24
const HISTORY = [Column.changeIndex, Column.changeShard, Column.trieHistory, Column.blockChanges] as const

let directory: string
let whole: Contents
let chain: ChainConfig
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-repair-'))
  const home = join(directory, 'whole')
  mkdirSync(home)
  const node = await openBusyNode(1, { directory: home })
  ;({ chain } = node)
  // Each session but the last leaves a table, and that one a log.
  for (const height of [8, 16, BLOCKS]) {
    await extend(node, height, height)
    if (height < BLOCKS) await node.reopen()
  }
  await node.close()
  whole = await contentsOf(node)
})
afterAll(() => rmSync(directory, { recursive: true }))

let location: string
let copies = 0
beforeEach(() => {
  const home = join(directory, `copy-${++copies}`)
  cpSync(join(directory, 'whole'), home, { recursive: true })
  mkdirSync(join(home, 'work'))
  location = join(home, 'db')
})
afterEach(() => expect(readdirSync(join(location, '..', 'work'))).toEqual([]))

/** Runs a repair. @returns what it said it found and would do, and what it came to */
async function repair(options: Partial<RepairRequest> = {}) {
  const plan: { found: readonly string[]; steps: readonly string[] } = { found: [], steps: [] }
  const repaired = await repairDatabase({
    location,
    sortDirectory: join(location, '..', 'work'),
    target: join(location, '..', 'new', 'db'),
    chain,
    index: 'all',
    from: [],
    keepsBlocks: true,
    snapshot: () => undefined,
    prefersSnapshot: false,
    decidesAlone: () => false,
    openExecutor: async (target) => {
      const node = await openBusyNode(1, { directory: join(target, '..') })
      return { application: node.executor.application, close: () => node.close() }
    },
    isDryRun: false,
    progressOf: () => ({ update: () => undefined, end: () => undefined }),
    signal: new AbortController().signal,
    onPlan: (found, steps) => void Object.assign(plan, { found, steps }),
    ...options,
  })
  return { ...plan, ...repaired }
}

/** Changes values where they are stored, with their checksums. @param change the value as it is stored then; undefined: it stays */
async function damage(
  change: (key: Uint8Array, stored: Uint8Array) => Uint8Array | 'missing' | undefined,
  place = location,
): Promise<number> {
  const views = { keyEncoding: 'view', valueEncoding: 'view' } as const
  const level = new ClassicLevel<Uint8Array, Uint8Array>(place, views)
  let changed = 0
  for await (const [key, stored] of level.iterator()) {
    const value = change(key, stored)
    if (value === undefined) continue
    changed++
    if (value === 'missing') await level.del(key)
    else await level.put(key, value)
  }
  await level.close()
  return changed
}

/** Everything as it is stored. */
async function storedValues(): Promise<ReadonlyMap<string, Uint8Array>> {
  const values = new Map<string, Uint8Array>()
  await damage((key, stored) => void values.set(Buffer.from(key).toString('hex'), stored))
  return values
}

function flipped(stored: Uint8Array, random: (below: number) => number): Uint8Array {
  const bytes = Uint8Array.from(stored)
  bytes[random(bytes.length)]! ^= 1 << random(8)
  return bytes
}

async function expectWhole(isHistoryThere = true): Promise<void> {
  const found = await contentsOf({ location })
  if (isHistoryThere) return expectSame(found, whole)
  const isKept = ([key]: readonly [string, string]): boolean => {
    const column = Number.parseInt(key.slice(0, 2), 16)
    return column !== Column.stateMeta && column !== Column.nativePage && !HISTORY.some((other) => other === column)
  }
  const without = ({ entries, byHash }: Contents) => ({ entries: new Map([...entries].filter(isKept)), byHash })
  expectSame(without(found), without(whole))
  expect([...found.entries].filter(([key]) => HISTORY.includes(Number.parseInt(key.slice(0, 2), 16) as never))).toEqual(
    [],
  )
  await withDatabase({ location }, async (database) => {
    const { height, oldestHeight } = readStateHead(database)!
    expect({ height, oldestHeight }).toEqual({ height: BLOCKS, oldestHeight: BLOCKS })
  })
}

describe('repair', () => {
  it('finds nothing in a whole database, and changes nothing', async () => {
    expect(await repair()).toEqual({ found: [], steps: [], isDamaged: false, indexes: {} })
    await expectWhole()
  })

  it.runIf(PROPERTY_RUNS > 1).each([{ pruning: 8, blockHistory: 8 }, { index: 'off' }] as const)(
    'finds nothing in the database of a node that does not keep everything: %o',
    async (options) => {
      const home = join(location, '..', 'other')
      mkdirSync(home)
      const node = await openBusyNode(6, { directory: home, ...options })
      await extend(node, BLOCKS, 6)
      await node.close()
      const index = options.index ?? 'all'
      expect(await repair({ location: node.location, index })).toMatchObject({ found: [], isDamaged: false })
      // Nothing is mended in a way that it would not be seen.
      const before = await contentsOf(node)
      await damage(
        (key, stored) => (key[0] === Column.trieNode ? flipped(stored, createRandom(9)) : undefined),
        node.location,
      )
      expect(await repair({ location: node.location, index })).toMatchObject({ isDamaged: true })
      expectSame(await contentsOf(node), before)
    },
  )

  const MENDED = [
    'account',
    'slot',
    'slotCount',
    'native',
    'trieNode',
    'blockHash',
    'transaction',
    'logTerm',
    'eventTerm',
  ] as const
  it.each(Array.from({ length: runs(1) }, (_, at) => firstSeed(1) + at))(
    'makes flipped bits of state and indexes byte by byte what was there (seed %i)',
    async (seed) => {
      const random = createRandom(seed)
      // A leaf of the trie may be damaged together with its entry: then nothing proves that.
      const columns = new Set<number>(MENDED.filter((name) => name !== 'trieNode').map((name) => Column[name]))
      if (seed % 2 === 1) columns.delete(Column.account)
      const changed = await damage((key, stored) =>
        columns.has(key[0]!) && random(4) === 0 ? flipped(stored, random) : undefined,
      )
      expect(changed).toBeGreaterThan(20)
      const { found, steps } = await repair({ isDryRun: true })
      expect(found.join('\n')).toMatch(/^slot: \d+ values do not match the checksum, first that of slot 0x/m)
      expect(steps).toEqual([
        'rewrite the damaged entries of the state, verified by the state root of the newest block',
        'compare the indexes with the blocks',
      ])
      expect((await repair({ isDryRun: true })).found).toEqual(found)
      expect(await repair()).toMatchObject({ found, isDamaged: true })
      await expectWhole()
      expect(await repair()).toMatchObject({ isDamaged: false })
    },
  )

  it('begins the index of calls anew, since nothing says what is missing of it', async () => {
    const home = join(location, '..', 'indexed')
    mkdirSync(home)
    const node = await openBusyNode(1, { directory: home, indexTraces: true })
    await extend(node, BLOCKS, BLOCKS)
    await node.close()
    const before = await contentsOf(node)
    let left = 1
    const changed = await damage(
      (key, stored) => (key[0] === Column.callTerm && left-- > 0 ? flipped(stored, createRandom(3)) : undefined),
      node.location,
    )
    expect(changed).toBe(1)
    expect(await repair({ location: node.location })).toMatchObject({ isDamaged: true })
    const after = await contentsOf(node)
    const gone = [...before.entries.keys()].filter((key) => !after.entries.has(key))
    expect(gone.map((key) => Number.parseInt(key.slice(0, 2), 16)).sort()).toEqual([Column.chainMeta, Column.callTerm])
    expect(gone).toContain(Buffer.from(CALLS_KEY).toString('hex'))
    expect(await repair({ location: node.location })).toMatchObject({ isDamaged: false })
  })

  it('takes files of terms and of hashes that are missing from the lists, and compares the indexes with the blocks', async () => {
    await withDatabase(
      { location },
      async (database) => {
        const sha256 = new Uint8Array(32)
        const listed = { first: 0, last: 8_191, bytes: 9, offset: 9, sha256, pages: new Uint8Array(8) }
        const batch = new WriteBatch()
        batch.put(...termsEntry(listed))
        const hashes = { ...listed, of: 'blocks', isMerged: false, count: 1, directory: 0 } as const
        writeHashFiles(batch, 'blocks', [{ ...hashes, pages: 0 }])
        await database.write(batch, { sync: true })
      },
      false,
    )
    const { found, steps } = await repair()
    expect(found).toEqual([
      'segmentTerms: 1 files with terms of old blocks are missing or damaged',
      'hashFile: files with hashes of old blocks are missing or damaged',
    ])
    expect(steps).toEqual(['compare the indexes with the blocks'])
    await expectWhole()
  })

  it('makes all nodes of the tries anew', async () => {
    const random = createRandom(2)
    await damage((key, stored) => {
      if (key[0] !== Column.trieNode) return undefined
      return random(2) === 0 ? 'missing' : flipped(stored, random)
    })
    const { found } = await repair()
    expect(found.join('\n')).toMatch(/^trieNode: \d+ values(.|\n)*^state: \d+ trie nodes are missing or wrong/m)
    await expectWhole()
  })

  it('forgets older states when their history is damaged, and makes the directory of native keys anew', async () => {
    const random = createRandom(3)
    await damage((key, stored) => {
      const isHistory = HISTORY.some((column) => column === key[0])
      return (isHistory && random(3) === 0) || key[0] === Column.nativePage ? flipped(stored, random) : undefined
    })
    const { steps } = await repair()
    expect(steps).toContain('delete the states of blocks before the newest: they cannot be verified')
    await expectWhole(false)
    expect(await repair()).toMatchObject({ isDamaged: false })
  })

  it('writes records anew that follow from others', async () => {
    const names = ['format', 'genesis'].map((name) => Buffer.from(name).toString('hex'))
    const isRecord = (key: Uint8Array): boolean =>
      key[0] === Column.stateMeta ||
      (key[0] === Column.chainMeta && names.includes(Buffer.from(key.subarray(1)).toString('hex')))
    expect(await damage((key, stored) => (isRecord(key) ? flipped(stored, createRandom(4)) : undefined))).toBe(4)
    await repair()
    await expectWhole(false)
  })

  it.each(variants([5, 6, 7, 8], 1))(
    'goes on when it was interrupted at any moment, and until then no node starts (seed %i)',
    async (seed) => {
      const random = createRandom(seed)
      const columns: readonly number[] = [Column.account, Column.slot, Column.native, Column.logTerm, ...HISTORY]
      await damage((key, stored) =>
        columns.includes(key[0]!) && random(9) === 0 ? flipped(stored, random) : undefined,
      )
      let interruptions = 0
      let isBegun = false
      for (let steps = 1; ; steps += 1 + random(2)) {
        const stopped = new Error('stopped')
        let left = steps
        const throwIfAborted = (): void => {
          if (--left <= 0) throw stopped
        }
        const signal = Object.assign(new AbortController().signal, { throwIfAborted })
        const done = await repair({ signal }).catch((error: unknown) => {
          if (error !== stopped) throw error
          interruptions++
          return undefined
        })
        if (done !== undefined) break
        if (isBegun || !(await withDatabase({ location }, async (database) => isRepairUnfinished(database)))) continue
        isBegun = true
        const started = openBusyNode(1, { directory: join(location, '..') })
        await expect(started).rejects.toThrow(/its repair was not finished/)
      }
      expect(isBegun).toBe(true)
      expect(interruptions).toBeGreaterThan(3)
      await expectWhole(false)
      expect(await repair()).toMatchObject({ isDamaged: false })
    },
  )

  it.each(variants(['header', 'results', 'consensusBlock', 'validatorSet', 'proposerPriorities', 'code'] as const, 1))(
    'says what to do when a value of %s is lost and the node has no blocks to execute, and changes nothing',
    async (name) => {
      await damageFirst(Column[name])
      const before = await storedValues()
      const plan: string[] = []
      const repaired = repair({ keepsBlocks: false, onPlan: (found) => void plan.push(...found) })
      await expect(repaired).rejects.toThrow(/can be neither repaired nor rebuilt/)
      expect(plan).toEqual([expect.stringMatching(new RegExp(`^${name}: a value does not match`))])
      expect(await storedValues()).toEqual(before)
      const snapshot = { place: 'there', restore: async () => undefined }
      expect(await repair({ keepsBlocks: false, isDryRun: true, snapshot: () => snapshot })).toMatchObject({
        steps: [
          'restore a snapshot from there',
          expect.stringContaining('older blocks'),
          expect.stringContaining('db.damaged'),
        ],
      })
    },
  )
})

async function damageFirst(column: number): Promise<void> {
  let isFirst = true
  await damage((key, stored) => {
    if (key[0] !== column || !isFirst) return undefined
    isFirst = false
    return flipped(stored, createRandom(5))
  })
}

describe('a database that is made anew from its own blocks', () => {
  beforeEach(() => mkdirSync(join(location, '..', 'new')))
  afterEach(() => {
    for (const name of ['blocks', 'salvaged'])
      rmSync(join(location, '..', 'work', name), { recursive: true, force: true })
  })
  const tables = (): string[] => readdirSync(location).filter((name) => name.endsWith('.ldb'))
  const flip = (name: string, at: number): void => {
    const path = join(location, name)
    const bytes = readFileSync(path)
    bytes[at < 0 ? bytes.length + at : at]! ^= 1
    writeFileSync(path, bytes)
  }
  const manifest = (): string => join(location, readdirSync(location).find((name) => name.startsWith('MANIFEST'))!)

  // What is left: the newest block's commit is in no other block.
  const DAMAGES: readonly (readonly [string, number, () => Promise<void> | void])[] = [
    ['a flipped bit in a table', BLOCKS - 1, () => flip(tables()[0]!, 100)],
    ['a table without its index', 15, () => flip(tables().at(-1)!, -60)],
    ['a code that is lost', BLOCKS - 1, () => damageFirst(Column.code)],
    ['no list of tables', BLOCKS - 1, () => rmSync(join(location, 'CURRENT'))],
    ['a cut off MANIFEST', BLOCKS - 1, () => truncateSync(manifest(), 30)],
    ['a missing table', 15, () => rmSync(join(location, tables().at(-1)!))],
  ]
  it.each(variants(DAMAGES, 2))(
    'has the same contents up to its newest block, which %s leaves (%i)',
    async (_, height, destroy) => {
      await destroy()
      const { steps } = await repair({ isDryRun: true })
      expect(steps[0]).toMatch(new RegExp(`^execute the readable blocks 1 to ${height} again, into .*new/db$`))
      expect(await repair()).toMatchObject({ isDamaged: true, steps, rebuiltTo: height })
      const former = join(location, '..', 'former')
      cpSync(join(directory, 'whole', 'db'), former, { recursive: true })
      await withDatabase({ location: former }, (database) => rollback(database, height), false)
      expectSame(
        await contentsOf({ location: former }),
        await contentsOf({ location: join(location, '..', 'new', 'db') }),
      )
    },
  )

  it('is made where the number of the format is lost: the contents may be those of another format', async () => {
    const lost = (key: Uint8Array, stored: Uint8Array) =>
      Buffer.from(FORMAT_KEY).equals(key) ? stored.map((byte) => byte ^ 1) : undefined
    expect(await damage(lost)).toBe(1)
    const before = await storedValues()
    const { found, steps, rebuiltTo } = await repair()
    expect(found).toEqual([expect.stringMatching(/^chainMeta: a value does not match the checksum/)])
    expect(steps[0]).toMatch(/^execute the readable blocks 1 to \d+ again, into .*new\/db$/)
    expect(rebuiltTo).toBe(BLOCKS - 1)
    expect(await storedValues()).toEqual(before)
  })

  it('is none where a block is lost that no peer has', async () => {
    const lost = Buffer.from(columnKey(Column.consensusBlock, heightBytes(8)))
    expect(await damage((key) => (lost.equals(key) ? 'missing' : undefined))).toBe(1)
    // Before that, the block is still to be found in a table.
    await withDatabase({ location }, (database) => database.compact(Uint8Array.of(0), Uint8Array.of(0xff)), false)
    const repaired = repair({ decidesAlone: () => true })
    await expect(repaired).rejects.toThrow(/block 7 is lost, and no peer has it or later blocks/)
  })

  it('is none where the first blocks have lost their transactions, or the chain began with a snapshot', async () => {
    const write = (fill: (batch: WriteBatch, database: Database) => void): Promise<void> =>
      withDatabase(
        { location },
        async (database) => {
          const batch = new WriteBatch()
          fill(batch, database)
          await database.write(batch, { sync: false })
          await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
        },
        false,
      )
    await write((batch, database) => dropBlockBodies(database, batch, 8, 8))
    rmSync(join(location, 'CURRENT'))
    const snapshot = () => ({ place: 'there', restore: async () => undefined })
    expect((await repair({ isDryRun: true, snapshot })).steps[0]).toBe('restore a snapshot from there')
    cpSync(join(directory, 'whole', 'db'), location, { recursive: true })
    await write((batch) => batch.put(RESTORED_KEY, new Uint8Array(38)))
    rmSync(join(location, 'CURRENT'))
    expect((await repair({ isDryRun: true, snapshot })).steps[0]).toBe('restore a snapshot from there')
  })

  it('goes on where it was interrupted', async () => {
    rmSync(join(location, 'CURRENT'))
    const stop = new AbortController()
    const progressOf: RepairRequest['progressOf'] = ({ title }) => ({
      update: (done) => title === 'executing blocks again' && done === 10 && stop.abort(),
      end: () => undefined,
    })
    await expect(repair({ signal: stop.signal, progressOf })).rejects.toThrow('aborted')
    const executed: number[] = []
    const counting: RepairRequest['progressOf'] = ({ title }) => ({
      update: (done) => void (title === 'executing blocks again' && executed.push(done)),
      end: () => undefined,
    })
    expect(await repair({ progressOf: counting })).toMatchObject({ rebuiltTo: BLOCKS - 1 })
    expect(executed).toEqual(Array.from({ length: BLOCKS - 1 - 10 }, (_, at) => 11 + at))
  })
})
