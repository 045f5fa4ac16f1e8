/**
 * Measures reads and writes of the database, without the parts above it. Values of the sizes that columns have are written in
 * batches, then read one by one in random order, then all in a row. Prints processor time for each entry (of this thread, in µs)
 * and entries per second; asserts nothing.
 *
 *   node bench/database.ts [entries] [rounds]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256 } from '../src/primitives/hash.ts'
import { WriteBatch } from '../src/storage/batch.ts'
import { Database } from '../src/storage/database.ts'

const [entries = 100_000, rounds = 5] = process.argv.slice(2).map(Number)
/** sizes of values: a key of an index (no bytes); an account; a trie node; bytecode, in fewer entries */
const SIZES = [
  { bytes: 0, count: entries },
  { bytes: 40, count: entries },
  { bytes: 300, count: entries },
  { bytes: 24_576, count: Math.ceil(entries / 50) },
]
const BATCH = 2_000
const START = Uint8Array.of(1)
const END = Uint8Array.of(2)

/** Returns a key: the column, and 20 scattered bytes. */
function keyOf(index: number): Uint8Array {
  const key = keccak256(Uint8Array.of(index >>> 24, index >>> 16, index >>> 8, index)).slice(0, 21)
  key[0] = 1
  return key
}

interface Cost {
  readonly cpuMicroseconds: number
  readonly perSecond: number
}

async function measure(count: number, run: () => Promise<void>): Promise<Cost> {
  const begin = performance.now()
  const cpu = process.threadCpuUsage()
  await run()
  const { user, system } = process.threadCpuUsage(cpu)
  return { cpuMicroseconds: (user + system) / count, perSecond: (count * 1_000) / (performance.now() - begin) }
}

function print(name: string, costs: readonly Cost[]): void {
  const cpu = Math.min(...costs.map(({ cpuMicroseconds }) => cpuMicroseconds))
  const perSecond = Math.max(...costs.map((cost) => cost.perSecond))
  console.log(`${name.padEnd(30)}${cpu.toFixed(2).padStart(10)}${perSecond.toFixed(0).padStart(12)}`)
}

console.log(`best of ${rounds} rounds`)
console.log(`${''.padEnd(30)}${'µs CPU'.padStart(10)}${'per second'.padStart(12)}`)
for (const { bytes, count } of SIZES) {
  const keys = Array.from({ length: count }, (_, index) => keyOf(index))
  const value = new Uint8Array(bytes).map((_, index) => index * 7)
  const costs: Record<'write' | 'get' | 'range', Cost[]> = { write: [], get: [], range: [] }
  for (let round = 0; round < rounds; round++) {
    const directory = mkdtempSync(join(tmpdir(), 'coind-bench-'))
    const database = await Database.open(directory)
    const write = async (): Promise<void> => {
      for (let at = 0; at < count; at += BATCH) {
        const batch = new WriteBatch()
        for (const key of keys.slice(at, at + BATCH)) batch.put(key, value)
        await database.write(batch, { sync: false })
      }
    }
    costs.write.push(await measure(count, write))
    await database.compact(START, END)
    const snapshot = database.snapshot()
    const readEach = async (): Promise<void> => {
      for (let i = 0; i < count; i++) snapshot.get(keys[(i * 7_919) % count]!)
    }
    // The first time fills LevelDB's cache.
    await readEach()
    costs.get.push(await measure(count, readEach))
    const readAll = async (): Promise<void> => {
      let seen = 0
      for await (const _ of snapshot.entries({ start: START, end: END })) seen++
      if (seen !== count) throw new Error(`${seen} of ${count} entries`)
    }
    costs.range.push(await measure(count, readAll))
    await snapshot.close()
    await database.close()
    rmSync(directory, { recursive: true })
  }
  for (const [what, list] of Object.entries(costs)) print(`${what}, ${bytes} bytes`, list)
}
