import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { encodeManifest, MANIFEST_NAME, ManifestError } from '../../../src/snapshot/manifest.ts'
import { snapshotsIn } from '../../../src/snapshot/offeredSnapshots.ts'
import { clearShelf, keepNewest, readShelf, shelvedHeights } from '../../../src/snapshot/shelf.ts'
import { testManifest } from '../../support/snapshot/testManifest.ts'

let shelf: string
beforeEach(() => {
  shelf = mkdtempSync(join(tmpdir(), 'coind-shelf-'))
})
afterEach(() => rmSync(shelf, { recursive: true }))

function put(...names: string[]): void {
  for (const name of names) {
    mkdirSync(join(shelf, name))
    writeFileSync(join(shelf, name, MANIFEST_NAME), encodeManifest(testManifest()))
  }
}

describe('the snapshots of a node', () => {
  it('are those whose directories have a height as name, the newest first', () => {
    put('900', '5000', '12000', '.13000.making', '.7.removed', '0100', 'mine')
    expect(shelvedHeights(shelf)).toEqual([12000, 5000, 900])
    expect(shelvedHeights(join(shelf, 'none'))).toEqual([])
    const { chunks } = testManifest()
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0)
    expect(readShelf(shelf)[1]).toEqual({ height: 5000, timestamp: 1_700_000_000, bytes, chunks: chunks.length })
  })

  it('are removed but for the newest ones', () => {
    put('900', '5000', '12000')
    keepNewest(shelf, 2, 0)
    expect(readdirSync(shelf).sort()).toEqual(['12000', '5000'])
    keepNewest(shelf, 2, 0)
    keepNewest(shelf, 1, 0)
    expect(readdirSync(shelf)).toEqual(['12000'])
  })

  it('stay for a while when peers are fetching them, two of the oldest and for a day at most', async () => {
    const minute = 60_000
    let nowMs = 100 * 24 * 60 * minute
    put('1', '2', '3', '4', '5')
    for (const [index, name] of readdirSync(shelf).sort().entries()) {
      writeFileSync(join(shelf, name, `${String(index).repeat(64)}.zst`), 'chunk')
      utimesSync(join(shelf, name, MANIFEST_NAME), nowMs / 1000, nowMs / 1000)
    }
    const served = snapshotsIn(shelf, () => nowMs)
    const fetch = (index: number) => served.read(new Uint8Array(32).fill(index * 0x11), 0, 5)
    for (const index of [1, 2, 3]) expect(await fetch(index)).toMatchObject({ size: 5 })
    keepNewest(shelf, 1, nowMs)
    expect(shelvedHeights(shelf)).toEqual([5, 3, 2])
    // It is served to its end, and offered until then.
    nowMs += 9 * minute
    await fetch(1)
    expect(await served.offers()).toHaveLength(3)
    nowMs += 9 * minute
    keepNewest(shelf, 1, nowMs)
    expect(shelvedHeights(shelf)).toEqual([5, 2])
    nowMs += 24 * 60 * minute
    await fetch(1)
    keepNewest(shelf, 1, nowMs)
    expect(readdirSync(shelf)).toEqual(['5'])
  })

  it('are cleared of what was interrupted, and of nothing else', () => {
    put('900', '.13000.making', '.7.removed', '.hidden', 'mine')
    clearShelf(shelf)
    expect(readdirSync(shelf).sort()).toEqual(['.hidden', '900', 'mine'])
    clearShelf(join(shelf, 'none'))
  })

  it('name the manifest that cannot be used', () => {
    put('900')
    writeFileSync(join(shelf, '900', MANIFEST_NAME), '{')
    expect(() => readShelf(shelf)).toThrow(ManifestError)
    expect(() => readShelf(shelf)).toThrow(
      /900\/manifest\.json: the manifest of the snapshot cannot be used: it is not JSON/,
    )
  })
})
