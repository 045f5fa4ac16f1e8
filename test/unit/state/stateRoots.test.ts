import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bigIntToBytes } from '../../../src/primitives/bytes.ts'
import type { StateChanges } from '../../../src/state/changes.ts'
import { readStateHead } from '../../../src/state/head.ts'
import { Journal } from '../../../src/state/journal.ts'
import { NATIVE_ACCOUNT } from '../../../src/state/prepareChanges.ts'
import { openStateRoots } from '../../../src/state/stateRoots.ts'
import { StateStore } from '../../../src/state/stateStore.ts'
import { createStateCaches, openStateAt } from '../../../src/state/view.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Database, type DatabaseSnapshot } from '../../../src/storage/database.ts'
import { runs } from '../../propertyRuns.ts'
import { expectedRoot } from '../../support/state/expectedRoot.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'
import { ACCOUNTS, createRandom, randomBlock, randomChange } from '../../support/state/randomChain.ts'

const BLOCKS = 30

describe('roots of states that are stored nowhere', () => {
  let directory: string
  let database: Database
  let store: StateStore
  let snapshot: DatabaseSnapshot
  const models: MemoryStateReader[] = []

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-roots-'))
    database = await Database.open(directory)
    store = new StateStore(database)
    const random = createRandom(11)
    let model = new MemoryStateReader()
    for (let height = 0; height < BLOCKS; height++) {
      const changes = randomBlock(store.reader(), random).changes()
      const pending = await store.apply(changes, height)
      const batch = new WriteBatch()
      pending.write(batch)
      await database.write(batch, { sync: false })
      pending.publish()
      model = modelWith(model, changes)
      models.push(model)
    }
    snapshot = database.snapshot()
  })
  afterAll(async () => {
    await snapshot.close()
    await store.close()
    await database.close()
    rmSync(directory, { recursive: true })
  })

  function modelWith(model: MemoryStateReader, changes: StateChanges): MemoryStateReader {
    const next = model.with(changes)
    if (changes.native.length > 0 && next.getAccount(NATIVE_ACCOUNT) === undefined) {
      next.setAccount(NATIVE_ACCOUNT, { nonce: 1n })
    }
    return next
  }

  it.each([
    ['the head', BLOCKS - 1],
    ['an older block', BLOCKS - 2],
    ['a much older block', 3],
    ['the first block', 0],
  ])('are those that another trie has, after each of many blocks on %s', async (_, height) => {
    const head = readStateHead(snapshot)!
    for (let seed = 0; seed < runs(6); seed++) {
      const random = createRandom(1000 * height + seed)
      const reader = openStateAt(snapshot, createStateCaches(), head, height)
      const roots = openStateRoots(snapshot, reader, head, height)
      const world = new Journal(reader)
      for (let block = 0; block < 8; block++) {
        world.beginTransaction()
        for (let step = random(12); step > 0; step--) randomChange(world, random)
        // Sometimes all storage of an account is replaced.
        if (random(3) === 0) world.clearStorage(ACCOUNTS[random(ACCOUNTS.length)]!)
        world.endTransaction({ clearEmpty: true })
        const changes = world.changes()
        const expected = await expectedRoot(modelWith(models[height]!, changes))
        expect(await roots.after(changes), `seed ${seed}, block ${block}`).toEqual(expected)
      }
    }
  })

  it.each([BLOCKS - 1, 7])(
    'are those of changes in thousands of places, with pauses between, on block %i',
    async (height) => {
      const head = readStateHead(snapshot)!
      const reader = openStateAt(snapshot, createStateCaches(), head, height)
      const roots = openStateRoots(snapshot, reader, head, height)
      const world = new Journal(reader)
      const fill = (address: Uint8Array, count: number): void => {
        world.setNonce(address, 1n)
        for (let index = 0; index < count; index++)
          world.setStorage(address, bigIntToBytes(BigInt(index), 32), Uint8Array.of(1 + (index % 200)))
      }
      let pauses = 0
      const pause = async (): Promise<void> => void pauses++
      const check = async (): Promise<void> => {
        const changes = world.changes()
        expect(await roots.after(changes, pause)).toEqual(await expectedRoot(modelWith(models[height]!, changes)))
      }
      const [kept, cleared, made] = [ACCOUNTS[0]!, ACCOUNTS[1]!, new Uint8Array(20).fill(0xee)]
      fill(kept, 2_500)
      world.clearStorage(cleared)
      fill(cleared, 2_100)
      for (let index = 0; index < 2_200; index++) world.setBalance(bigIntToBytes(BigInt(index + 5_000), 20), 1n)
      fill(made, 3)
      world.endTransaction({ clearEmpty: false })
      await check()
      const first = pauses
      expect(first).toBeGreaterThan(3)
      // All but a few slots go again.
      for (let index = 0; index < 2_497; index++)
        world.setStorage(kept, bigIntToBytes(BigInt(index), 32), new Uint8Array(0))
      world.clearStorage(cleared)
      world.endTransaction({ clearEmpty: false })
      await check()
      await expect(
        openStateRoots(snapshot, reader, head, height).after(world.changes(), () => Promise.reject(new Error('late'))),
      ).rejects.toThrow('late')
    },
  )

  it('are the state’s own where nothing or nothing any more has changed', async () => {
    const head = readStateHead(snapshot)!
    for (const height of [BLOCKS - 1, 7]) {
      const reader = openStateAt(snapshot, createStateCaches(), head, height)
      const roots = openStateRoots(snapshot, reader, head, height)
      const world = new Journal(reader)
      const own = await expectedRoot(models[height]!)
      expect(await roots.after(world.changes())).toEqual(own)
      world.checkpoint()
      for (const address of ACCOUNTS) world.setBalance(address, 5n)
      expect(await roots.after(world.changes())).not.toEqual(own)
      world.revert()
      expect(await roots.after(world.changes())).toEqual(own)
    }
  })
})
