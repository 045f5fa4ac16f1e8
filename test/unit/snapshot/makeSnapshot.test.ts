import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeOldestBlocks } from '../../../src/chain/store/chainReader.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { isUnfinished } from '../../../src/snapshot/makeSnapshot.ts'
import { MANIFEST_NAME, readManifest, SnapshotError } from '../../../src/snapshot/manifest.ts'
import { filesIn } from '../../../src/snapshot/snapshotFiles.ts'
import { verifySnapshot } from '../../../src/snapshot/verifySnapshot.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column, columnKey, prefixEnd } from '../../../src/storage/columns.ts'
import { Database, DatabaseError } from '../../../src/storage/database.ts'
import type { TestChain } from '../../support/execution/testChain.ts'
import { createSnapshotChain, snapshotOf } from '../../support/snapshot/snapshotChain.ts'

const HEAD = 12
const HEIGHT = 9

let directory: string
let chain: TestChain
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-make-'))
  chain = await createSnapshotChain(HEAD)
})
afterAll(async () => {
  await chain.close()
  rmSync(directory, { recursive: true })
})

function contents(path: string): Record<string, string> {
  return Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name)).toString('latin1')]))
}

describe('creating a snapshot', () => {
  it('gives files that verify, and leaves nothing else', async () => {
    const path = join(directory, 'shelf', String(HEIGHT))
    mkdirSync(join(directory, 'shelf'))
    // What a killed maker left.
    const left = join(directory, 'shelf', `.${HEIGHT}.making`)
    mkdirSync(left)
    const parts: number[] = []
    const made = await snapshotOf(chain, {
      height: HEIGHT,
      directory: path,
      pause: ({ bytes }) => {
        expect(existsSync(left)).toBe(true)
        expect(existsSync(path)).toBe(false)
        parts.push(bytes)
      },
    })
    expect(parts.at(-1)).toBe(made.bytes)
    expect(readdirSync(join(directory, 'shelf'))).toEqual([String(HEIGHT)])

    const manifest = readManifest(readFileSync(join(path, MANIFEST_NAME)))
    expect(manifest).toMatchObject({ chainId: 'coin_76287-1', evmChainId: 76287, height: HEIGHT })
    expect(readdirSync(path)).toHaveLength(manifest.chunks.length + 1)
    const kinds = Map.groupBy(manifest.chunks, ({ kind }) => kind)
    expect([...kinds.keys()]).toEqual(['accounts', 'storage', 'native', 'codes', 'blocks'])
    for (const kind of ['accounts', 'storage', 'native', 'blocks'] as const) {
      expect(kinds.get(kind)!.length).toBeGreaterThan(1)
    }
    for (const { sha256: hash, bytes } of manifest.chunks) {
      const file = readFileSync(join(path, `${Buffer.from(hash).toString('hex')}.zst`))
      expect([file.length, sha256(file)]).toEqual([bytes, hash])
    }
    const verified = await verifySnapshot(filesIn(path), { chain: chain.chain, verifySignature: () => true })
    expect(verified).toEqual({ height: HEIGHT, consensusHash: manifest.consensusHash, ...made })
  })

  it('gives the same files on another node, at another head, with other memory', async () => {
    const other = await createSnapshotChain(HEAD, { pruning: 8 })
    try {
      for (let i = 0; i < 3; i++) await other.produce()
      const [one, two] = [join(directory, 'one'), join(directory, 'two')]
      await snapshotOf(chain, { height: HEIGHT, directory: one })
      await snapshotOf(other, { height: HEIGHT, directory: two, sortBytes: 1 << 20 })
      expect(contents(two)).toEqual(contents(one))
    } finally {
      await other.close()
    }
  })

  it('gives the same files on a node that began with a snapshot, as soon as it has enough blocks', async () => {
    const other = await createSnapshotChain(HEAD)
    const begin = async (base: number): Promise<void> => {
      const database = await Database.open(other.location)
      const batch = new WriteBatch()
      writeOldestBlocks(batch, { base, oldestBlock: HEIGHT })
      await database.write(batch, { sync: false })
      await database.close()
    }
    try {
      const [original, restored] = [join(directory, 'original'), join(directory, 'restored')]
      await snapshotOf(chain, { height: HEIGHT, directory: original })
      await begin(2)
      await expect(snapshotOf(other, { height: HEIGHT, directory: restored })).rejects.toThrow(
        'has the blocks from 1 on, and the oldest whole one here is 2: set BLOCK_HISTORY to 2000 or more, or to 0, and wait',
      )
      await begin(1)
      await snapshotOf(other, { height: HEIGHT, directory: restored })
      expect(contents(restored)).toEqual(contents(original))
    } finally {
      await other.close()
    }
  })

  it.each<[string, (db: Database) => Promise<readonly [Uint8Array, Uint8Array]>]>([
    ['an account', (db) => last(db, columnKey(Column.account, Uint8Array.of(0xab, 0xab)))],
    ['a slot', (db) => last(db, columnKey(Column.slot))],
    ['a native entry', (db) => last(db, columnKey(Column.native))],
    ['a code', (db) => last(db, columnKey(Column.code))],
    ['a block', (db) => last(db, columnKey(Column.header), HEAD - HEIGHT)],
    ['the transactions of a block', (db) => last(db, columnKey(Column.consensusBlock), HEAD - 2)],
  ])('refuses a database in which %s was changed', async (_, find) => {
    const path = join(directory, 'damaged')
    const database = await Database.open(chain.location)
    const undo = new WriteBatch()
    try {
      const [key, value] = await find(database)
      undo.put(key, value)
      const batch = new WriteBatch()
      batch.put(key, value.with(-1, value.at(-1)! ^ 1))
      await database.write(batch, { sync: false })
      let damages = 0
      const making = snapshotOf(chain, { height: HEIGHT, directory: path }, () => damages++)
      await expect(making).rejects.toThrow(DatabaseError)
      // It ends the thread, and with it the node.
      expect(damages).toBe(1)
      await expect(making).rejects.toThrow(/^the database is damaged \(.+\): check the disk/)
      expect(readdirSync(directory).filter((name) => name.includes('damaged'))).toEqual([])
    } finally {
      await database.write(undo, { sync: false })
      await database.close()
    }
  })

  it('leaves nothing when it is ended or the disk is full', async () => {
    const path = join(directory, 'ended')
    const ended = snapshotOf(chain, {
      height: HEIGHT,
      directory: path,
      pause: ({ chunks }) => {
        if (chunks === 3) throw new Error('enough')
      },
    })
    await expect(ended).rejects.toThrow('enough')
    const full = snapshotOf(chain, {
      height: HEIGHT,
      directory: path,
      pause: ({ chunks }) => {
        // The sort of the native entries writes its files there.
        const sorting = join(directory, '.ended.making', 'sorting')
        if (chunks === 3) for (let i = 0; i < 20; i++) symlinkSync('/dev/full', join(sorting, `native-${i}`))
      },
    })
    await expect(full).rejects.toThrow(SnapshotError)
    await expect(full).rejects.toThrow(/ended cannot be made: ENOSPC/)
    expect(readdirSync(directory).filter((name) => name.includes('ended'))).toEqual([])
  })

  it('leaves room on the disk for the blocks of a node', async () => {
    const path = join(directory, 'large')
    let free = 2 ** 30
    const making = snapshotOf(chain, {
      height: HEIGHT,
      directory: path,
      freeBytes: async (of) => {
        expect(of).toBe(join(directory, '.large.making'))
        return free
      },
      pause: ({ chunks }) => {
        if (chunks === 3) free = 2 ** 29 - 1
      },
    })
    await expect(making).rejects.toThrow(SnapshotError)
    await expect(making).rejects.toThrow(
      `a snapshot of block ${HEIGHT} cannot be made: less than 536 MB would be left on the disk of ${directory}, which`,
    )
    expect(readdirSync(directory).filter((name) => name.includes('large'))).toEqual([])
  })

  it('says why it cannot make one', async () => {
    const path = join(directory, 'never')
    const height = (at: number) => snapshotOf(chain, { height: at, directory: path })
    await expect(height(HEAD - 2)).rejects.toThrow(
      'a snapshot of block 10 cannot be made: it can be of block 1 or a later one that has 3 blocks after it, and the newest block is 12',
    )
    await expect(height(0)).rejects.toThrow(SnapshotError)
    await expect(snapshotOf(chain, { height: HEIGHT, directory })).rejects.toThrow('exists already')
    const withoutRanks = { location: chain.location, chain: { ...chain.chain, validatorRanksHeight: 0 } }
    await expect(snapshotOf(withoutRanks, { height: HEIGHT, directory: path })).rejects.toThrow(
      'this chain has no snapshots',
    )
    expect(existsSync(path)).toBe(false)

    const pruned = await createSnapshotChain(HEAD, { pruning: 2 })
    try {
      await expect(snapshotOf(pruned, { height: HEIGHT, directory: path })).rejects.toThrow(
        'the oldest state here is that of block 10 (PRUNING)',
      )
    } finally {
      await pruned.close()
    }
    const short = await createSnapshotChain(HEAD, { blockHistory: 5 })
    try {
      await expect(snapshotOf(short, { height: HEIGHT, directory: path })).rejects.toThrow(
        'a snapshot of block 9 has the blocks from 1 on, and the oldest whole one here is 7: set BLOCK_HISTORY',
      )
    } finally {
      await short.close()
    }
  })

  it('knows the names of what is not finished', () => {
    expect(['.12.making', '12', '.12', '12.making', 'manifest.json'].filter(isUnfinished)).toEqual(['.12.making'])
  })
})

/** The last entry whose key begins with `start`, or one before it. */
async function last(db: Database, start: Uint8Array, skipped = 0): Promise<readonly [Uint8Array, Uint8Array]> {
  const found = db.entries({ start, end: prefixEnd(start), reverse: true, limit: skipped + 1 })
  const [key, value] = (await Array.fromAsync(found)).at(-1)!
  return [key.slice(), value.slice()]
}
