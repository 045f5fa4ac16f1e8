/**
 * Measures one read of the state when no cache has it: accounts, slots and bytecode of a large database, each read once, in
 * random order, through the reader that blocks are executed on. Prints and asserts nothing.
 *
 *   node bench/coldReads.ts [accounts] [slots] [contracts of 24 KiB] [reads]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256 } from '../src/primitives/hash.ts'
import { accountKey, codeKey, encodeAccount, slotKey } from '../src/state/flatState.ts'
import { StateStore } from '../src/state/stateStore.ts'
import { WriteBatch } from '../src/storage/batch.ts'
import { Column, columnKey } from '../src/storage/columns.ts'
import { Database } from '../src/storage/database.ts'

const [accounts = 1_000_000, slots = 1_000_000, contracts = 4_000, reads = 20_000] = process.argv.slice(2).map(Number)
const CODE_BYTES = 24_576
const BATCH = 20_000
const CONTRACT = hashOf('contract', 0).slice(12)

function hashOf(kind: string, index: number): Uint8Array {
  return keccak256(Buffer.from(`${kind} ${index}`))
}
const addressOf = (index: number): Uint8Array => hashOf('account', index).slice(12)

/** Yields `count` different numbers below `limit`, in a scattered order. */
function* scattered(limit: number, count: number): Generator<number> {
  for (let i = 0; i < Math.min(limit, count); i++) yield (i * 982_451_653) % limit
}

async function fill(database: Database): Promise<void> {
  let batch = new WriteBatch()
  const put = async (key: Uint8Array, value: Uint8Array, most = BATCH): Promise<void> => {
    batch.put(key, value)
    if (batch.length < most) return
    await database.write(batch, { sync: false })
    batch = new WriteBatch()
  }
  for (let i = 0; i < accounts; i++) {
    const account = { nonce: BigInt(i), balance: BigInt(i) ** 3n, codeHash: hashOf('code', i % Math.max(1, contracts)) }
    await put(accountKey(addressOf(i)), encodeAccount(account))
  }
  for (let i = 0; i < slots; i++) await put(slotKey(CONTRACT, hashOf('slot', i)), hashOf('value', i))
  const code = new Uint8Array(CODE_BYTES)
  for (let i = 0; i < contracts; i++) {
    // Bytes that do not compress well.
    for (let at = 0; at < CODE_BYTES; at += 32) code.set(keccak256(Uint8Array.of(i, i >> 8, at, at >> 8)), at)
    await put(codeKey(hashOf('code', i)), code, 200)
  }
  await database.write(batch, { sync: true })
  for (const column of [Column.account, Column.slot, Column.code])
    await database.compact(columnKey(column), columnKey(column + 1))
}

function measure(name: string, count: number, run: () => void): void {
  const begin = performance.now()
  const cpu = process.threadCpuUsage()
  run()
  const { user, system } = process.threadCpuUsage(cpu)
  const columns = [(user + system) / count, ((performance.now() - begin) * 1_000) / count]
  console.log(`${name.padEnd(34)}${columns.map((value) => value.toFixed(1).padStart(10)).join('')}`)
}

const directory = mkdtempSync(join(tmpdir(), 'coind-bench-'))
const filling = await Database.open(directory)
await fill(filling)
await filling.close()
const database = await Database.open(directory)
const state = new StateStore(database)
const reader = state.reader()
console.log(`${accounts} accounts, ${slots} slots, ${contracts} contracts of ${CODE_BYTES} bytes`)
console.log(`${'each read once'.padEnd(34)}${'µs CPU'.padStart(10)}${'µs'.padStart(10)}`)
for (const round of ['first', 'again'] as const) {
  const label = (name: string): string => `${name}, ${round === 'first' ? 'cold' : 'cached'}`
  const addresses = [...scattered(accounts, reads)].map(addressOf)
  measure(label('account'), addresses.length, () => {
    for (const address of addresses) reader.getAccount(address)
  })
  const keys = [...scattered(slots, reads)].map((index) => hashOf('slot', index))
  measure(label('slot'), keys.length, () => {
    for (const key of keys) reader.getStorage(CONTRACT, key)
  })
  const absent = keys.map((_, index) => hashOf('absent', index))
  measure(label('absent slot'), absent.length, () => {
    for (const key of absent) reader.getStorage(CONTRACT, key)
  })
  const hashes = [...scattered(contracts, reads)].map((index) => hashOf('code', index))
  measure(label('code'), hashes.length, () => {
    for (const hash of hashes) reader.getCode(hash)
  })
}
await state.close()
await database.close()
rmSync(directory, { recursive: true })
