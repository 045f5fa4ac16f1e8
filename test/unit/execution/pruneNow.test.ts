import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import { type PruneRequest, pruneNow } from '../../../src/execution/pruner.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import { Column, columnKey } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'

const HEAD = 24
const STATES = 4
const BODIES = 6
const account = privateKeyToAccount(WALLET_KEY)

/** The source's database, as it was closed. */
let directory: string
let source: string
let chain: TestChain
let copies = 0

async function produceTransfer(on: TestChain, nonce: number): Promise<void> {
  const fields = { chainId: 76287, type: 'eip1559', gas: 21_000n, maxFeePerGas: 10n ** 10n } as const
  const raw = await account.signTransaction({ ...fields, nonce, to: account.address, value: 1n })
  await on.produce([hexToBytes(raw)])
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-prune-'))
  source = join(directory, 'source')
  chain = await createTestChain()
  for (let height = 1; height <= HEAD; height++) await produceTransfer(chain, height - 1)
  await chain.executor.close()
  cpSync(chain.location, source, { recursive: true })
})
afterAll(async () => {
  chain = await chain.reopen()
  await chain.close()
  rmSync(directory, { recursive: true })
})

async function withCopy<T>(use: (database: Database) => Promise<T>, of = source): Promise<T> {
  const path = join(directory, String(copies++))
  cpSync(of, path, { recursive: true })
  const database = await Database.open(path)
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

/** Watches the steps of a request; `stopAt` ends it when so many have been told. */
function request(database: Database, more: Partial<PruneRequest> = {}, stopAt = Number.POSITIVE_INFINITY) {
  const told: string[] = []
  const stop = new AbortController()
  const progressOf: PruneRequest['progressOf'] = ({ title, total }) => ({
    update: (done) => {
      told.push(`${title} ${done}/${total}`)
      if (told.length >= stopAt) stop.abort('stopped')
    },
    end: () => told.push('end'),
  })
  const { signal } = stop
  const settings = { pruning: STATES, blockHistory: BODIES, index: 'all', step: { entries: 40, bodies: 5 } } as const
  return { told, request: { database, progressOf, signal, ...settings, ...more } }
}

async function dump(database: Database): Promise<ReadonlyMap<string, string>> {
  const entries = await Array.fromAsync(database.entries({ start: Uint8Array.of(0), end: undefined }))
  return new Map(entries.map(([key, value]) => [bytesToHex(key), bytesToHex(value)]))
}

const inColumn = (entries: ReadonlyMap<string, string>, column: number): readonly string[] =>
  [...entries.keys()].filter((key) => key.startsWith(bytesToHex(columnKey(column))))

it('keeps what the node would have kept with these settings from the start', async () => {
  await withCopy(async (database) => {
    const { told, request: pruning } = request(database)
    expect(await pruneNow(pruning)).toEqual({
      states: HEAD - STATES,
      bodies: HEAD - BODIES,
      headers: 0,
      files: 0,
      indexEntries: 0,
    })
    expect(told.filter((text) => text === 'end')).toHaveLength(2)
    expect(told).toContain('deleting old states 0/20')
    expect(told).toContain('deleting old states 20/20')
    expect(told).toContain('deleting old blocks 10/18')

    const view = openView(database, createViewCaches())
    expect([view.oldestState, openChainReader(database).oldestBlock]).toEqual([HEAD - STATES, HEAD - BODIES])
    for (let height = HEAD - STATES; height <= HEAD; height++) {
      expect(view.stateAt(height).getAccount(WALLET)?.nonce).toBe(BigInt(height))
    }
    const entries = await dump(database)
    expect(inColumn(entries, Column.blockChanges)).toHaveLength(STATES)
    // Those of the blocks from HEAD - BODIES to HEAD.
    for (const column of [Column.results, Column.transaction])
      expect(inColumn(entries, column)).toHaveLength(BODIES + 1)
    expect(inColumn(entries, Column.header)).toHaveLength(HEAD + 1)
    // There is nothing left to do.
    expect(await pruneNow(request(database).request)).toEqual({
      states: 0,
      bodies: 0,
      headers: 0,
      files: 0,
      indexEntries: 0,
    })
    expect(await dump(database)).toEqual(entries)
  })
})

it('gives the same wherever it was stopped before', async () => {
  const settings = { index: 'off' } as const
  const whole = await withCopy(async (database) => {
    await pruneNow(request(database, settings).request)
    return dump(database)
  })
  let stops = 0
  for (let stopAt = 1; ; stopAt += 3) {
    const isDone = await withCopy(async (database) => {
      const first = await pruneNow(request(database, settings, stopAt).request).then(
        () => true,
        (reason: unknown) => expect(reason).toBe('stopped'),
      )
      await pruneNow(request(database, settings).request)
      expect(await dump(database)).toEqual(whole)
      return first === true
    })
    if (isDone) break
    stops++
  }
  expect(stops).toBeGreaterThan(5)
})

it('deletes the indexes where INDEX is off, but not the hashes of transactions', async () => {
  await withCopy(async (database) => {
    const before = await dump(database)
    const { indexEntries } = await pruneNow(
      request(database, { pruning: 'archive', blockHistory: 0, index: 'off' }).request,
    )
    const after = await dump(database)
    expect(inColumn(after, Column.logTerm)).toEqual([])
    expect(inColumn(after, Column.eventTerm)).toHaveLength(HEAD)
    expect(indexEntries).toBe(before.size + 1 - after.size)
    expect(openChainReader(database).indexedFrom).toBe(Number.POSITIVE_INFINITY)
    const kept = (entries: ReadonlyMap<string, string>) => [...entries].filter(([key]) => !/^0x(25|26|2c)/.test(key))
    expect(kept(after)).toEqual(kept(before))
  })
})

it('drops nothing of an archive, and nothing of a chain that is shorter than what is kept', async () => {
  await withCopy(async (database) => {
    const before = await dump(database)
    for (const settings of [
      { pruning: 'archive', blockHistory: 0 },
      { pruning: HEAD, blockHistory: HEAD },
    ] as const) {
      expect(await pruneNow(request(database, settings).request)).toEqual({
        states: 0,
        bodies: 0,
        headers: 0,
        files: 0,
        indexEntries: 0,
      })
    }
    expect(await dump(database)).toEqual(before)
  })
})

it('leaves a database with which the chain goes on', async () => {
  const database = await Database.open(chain.location)
  await pruneNow(request(database).request)
  await database.close()
  chain = await chain.reopen({ pruning: STATES, blockHistory: BODIES })
  for (let more = 1; more <= 3; more++) {
    await produceTransfer(chain, HEAD + more - 1)
    expect(chain.executor.oldestState()).toBe(HEAD + more - STATES)
  }
  await chain.executor.close()
  const reader = await Database.open(chain.location, { readOnly: true })
  expect(openChainReader(reader).oldestBlock).toBe(HEAD + 3 - BODIES)
  await reader.close()
})
