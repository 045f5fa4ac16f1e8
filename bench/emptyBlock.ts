/**
 * What an empty block retains on disk: blocks that change three storage slots of two accounts, as EIP-4788 and EIP-2935
 * do, on a state of many accounts. Prints bytes a block by column, as they are and after LevelDB's compaction.
 *
 *   node bench/emptyBlock.ts [accounts] [blocks]
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256 } from '../src/primitives/hash.ts'
import { Journal } from '../src/state/journal.ts'
import { StateStore } from '../src/state/store.ts'
import { WriteBatch } from '../src/storage/batch.ts'
import { Column } from '../src/storage/columns.ts'
import { Database } from '../src/storage/database.ts'

const [accountCount = 100_000, blockCount = 20_000] = process.argv.slice(2).map(Number)
const RING = 8191
const HISTORY = [Column.flatHistory, Column.changeIndex, Column.changeShard, Column.trieHistory, Column.blockChanges]
const number = (value: number) => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value)
const slotOf = (value: number) => {
  const slot = new Uint8Array(32)
  slot.set(number(value), 28)
  return slot
}

const directory = mkdtempSync(join(tmpdir(), 'coind-bench-'))
const database = await Database.open(directory)
const store = new StateStore(database)
const [beaconRoots, blockHashes] = [keccak256(number(1)).slice(0, 20), keccak256(number(2)).slice(0, 20)]

async function addBlock(journal: Journal): Promise<void> {
  const pending = await store.apply(journal.changes(), store.height + 1)
  const batch = new WriteBatch()
  pending.write(batch)
  await database.write(batch, { sync: false })
  pending.publish()
}

async function measure(): Promise<Map<string, { entries: number; bytes: number }>> {
  const found = new Map<string, { entries: number; bytes: number }>()
  for (const [name, column] of Object.entries(Column)) {
    const sum = { entries: 0, bytes: 0 }
    for await (const [key, value] of database.entries({
      start: Uint8Array.of(column),
      end: Uint8Array.of(column + 1),
    })) {
      sum.entries++
      sum.bytes += key.length + value.length
    }
    found.set(name, sum)
  }
  return found
}

async function diskBytes(): Promise<number> {
  await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
}

const genesis = new Journal(store.reader())
for (let i = 0; i < accountCount; i++) genesis.setBalance(keccak256(number(i)).slice(0, 20), BigInt(i + 1))
for (const address of [beaconRoots, blockHashes]) genesis.setNonce(address, 1n)
await addBlock(genesis)
// The rings are full in the steady state that is measured.
const full = new Journal(store.reader())
for (let i = 0; i < RING; i++) {
  full.setStorage(beaconRoots, slotOf(i), number(i + 1))
  full.setStorage(beaconRoots, slotOf(i + RING), keccak256(number(i)))
  full.setStorage(blockHashes, slotOf(i), keccak256(number(i + 7)))
}
await addBlock(full)
const before = await measure()
const diskBefore = await diskBytes()
const started = performance.now()
for (let i = 0; i < blockCount; i++) {
  const timestamp = 1_700_000_000 + Math.floor(i * 0.4)
  const journal = new Journal(store.reader())
  journal.setStorage(beaconRoots, slotOf(timestamp % RING), number(timestamp))
  journal.setStorage(beaconRoots, slotOf((timestamp % RING) + RING), keccak256(number(i)))
  journal.setStorage(blockHashes, slotOf(i % RING), keccak256(number(i * 3)))
  await addBlock(journal)
}
console.log(
  `${blockCount} empty blocks on ${accountCount} accounts: ${((performance.now() - started) / blockCount).toFixed(2)} ms each`,
)
const after = await measure()
let total = 0
for (const [name, { entries, bytes }] of after) {
  const old = before.get(name)!
  const perBlock = (bytes - old.bytes) / blockCount
  if (HISTORY.some((column) => Column[name as keyof typeof Column] === column)) total += perBlock
  console.log(
    `${name.padEnd(14)} ${((entries - old.entries) / blockCount).toFixed(2).padStart(6)} entries, ${perBlock.toFixed(0).padStart(5)} bytes a block`,
  )
}
console.log(`history and index: ${total.toFixed(0)} bytes a block in keys and values`)
console.log(`on disk, compacted: ${((await diskBytes()) - diskBefore) / blockCount} bytes a block`)
await store.close()
await database.close()
rmSync(directory, { recursive: true })
