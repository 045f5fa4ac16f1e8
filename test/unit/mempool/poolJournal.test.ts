import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HEADER_BYTES, type JournalDisk, nodeDisk } from '../../../src/mempool/journalFile.ts'
import { JOURNAL_LIMITS, type JournaledEntry, PoolJournal } from '../../../src/mempool/poolJournal.ts'
import { bytesKey } from '../../../src/primitives/bytes.ts'
import { createRandom } from '../../support/state/randomChain.ts'

const GENESIS = new Uint8Array(32).fill(7)

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-journal-'))
  path = join(directory, 'pool.journal')
})
afterEach(async () => {
  await Promise.all(journals.map((journal) => journal.close()))
  journals = []
  rmSync(directory, { recursive: true })
})

let journals: PoolJournal[] = []

/** The transaction number `index`; its bytes begin with that number. */
function entryOf(index: number, bytes = 100): JournaledEntry {
  const raw = Buffer.alloc(bytes, index % 251)
  raw.writeUInt32BE(index)
  return { hashKey: `hash ${index}`, raw: bytesKey(raw) }
}

const indexOf = (raw: Uint8Array): number => Buffer.from(raw).readUInt32BE()

type Options = ConstructorParameters<typeof PoolJournal>[0]

/** A journal whose timers fire when the test says so. */
class TestJournal {
  readonly journal: PoolJournal
  readonly logged: {
    readonly level: string
    readonly fields: Readonly<Record<string, unknown>>
    readonly message: string
  }[] = []
  readonly due: { readonly work: () => void; readonly ms: number }[] = []
  skipped = 0

  constructor(options: Partial<Options> = {}) {
    const log = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
      void this.logged.push({ level, fields, message })
    this.journal = new PoolJournal({
      path,
      genesisHash: GENESIS,
      later: (work, ms) => void this.due.push({ work, ms }),
      log: { warn: log('warn'), error: log('error') },
      onSkipped: () => {
        this.skipped++
      },
      ...options,
    })
    journals.push(this.journal)
  }

  /** What it had before the start, as numbers. */
  async open(retains: (index: number) => boolean = () => true): Promise<number[]> {
    const read: number[] = []
    for await (const raws of this.journal.open()) {
      for (const raw of raws) {
        const index = indexOf(raw)
        read.push(index)
        if (retains(index)) this.journal.retain({ hashKey: `hash ${index}`, raw: bytesKey(raw) })
      }
    }
    return read
  }

  add(from: number, count: number, bytes?: number): void {
    for (let index = from; index < from + count; index++) this.journal.add(entryOf(index, bytes))
  }

  remove(from: number, count: number, bytes?: number): void {
    for (let index = from; index < from + count; index++) this.journal.remove(entryOf(index, bytes))
  }

  /** Fires the timers, also those that are set meanwhile, until all is written. */
  async settle(): Promise<void> {
    await this.journal.running
    while (this.due.length > 0) {
      this.due.shift()!.work()
      await this.journal.running
    }
  }
}

async function opened(options: Partial<Options> = {}): Promise<TestJournal> {
  const test = new TestJournal(options)
  await test.open()
  await test.settle()
  return test
}

/** What a process that starts now finds. */
async function found(): Promise<number[]> {
  const test = new TestJournal()
  const read = await test.open()
  await test.journal.close()
  return read
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index)

/** Counts what is written, and may do something before each operation of a file. */
function watchedDisk(before: (operation: string) => Promise<void> | void = () => undefined) {
  const written: number[] = []
  let syncs = 0
  const disk: JournalDisk = {
    ...nodeDisk,
    open: async (...args) => {
      const handle = await nodeDisk.open(...args)
      return new Proxy(handle, {
        get: (target, name: keyof typeof handle) => {
          const method = target[name] as (...args: unknown[]) => unknown
          if (typeof method !== 'function') return method
          return async (...args: unknown[]) => {
            await before(name)
            if (name === 'write') written.push(args[2] as number)
            if (name === 'datasync') syncs++
            return method.apply(target, args)
          }
        },
      })
    },
    rename: async (from, to) => {
      await before('rename')
      await nodeDisk.rename(from, to)
    },
  }
  return { disk, written, syncs: () => syncs }
}

describe('the journal', () => {
  it('has after a kill what was written, in the order of admission, and after a stop all', async () => {
    const test = await opened()
    test.add(1, 700)
    await test.settle()
    test.add(701, 5)
    // Killed: the timer for the last five has not fired.
    expect(await found()).toEqual(range(1, 700))
    await test.journal.close()
    expect(await found()).toEqual(range(1, 705))
  })

  it('writes in one step what came in the meantime, and syncs none of it', async () => {
    const { disk, written, syncs } = watchedDisk()
    const test = await opened({ disk })
    written.length = 0
    test.add(1, 200)
    expect(test.due.map(({ ms }) => ms)).toEqual([20])
    expect(written).toEqual([])
    await test.settle()
    expect(written).toHaveLength(1)
    expect(syncs()).toBe(0)
  })

  it('encodes little at a time, however much is accepted at once', async () => {
    const { disk, written } = watchedDisk()
    const test = await opened({ disk })
    test.add(1, 40, 131_072)
    test.add(100, 4_000)
    await test.settle()
    expect(Math.max(...written)).toBeLessThanOrEqual(65_536 + 131_072 + 16)
    expect(await found()).toHaveLength(4_040)
  })

  it('writes nothing of a transaction that is in a block before its turn', async () => {
    const { disk, written } = watchedDisk()
    const test = await opened({ disk })
    written.length = 0
    test.add(1, 50)
    test.remove(1, 50)
    await test.settle()
    expect(written).toEqual([])
    expect(test.journal.size).toBe(0)
  })

  it('is written anew without what has left the pool, so that its bytes stay in proportion', async () => {
    const test = await opened({ limits: { slackBytes: 10_000 } })
    let most = 0
    for (let from = 1; from <= 20_000; from += 100) {
      test.add(from, 100)
      await test.settle()
      if (from > 300) test.remove(from - 300, 100)
      most = Math.max(most, statSync(path).size)
    }
    expect(most).toBeLessThan(10_000 + 3 * 400 * 104 + 20_000)
    test.add(30_000, 1)
    await test.settle()
    const now = await found()
    expect(now).toEqual(expect.arrayContaining([...range(19_801, 200), 30_000]))
    expect(readdirSync(directory)).toEqual(['pool.journal'])
  })

  it('loses nothing that is accepted while it is written anew', async () => {
    const added: number[] = []
    let left = 0
    let renames = 0
    const { disk } = watchedDisk((operation) => {
      if (operation === 'rename') renames++
      if (left === 0) return
      left--
      const index = 10_000 + added.length
      added.push(index)
      test.journal.add(entryOf(index))
    })
    const test = await opened({ disk, limits: { slackBytes: 1_000 } })
    test.add(1, 6_000)
    await test.settle()
    test.remove(1, 4_000)
    left = 100
    test.add(9_000, 1)
    await test.settle()
    expect(renames).toBe(1)
    expect(added).toHaveLength(100)
    expect(new Set(await found())).toEqual(new Set([...range(4_001, 2_000), 9_000, ...added]))
  })

  it('is not written anew before all of it was read', async () => {
    const first = await opened()
    first.add(1, 2_000)
    await first.journal.close()
    const { disk, syncs } = watchedDisk()
    const test = new TestJournal({ disk, limits: { slackBytes: 0 } })
    const reading = test.journal.open()
    await reading.next()
    test.add(5_000, 10)
    test.remove(5_000, 10)
    test.add(6_000, 10)
    await test.settle()
    expect(syncs()).toBe(0)
    expect(await found()).toEqual([...range(1, 2_000), ...range(6_000, 10)])
    // The pool takes none of them.
    await Array.fromAsync(reading)
    await test.settle()
    expect(syncs()).toBe(1)
    expect(await found()).toEqual(range(6_000, 10))
  })

  it('has at most so many bytes of live transactions, and counts the others', async () => {
    const test = await opened({ limits: { liveBytes: 104 * 300 } })
    test.add(1, 1_000)
    await test.settle()
    expect(test.skipped).toBe(700)
    expect(await found()).toEqual(range(1, 300))
    test.remove(1, 10)
    test.add(2_000, 20)
    expect(test.skipped).toBe(710)
  })

  it('never has more bytes than its limit, and lacks nothing once it is written anew', async () => {
    const fileBytes = 120_000
    const first = await opened()
    first.add(1, 10)
    await first.journal.close()
    const test = new TestJournal({ limits: { liveBytes: 50_000, fileBytes } })
    const reading = test.journal.open()
    await reading.next()
    // It cannot be written anew yet.
    for (let from = 1_000; from < 10_000; from += 100) {
      test.add(from, 100)
      await test.settle()
      test.remove(from, 100)
      expect(statSync(path).size).toBeLessThanOrEqual(fileBytes)
    }
    expect(statSync(path).size).toBeGreaterThan(fileBytes - 20_000)
    test.add(20_000, 400)
    await test.settle()
    await Array.fromAsync(reading)
    await test.settle()
    expect(await found()).toEqual(range(20_000, 400))
  })

  it('lets few transactions wait for a disk that has stopped', async () => {
    let isStopped = true
    const released = Promise.withResolvers<void>()
    const { disk, written } = watchedDisk((operation) =>
      operation === 'write' && isStopped ? released.promise : undefined,
    )
    isStopped = false
    const test = await opened({ disk })
    isStopped = true
    test.add(1, 1)
    test.due.shift()!.work()
    test.add(2, JOURNAL_LIMITS.waiting * 3)
    test.remove(3, 7)
    isStopped = false
    written.length = 0
    released.resolve()
    await test.settle()
    const all = [1, 2, ...range(10, JOURNAL_LIMITS.waiting * 3 - 8)]
    expect(await found()).toEqual(all)
  })
})

describe('a journal that is not whole', () => {
  /** Three frames; where each of them ends. */
  async function writeThree(): Promise<number[]> {
    const test = await opened()
    const ends: number[] = []
    for (const from of [1, 11, 21]) {
      test.add(from, 10)
      await test.settle()
      ends.push(statSync(path).size)
    }
    await test.journal.close()
    return ends
  }

  it('is read as far as it was written, wherever the end was cut off, and continued there', async () => {
    const ends = await writeThree()
    const whole = readFileSync(path)
    for (let length = 0; length < whole.length; length += 31) {
      writeFileSync(path, whole)
      truncateSync(path, length)
      const test = new TestJournal()
      const frames = ends.filter((end) => end <= length).length
      expect(await test.open()).toEqual(range(1, 10 * frames))
      expect(test.logged).toEqual([])
      test.add(100, 1)
      await test.journal.close()
      expect(await found()).toEqual([...range(1, 10 * frames), 100])
    }
  })

  it('may end with zeros', async () => {
    const [, second] = await writeThree()
    const whole = readFileSync(path)
    whole.fill(0, second)
    writeFileSync(path, Buffer.concat([whole, Buffer.alloc(100_000)]))
    const test = new TestJournal()
    expect(await test.open()).toEqual(range(1, 20))
    expect(test.logged).toEqual([])
  })

  it('is set aside with a warning where it is damaged before its end', async () => {
    const [first, second] = await writeThree()
    const whole = readFileSync(path)
    // In the length, the checksums and the content of the second frame.
    for (const at of [first! + 2, first! + 3, first! + 5, first! + 9, first! + 40, second! - 1]) {
      const damaged = Buffer.from(whole)
      damaged[at]! ^= 0x10
      writeFileSync(path, damaged)
      const test = new TestJournal()
      expect(await test.open()).toEqual(range(1, 10))
      expect(test.logged).toMatchObject([
        {
          level: 'warn',
          fields: { file: `${path}.aside`, reason: 'it is damaged', offset: first },
          message: expect.stringMatching(/set aside/),
        },
      ])
      expect(readFileSync(`${path}.aside`)).toEqual(damaged)
      await test.journal.close()
      expect(await found()).toEqual(range(1, 10))
    }
  })

  it.each<[string, number, RegExp]>([
    ['a damaged header', HEADER_BYTES - 1, /header is damaged/],
    ['a damaged genesis hash', 12, /header is damaged/],
  ])('is set aside as a whole with %s', async (_, at, reason) => {
    await writeThree()
    const damaged = readFileSync(path)
    damaged[at]! ^= 1
    writeFileSync(path, damaged)
    const test = new TestJournal()
    expect(await test.open()).toEqual([])
    expect(test.logged).toMatchObject([{ level: 'warn', fields: { offset: 0, reason: expect.stringMatching(reason) } }])
    expect(readFileSync(`${path}.aside`)).toEqual(damaged)
    test.add(1, 1)
    await test.journal.close()
    expect(await found()).toEqual([1])
  })

  it('is set aside when it belongs to another chain', async () => {
    await writeThree()
    const test = new TestJournal({ genesisHash: new Uint8Array(32) })
    expect(await test.open()).toEqual([])
    expect(test.logged).toMatchObject([{ level: 'warn', fields: { reason: expect.stringMatching(/another genesis/) } }])
    expect(readdirSync(directory).sort()).toEqual(['pool.journal', 'pool.journal.aside'])
  })

  it('is off, and holds up no stop, where its name is that of a FIFO', async () => {
    execFileSync('mkfifo', [path])
    const test = new TestJournal()
    expect(await test.open()).toEqual([])
    expect(test.logged).toMatchObject([{ level: 'error', message: expect.stringMatching(/cannot be opened/) }])
    await test.journal.close()
    expect(statSync(path).isFIFO()).toBe(true)
  })

  it('is no longer written when it cannot be opened, and stays as it is', async () => {
    const { disk } = watchedDisk((operation) => {
      if (operation === 'stat') throw new Error('EIO')
    })
    await writeThree()
    const test = new TestJournal({ disk })
    expect(await test.open()).toEqual([])
    expect(test.logged).toMatchObject([{ level: 'error', message: expect.stringMatching(/cannot be opened/) }])
    test.add(50, 3)
    await test.settle()
    await test.journal.close()
    expect(await found()).toEqual(range(1, 30))
  })
})

describe('a journal whose disk fails', () => {
  it('is written anew when the disk works again', async () => {
    let isFull = false
    const { disk } = watchedDisk((operation) => {
      if (operation === 'write' && isFull) throw new Error('ENOSPC')
    })
    const test = await opened({ disk })
    test.add(1, 10)
    await test.settle()
    isFull = true
    test.add(11, 10)
    test.due.shift()!.work()
    await test.journal.running
    expect(test.logged).toMatchObject([{ level: 'error', message: expect.stringMatching(/cannot be written/) }])
    expect(test.due.map(({ ms }) => ms)).toEqual([30_000])
    test.add(21, 10)
    isFull = false
    await test.settle()
    expect(await found()).toEqual(range(1, 30))
  })
})

describe('files', () => {
  it('can be read by their owner alone', async () => {
    const test = await opened({ limits: { slackBytes: 100 } })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    test.add(1, 10)
    await test.settle()
    const { ino } = statSync(path)
    test.remove(1, 9)
    test.add(11, 1)
    await test.settle()
    expect(statSync(path).ino).not.toBe(ino)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('are whole at each moment, wherever a process is killed', async () => {
    const random = createRandom(41)
    const written = new Set<number>()
    const live = new Set<number>()
    let checks = 0
    const check = async (): Promise<void> => {
      const home = path
      const killed = join(directory, 'killed')
      cpSync(home, killed)
      path = killed
      const now = new Set(await found())
      path = home
      for (const index of written) if (live.has(index)) expect(now).toContain(index)
      checks++
    }
    const { disk } = watchedDisk(async (operation) => {
      if (isChecking || operation === 'read' || operation === 'stat') return
      isChecking = true
      await check()
      isChecking = false
    })
    let isChecking = true
    const test = await opened({ disk, limits: { slackBytes: 2_000 } })
    isChecking = false
    for (let next = 1; next < 1_500; ) {
      for (let left = random(60); left >= 0; left--) {
        live.add(next)
        test.journal.add(entryOf(next++))
      }
      for (const index of [...live].slice(0, random(60))) {
        live.delete(index)
        test.journal.remove(entryOf(index))
      }
      const accepted = [...live]
      await test.settle()
      for (const index of accepted) written.add(index)
    }
    expect(checks).toBeGreaterThan(50)
    await check()
  })
})
