import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Vote } from '../../../src/chain/comet/types.ts'
import { nodeDisk, openWal, type Wal, type WalDisk, type WalFile, type WalOptions } from '../../../src/consensus/wal.ts'
import type { WalEntry } from '../../../src/consensus/walEntry.ts'
import { frameRecord, HEADER_LENGTH, WalError } from '../../../src/consensus/walSegment.ts'
import { RULES } from '../../../src/storage/format.ts'
import { copyDirectory, removeDirectories, temporaryDirectory } from '../../support/consensus/temporaryDirectories.ts'

afterAll(removeDirectories)

const genesisHash = new Uint8Array(32).fill(1)
const FIRST = '00000001.wal'

interface Opened {
  wal: Wal
  entries: WalEntry[]
  warnings: Record<string, unknown>[]
}

async function openIn(directory: string, options: Partial<WalOptions> = {}): Promise<Opened> {
  const entries: WalEntry[] = []
  const warnings: Record<string, unknown>[] = []
  const warn = (_: string, fields: Readonly<Record<string, unknown>>) => warnings.push(fields)
  const wal = await openWal({ directory, genesisHash, randomBytes, warn, ...options }, (entry) => entries.push(entry))
  return { wal, entries, warnings }
}

/** What the log holds; the files are left as they are but for a torn end. */
async function entriesIn(directory: string, options: Partial<WalOptions> = {}): Promise<WalEntry[]> {
  const { wal, entries } = await openIn(directory, options)
  await wal.close()
  return entries
}

const end = (height: number): WalEntry => ({ kind: 'endHeight', height })

function vote(height: number): Extract<WalEntry, { kind: 'vote' }> {
  const blockId = { hash: new Uint8Array(32).fill(3), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(4) } }
  const signed: Vote = {
    type: 2,
    height,
    round: 0,
    blockId,
    timestampMs: 1_790_000_000_000 + height,
    validatorAddress: new Uint8Array(20).fill(5),
    validatorIndex: 0,
    signature: new Uint8Array(64).fill(height),
  }
  return { kind: 'vote', vote: signed }
}

/** A log with one batch a height: vote, end. */
async function filled(heights: number, options: Partial<WalOptions> = {}): Promise<string> {
  const directory = temporaryDirectory()
  const { wal } = await openIn(directory, options)
  for (let height = 1; height <= heights; height++) {
    wal.append(vote(height))
    wal.append(end(height))
    await wal.sync()
  }
  await wal.close()
  return directory
}

const expected = (heights: number) => Array.from({ length: heights }, (_, i) => [vote(i + 1), end(i + 1)]).flat()
const segments = (directory: string) =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.wal'))
    .sort()

describe('write-ahead log', () => {
  it('gives back what was appended, across closes', async () => {
    const directory = await filled(5)
    const { wal, entries, warnings } = await openIn(directory)
    expect(entries).toEqual(expected(5))
    wal.append(vote(6))
    wal.append(end(6))
    await wal.close()
    expect(await entriesIn(directory)).toEqual(expected(6))
    expect(warnings).toEqual([])
    expect(statSync(join(directory, FIRST)).mode & 0o777).toBe(0o600)
  })

  it('shares a datasync among syncs that wait for it', async () => {
    let syncs = 0
    const disk = diskWith((file) => ({
      datasync: () => {
        syncs++
        return file.datasync()
      },
    }))
    const { wal } = await openIn(temporaryDirectory(), { disk })
    const waiting: Promise<void>[] = []
    for (let height = 1; height <= 10; height++) {
      wal.append(end(height))
      waiting.push(wal.sync())
    }
    await Promise.all(waiting)
    expect(syncs).toBe(1)
    await wal.sync()
    expect(syncs).toBe(1)
    await wal.close()
  })

  it('keeps the order of entries appended while the disk is busy', async () => {
    const directory = temporaryDirectory()
    const { wal } = await openIn(directory, { segmentBytes: 600 })
    const waiting: Promise<void>[] = []
    for (let height = 1; height <= 40; height++) {
      wal.append(vote(height))
      waiting.push(wal.sync())
      if (height % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
      wal.append(end(height))
    }
    await Promise.all(waiting)
    await wal.close()
    const entries = await entriesIn(directory)
    expect(entries.filter(({ kind }) => kind !== 'lastSigned')).toEqual(expected(40))
    expect(segments(directory).length).toBeGreaterThan(1)
  })
})

describe('segments', () => {
  it('follow each other at their size, each with the newest signature', async () => {
    const directory = await filled(30, { segmentBytes: 1000 })
    expect(segments(directory).length).toBeGreaterThan(3)
    const { entries, wal } = await openIn(directory)
    expect(wal.segmentCount).toBe(segments(directory).length)
    let signed: WalEntry | undefined
    for (const entry of entries) {
      if (entry.kind === 'lastSigned') expect(entry.entry).toEqual(signed)
      if (entry.kind === 'vote') signed = entry
    }
    expect(entries.filter(({ kind }) => kind !== 'lastSigned')).toEqual(expected(30))
    await wal.close()
  })

  it('go when all their heights are durable elsewhere; the signer keeps its memory', async () => {
    const directory = await filled(30, { segmentBytes: 1000 })
    const before = segments(directory)
    const { wal } = await openIn(directory, { segmentBytes: 1000 })
    await wal.prune(1)
    expect(segments(directory)).toEqual(before)
    await wal.prune(12)
    const kept = (await entriesIn(copyDirectory(directory))).filter(({ kind }) => kind === 'endHeight')
    expect(kept.map((entry) => entry.kind === 'endHeight' && entry.height)).toContain(13)
    expect(segments(directory).length).toBeLessThan(before.length)
    await wal.prune(1000)
    expect(segments(directory)).toEqual(before.slice(-1))
    await wal.close()
    const entries = await entriesIn(directory)
    const last = entries.findLast((entry) => entry.kind === 'vote' || entry.kind === 'lastSigned')
    expect(last?.kind === 'lastSigned' ? last.entry : last).toEqual(vote(30))
  })

  it('of another genesis are refused', async () => {
    const directory = await filled(2)
    await expect(openIn(directory, { genesisHash: new Uint8Array(32) })).rejects.toThrow(/another genesis/)
  })

  it.each<[string, string, (header: Uint8Array) => Uint8Array]>([
    ['without a version of rules', 'an older', (header) => Uint8Array.of(0, 1, ...header.subarray(3))],
    ['of older rules', 'an older', (header) => Uint8Array.of(0, 2, RULES - 1, ...header.subarray(3))],
    ['of newer rules', 'a newer', (header) => Uint8Array.of(0, 2, RULES + 1, ...header.subarray(3))],
    ['of a newer format', 'a newer', (header) => Uint8Array.of(0, 3, RULES - 1, ...header.subarray(3), 1)],
  ])('%s are refused, and stay as they are', async (_, age, change) => {
    const directory = await filled(2)
    const path = join(directory, '00000001.wal')
    const bytes = readFileSync(path)
    const header = frameRecord(new Uint8Array(0), change(bytes.subarray(8, HEADER_LENGTH)))
    const changed = Buffer.concat([header, bytes.subarray(HEADER_LENGTH)])
    writeFileSync(path, changed)
    await expect(openIn(directory)).rejects.toThrow(
      `${path} was written by ${age} version of coind, whose rules differ`,
    )
    expect(readFileSync(path)).toEqual(changed)
  })

  it('with a gap in their numbers are refused', async () => {
    const directory = await filled(30, { segmentBytes: 1000 })
    renameSync(join(directory, '00000002.wal'), join(directory, 'elsewhere'))
    await expect(openIn(directory)).rejects.toThrow(/00000002\.wal is missing/)
  })

  it('that were never finished are made again', async () => {
    const directory = await filled(3)
    writeFileSync(join(directory, '00000002.wal.new'), 'x')
    writeFileSync(join(directory, '00000002.wal'), 'x')
    const { wal, entries, warnings } = await openIn(directory, { segmentBytes: 1 })
    expect(entries).toEqual(expected(3))
    expect(warnings).toHaveLength(1)
    wal.append(end(4))
    await wal.close()
    expect(segments(directory)).toEqual([FIRST, '00000002.wal'])
  })
})

describe('a torn end', () => {
  it('is cut off at every byte of the log', async () => {
    const bytes = readFileSync(join(await filled(3), FIRST))
    const work = temporaryDirectory()
    const counts = new Set<number>()
    for (let length = 0; length <= bytes.length; length++) {
      for (const name of readdirSync(work)) rmSync(join(work, name))
      writeFileSync(join(work, FIRST), bytes.subarray(0, length))
      const { wal, entries, warnings } = await openIn(work, { disk: diskWithoutSync })
      expect(entries).toEqual(expected(3).slice(0, entries.length))
      counts.add(entries.length)
      for (const { copy, bytes: cut, offset } of warnings) {
        expect(readFileSync(String(copy))).toEqual(bytes.subarray(Number(offset), length))
        expect(Number(offset) + Number(cut)).toBe(length)
      }
      wal.append(end(9))
      await wal.close()
      expect(await entriesIn(work, { disk: diskWithoutSync })).toEqual([...entries, end(9)])
    }
    expect([...counts]).toEqual([0, 1, 2, 3, 4, 5, 6])
  }, 120_000)

  it.each([
    { what: 'zeros behind it', damage: (file: string) => appendFileSync(file, new Uint8Array(5000)) },
    { what: 'noise behind it', damage: (file: string) => appendFileSync(file, randomBytes(5000)) },
    { what: 'a flipped bit in its last record', damage: (file: string) => flip(file, statSync(file).size - 3) },
    { what: 'a last record of zeros', damage: (file: string) => zeroEnd(file, 10) },
    {
      what: 'a lost block before the end of the last batch',
      damage: (file: string) => flip(file, lastBatch(file) + 20),
    },
  ])('with $what is cut off', async ({ damage }) => {
    const directory = await filled(6)
    damage(join(directory, FIRST))
    const { wal, entries, warnings } = await openIn(directory)
    await wal.close()
    expect(warnings).toHaveLength(1)
    expect(entries.length).toBeGreaterThanOrEqual(10)
    expect(entries).toEqual(expected(6).slice(0, entries.length))
  })
})

describe('damage before the end', () => {
  it('is refused at every byte that was on stable storage when more was written', async () => {
    const directory = await filled(3)
    const file = join(directory, FIRST)
    const bytes = readFileSync(file)
    const synced = lastBatch(file)
    for (let at = 0; at < synced; at++) {
      writeFileSync(file, bytes.with(at, bytes[at]! ^ 0x10))
      await expect(openIn(directory)).rejects.toThrow(WalError)
    }
    expect(synced).toBeGreaterThan(HEADER_LENGTH + 100)
  })

  it('is refused in a segment that is not the last', async () => {
    const directory = await filled(30, { segmentBytes: 1000 })
    const file = join(directory, '00000002.wal')
    truncateSync(file, statSync(file).size - 1)
    await expect(openIn(directory)).rejects.toThrow(/00000002\.wal is damaged at byte \d+.*move wal\/ away/)
  })
})

describe('a failing disk', () => {
  const failures = [
    { operation: 'write', code: 'ENOSPC' },
    { operation: 'write', code: 'EIO' },
    { operation: 'datasync', code: 'EIO' },
  ] as const

  it.each(failures)('($operation: $code) rejects, and everything after it', async ({ operation, code }) => {
    const directory = temporaryDirectory()
    let failing = false
    const guard = <T>(name: string, run: () => Promise<T>): Promise<T> =>
      failing && name === operation ? Promise.reject(Object.assign(new Error(code), { code })) : run()
    const disk = diskWith((file) => ({
      write: (...args) => guard('write', () => file.write(...args)),
      datasync: () => guard('datasync', () => file.datasync()),
    }))
    const { wal } = await openIn(directory, { disk })
    wal.append(end(1))
    await wal.sync()
    failing = true
    wal.append(end(2))
    await expect(wal.sync()).rejects.toThrow(code)
    failing = false
    await expect(wal.sync()).rejects.toThrow(code)
    expect(() => wal.append(end(3))).toThrow(WalError)
    await wal.close()
    const entries = await entriesIn(directory)
    expect(entries.slice(0, 1)).toEqual([end(1)])
  })

  it('with no room for a new segment rejects', async () => {
    const disk: WalDisk = {
      ...nodeDisk,
      open: (path, flags) =>
        path.endsWith('00000002.wal.new')
          ? Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))
          : nodeDisk.open(path, flags),
    }
    const { wal } = await openIn(temporaryDirectory(), { disk, segmentBytes: 10 })
    wal.append(end(1))
    await expect(wal.sync()).rejects.toThrow('ENOSPC')
    await wal.close()
  })

  it('a short write is continued', async () => {
    const directory = temporaryDirectory()
    const disk = diskWith((file) => ({
      write: (bytes, offset, length, position) => file.write(bytes, offset, Math.min(length, 7), position),
    }))
    const { wal } = await openIn(directory, { disk })
    wal.append(vote(1))
    await wal.close()
    expect(await entriesIn(directory)).toEqual([vote(1)])
  })

  it('refuses use after close', async () => {
    const { wal } = await openIn(temporaryDirectory())
    await wal.close()
    expect(() => wal.append(end(1))).toThrow(WalError)
  })
})

/** This machine's disk, whose files have some operations of their own. */
function diskWith(change: (file: WalFile) => Partial<WalFile>): WalDisk {
  return {
    ...nodeDisk,
    open: async (path, flags) => {
      const file = await nodeDisk.open(path, flags)
      const whole: WalFile = {
        write: (...args) => file.write(...args),
        datasync: () => file.datasync(),
        sync: () => file.sync(),
        close: () => file.close(),
      }
      return { ...whole, ...change(file) }
    },
  }
}

/** For tests of many files, which the real disk would take minutes for. */
const diskWithoutSync: WalDisk = {
  ...diskWith(() => ({ datasync: () => Promise.resolve(), sync: () => Promise.resolve() })),
  syncDirectory: () => Promise.resolve(),
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.with(at, bytes[at]! ^ 1))
}

function zeroEnd(file: string, count: number): void {
  const bytes = readFileSync(file)
  bytes.fill(0, bytes.length - count)
  writeFileSync(file, bytes)
}

/** Where the last batch begins: its sync mark says so. */
function lastBatch(file: string): number {
  const bytes = readFileSync(file)
  for (let at = bytes.length - 13; at > HEADER_LENGTH; at--) {
    if (bytes.readUInt32LE(at + 4) === 5 && bytes[at + 8] === 1 && bytes.readUInt32LE(at + 9) === at) return at
  }
  throw new Error('no sync mark')
}
