import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MerklePatriciaTrie, verifyMPTWithMerkleProof } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { expect, it } from 'vitest'
import { EMPTY_BYTES } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { readStateHead } from '../../src/state/head.ts'
import { NATIVE_ACCOUNT } from '../../src/state/prepareChanges.ts'
import { proofAt } from '../../src/state/proof.ts'
import { StateStore } from '../../src/state/stateStore.ts'
import { createStateCaches, openStateAt } from '../../src/state/view.ts'
import { WriteBatch } from '../../src/storage/batch.ts'
import { Database } from '../../src/storage/database.ts'
import { firstSeed, runs } from '../propertyRuns.ts'
import { MemoryStateReader } from '../support/state/memoryReader.ts'
import { ACCOUNTS, createRandom, describeState, randomBlock } from '../support/state/randomChain.ts'

const BLOCKS = runs(300)
/** blocks of state that a pruned node keeps */
const WINDOW = 120

async function proven(root: Uint8Array, key: Uint8Array, proof: readonly Uint8Array[]): Promise<Uint8Array> {
  const trie = new MerklePatriciaTrie({ useKeyHashing: true })
  return (await verifyMPTWithMerkleProof(trie, root, key, [...proof])) ?? EMPTY_BYTES
}

it.each(['archive', 'pruned'])(`keeps the states of ${BLOCKS} random blocks, %s`, async (kind) => {
  const directory = mkdtempSync(join(tmpdir(), 'coind-history-'))
  const database = await Database.open(directory)
  const store = new StateStore(database, { residentBytes: 50_000, cacheBytes: 100_000 })
  const model = new MemoryStateReader()
  const random = createRandom(firstSeed(2000))
  /** hash of each state, so that the states need not stay in memory */
  const states: Uint8Array[] = []
  const roots: Uint8Array[] = []
  const digest = (state: unknown) => keccak256(new TextEncoder().encode(JSON.stringify(state)))
  for (let height = 0; height < BLOCKS; height++) {
    const changes = randomBlock(store.reader(), random).changes()
    const pending = await store.apply(changes, height)
    const batch = new WriteBatch()
    if (kind === 'pruned') store.dropHistory(batch, height - WINDOW, 500)
    pending.write(batch)
    await database.write(batch, { sync: false })
    pending.publish()
    model.apply(changes)
    states.push(digest(describeState(model)))
    roots.push(store.root)
  }
  expect(store.oldestHeight).toBe(kind === 'pruned' ? BLOCKS - 1 - WINDOW : 0)
  const snapshot = database.snapshot()
  const head = readStateHead(snapshot)!
  const caches = createStateCaches()
  for (let height = head.oldestHeight; height < BLOCKS; height++) {
    const reader = openStateAt(snapshot, caches, head, height)
    expect(digest(describeState(reader))).toEqual(states[height])
    if (random(12) > 0) continue
    for (const address of [ACCOUNTS[height % ACCOUNTS.length]!, NATIVE_ACCOUNT]) {
      const { accountProof, nonce, storageRoot } = await proofAt(snapshot, head, height, address, [])
      const leaf = await proven(roots[height]!, address, accountProof)
      const account = reader.getAccount(address)
      expect(leaf.length > 0).toBe(account !== undefined)
      expect(nonce).toBe(account?.nonce ?? 0n)
      if (leaf.length > 0) expect((RLP.decode(leaf) as Uint8Array[])[2]).toEqual(storageRoot)
    }
  }
  await snapshot.close()
  await store.close()
  await database.close()
  rmSync(directory, { recursive: true })
})
