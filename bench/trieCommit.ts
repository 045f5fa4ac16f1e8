/**
 * Measures 10,000 account updates on a state of 100,000 accounts: root, history and batch of the state store, next to the same
 * updates of @ethereumjs/mpt (account trie only, in memory, with the same keccak). Prints; asserts only the roots.
 *
 *   node bench/trieCommit.ts [accounts] [updates] [--no-peer]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMPT } from '@ethereumjs/mpt'
import { bytesKey, bytesToHex, equalBytes, keyBytes } from '../src/primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256 } from '../src/primitives/hash.ts'
import { Journal } from '../src/state/journal.ts'
import { StateStore } from '../src/state/stateStore.ts'
import { encodeAccountLeaf } from '../src/state/trie.ts'
import { WriteBatch } from '../src/storage/batch.ts'
import { Database } from '../src/storage/database.ts'

const [accountCount = 100_000, updateCount = 10_000] = process.argv
  .slice(2)
  .filter((a) => !a.startsWith('--'))
  .map(Number)
const withPeer = !process.argv.includes('--no-peer')
const ROUNDS = Number(process.env.ROUNDS ?? 5)

const addressOf = (index: number) => keccak256(Uint8Array.of(index, index >> 8, index >> 16, index >> 24)).slice(0, 20)
const updatesOf = (round: number) =>
  Array.from({ length: updateCount }, (_, i) => ({
    address: addressOf(((i * 7919 + round * 104_729) * 31) % accountCount),
    balance: BigInt(i + 1) * 10n ** 15n + BigInt(round),
  }))
const genesis = Array.from({ length: accountCount }, (_, i) => ({
  address: addressOf(i),
  balance: BigInt(i + 1) ** 3n,
}))
const print = (name: string, times: readonly number[]) =>
  console.log(
    `${name.padEnd(52)} best ${Math.min(...times).toFixed(0)} ms, all ${times.map((t) => t.toFixed(0)).join(' ')}`,
  )

const directory = mkdtempSync(join(tmpdir(), 'coind-bench-'))
const database = await Database.open(directory)
const store = new StateStore(database)
const times: Record<'changes' | 'apply' | 'batch' | 'write' | 'publish' | 'total' | 'thread CPU', number[]> = {
  changes: [],
  apply: [],
  batch: [],
  write: [],
  publish: [],
  total: [],
  'thread CPU': [],
}

async function runBlock(entries: readonly { address: Uint8Array; balance: bigint }[]): Promise<void> {
  const journal = new Journal(store.reader())
  for (const { address, balance } of entries) journal.setBalance(address, balance)
  const cpu = process.threadCpuUsage()
  const start = performance.now()
  const changes = journal.changes()
  const prepared = performance.now()
  const pending = await store.apply(changes, store.height + 1)
  const applied = performance.now()
  const batch = new WriteBatch()
  pending.write(batch)
  const batched = performance.now()
  await database.write(batch, { sync: false })
  const written = performance.now()
  pending.publish()
  const published = performance.now()
  if (store.height === 0) return
  times.changes.push(prepared - start)
  times.apply.push(applied - prepared)
  times.batch.push(batched - applied)
  times.write.push(written - batched)
  times.publish.push(published - written)
  times.total.push(published - start)
  const { user, system } = process.threadCpuUsage(cpu)
  times['thread CPU'].push((user + system) / 1000)
  if (store.height === 1) console.log(`${batch.length} writes, ${(batch.bytes / 1e6).toFixed(1)} MB in the batch`)
}

const built = performance.now()
await runBlock(genesis)
console.log(`genesis of ${accountCount} accounts: ${(performance.now() - built).toFixed(0)} ms`)
for (let round = 0; round < ROUNDS; round++) await runBlock(updatesOf(round))
console.log(`${updateCount} updates on ${accountCount} accounts`)
for (const [name, values] of Object.entries(times)) print(`state store: ${name}`, values)

if (withPeer) {
  const trie = await createMPT({ useKeyHashing: true, useKeyHashingFunction: keccak256 })
  const put = async (entries: readonly { address: Uint8Array; balance: bigint }[]) => {
    for (const { address, balance } of entries) {
      const account = { nonce: 0n, balance, codeHash: EMPTY_CODE_HASH }
      await trie.put(address, keyBytes(encodeAccountLeaf(account, bytesKey(EMPTY_TRIE_ROOT))))
    }
  }
  await put(genesis)
  const peer: number[] = []
  const peerCpu: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const entries = updatesOf(round)
    const cpu = process.threadCpuUsage()
    const start = performance.now()
    await put(entries)
    peer.push(performance.now() - start)
    const { user, system } = process.threadCpuUsage(cpu)
    peerCpu.push((user + system) / 1000)
  }
  print('@ethereumjs/mpt: put (nothing written to a disk)', peer)
  print('@ethereumjs/mpt: thread CPU', peerCpu)
  console.log(`roots ${equalBytes(trie.root(), store.root) ? 'are equal' : 'DIFFER'}: ${bytesToHex(store.root)}`)
}
await store.close()
await database.close()
rmSync(directory, { recursive: true })
