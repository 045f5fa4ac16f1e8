import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isRepairUnfinished } from '../../../../src/app/repair/mendable.ts'
import { type RepairRequest, repairDatabase } from '../../../../src/app/repair/repairDatabase.ts'
import { readStateHead } from '../../../../src/state/head.ts'
import { Column } from '../../../../src/storage/columns.ts'
import { firstSeed, runs, variants } from '../../../propertyRuns.ts'
import { createRandom } from '../../state/randomChain.ts'
import { type Contents, contentsOf, expectSame, extend, openBusyNode, withDatabase } from '../busyChain.ts'

const BLOCKS = 24
const HISTORY = [Column.changeIndex, Column.changeShard, Column.trieHistory, Column.blockChanges] as const

let directory: string
let whole: Contents
let genesisHash: Uint8Array
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-repair-'))
  const home = join(directory, 'whole')
  mkdirSync(home)
  const node = await openBusyNode(1, { directory: home })
  ;({ genesisHash } = node.chain)
  await extend(node, BLOCKS, 1)
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
    genesisHash,
    index: 'all',
    from: [],
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
): Promise<number> {
  const views = { keyEncoding: 'view', valueEncoding: 'view' } as const
  const level = new ClassicLevel<Uint8Array, Uint8Array>(location, views)
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
        'write the damaged entries of the state anew, as the state root of the newest block proves them',
        'compare the indexes with the blocks',
      ])
      expect((await repair({ isDryRun: true })).found).toEqual(found)
      expect(await repair()).toMatchObject({ found, isDamaged: true })
      await expectWhole()
      expect(await repair()).toMatchObject({ isDamaged: false })
    },
  )

  it('makes all nodes of the tries anew', async () => {
    const random = createRandom(2)
    await damage((key, stored) => {
      if (key[0] !== Column.trieNode) return undefined
      return random(2) === 0 ? 'missing' : flipped(stored, random)
    })
    const { found } = await repair()
    expect(found.join('\n')).toMatch(/^trieNode: \d+ values(.|\n)*^state: \d+ nodes of tries are missing or not right/m)
    await expectWhole()
  })

  it('forgets older states when their history is damaged, and makes the directory of native keys anew', async () => {
    const random = createRandom(3)
    await damage((key, stored) => {
      const isHistory = HISTORY.some((column) => column === key[0])
      return (isHistory && random(3) === 0) || key[0] === Column.nativePage ? flipped(stored, random) : undefined
    })
    const { steps } = await repair()
    expect(steps).toContain('forget the states of blocks before the newest: nothing proves them')
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
        await expect(started).rejects.toThrow(/a repair of it was not finished/)
      }
      expect(isBegun).toBe(true)
      expect(interruptions).toBeGreaterThan(3)
      await expectWhole(false)
      expect(await repair()).toMatchObject({ isDamaged: false })
    },
  )

  it.each(variants(['header', 'results', 'consensusBlock', 'validatorSet', 'proposerPriorities', 'code'] as const, 1))(
    'changes nothing when a value of %s is lost, and says what to do',
    async (name) => {
      let isFirst = true
      await damage((key, stored) => {
        if (key[0] !== Column[name] || !isFirst) return undefined
        isFirst = false
        return flipped(stored, createRandom(5))
      })
      const before = await storedValues()
      const plan: string[] = []
      await expect(repair({ onPlan: (found) => void plan.push(...found) })).rejects.toThrow(
        /cannot be mended in place: /,
      )
      expect(plan).toEqual([expect.stringMatching(new RegExp(`^${name}: a value does not match`))])
      expect(await storedValues()).toEqual(before)
    },
  )
})
