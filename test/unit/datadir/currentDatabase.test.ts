import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { beginSwitch, currentDatabase, finishSwitch, wasRestoredFrom } from '../../../src/datadir/currentDatabase.ts'
import { type DataPaths, dataPaths } from '../../../src/datadir/dataDirectory.ts'

let paths: DataPaths
beforeEach(() => {
  paths = dataPaths(mkdtempSync(join(tmpdir(), 'coind-switch-')))
  database(paths.db, 'old')
  database(paths.restoringDb, 'new')
})
afterEach(() => rmSync(paths.homedir, { recursive: true }))

function database(directory: string, content: string): void {
  mkdirSync(join(directory, 'segments'), { recursive: true })
  for (const name of ['CURRENT', '000001.ldb', 'segments/0.seg']) writeFileSync(join(directory, name), content)
}

/** What the node would open. */
function content(): string {
  const directory = currentDatabase(paths)
  const files = ['CURRENT', '000001.ldb', 'segments/0.seg'].map((name) => readFileSync(join(directory, name), 'utf8'))
  return [...new Set(files)].join(' and ')
}

const nothing = async () => undefined

describe('the switch to a restored database', () => {
  test('leaves one database, under its own name, and what it came from', async () => {
    expect(content()).toBe('old')
    await finishSwitch(paths, nothing)
    expect(content()).toBe('old')
    beginSwitch(paths, 'source')
    expect([content(), wasRestoredFrom(paths, 'source')]).toEqual(['new', false])
    let adjusted = 0
    await finishSwitch(paths, async () => {
      expect(readFileSync(join(paths.db, 'CURRENT'), 'utf8')).toBe('new')
      adjusted++
    })
    expect([content(), adjusted]).toEqual(['new', 1])
    expect(readdirSync(paths.homedir).sort()).toEqual(['db', 'restored-from'])
    expect([wasRestoredFrom(paths, 'source'), wasRestoredFrom(paths, 'another')]).toEqual([true, false])
  })

  test.each<[string, () => void]>([
    ['after the switch was written', () => undefined],
    ['while the old database is removed', () => rmSync(join(paths.db, 'CURRENT'))],
    ['after the old database is removed', () => rmSync(paths.db, { recursive: true })],
  ])('is finished by the next start when it is interrupted %s', async (_, interrupt) => {
    beginSwitch(paths, null)
    interrupt()
    expect(content()).toBe('new')
    await finishSwitch(paths, nothing)
    expect([content(), existsSync(paths.restoringDb), existsSync(paths.databaseSwitch)]).toEqual(['new', false, false])
    expect(existsSync(paths.restoredFrom)).toBe(false)
  })

  test('is not over while what belongs to it fails, and can be repeated', async () => {
    beginSwitch(paths, 'source')
    await expect(finishSwitch(paths, () => Promise.reject(new Error('no log')))).rejects.toThrow('no log')
    expect([content(), wasRestoredFrom(paths, 'source')]).toEqual(['new', false])
    await finishSwitch(paths, nothing)
    expect([content(), wasRestoredFrom(paths, 'source')]).toEqual(['new', true])
  })

  test('works where there was no database before', async () => {
    rmSync(paths.db, { recursive: true })
    beginSwitch(paths, null)
    await finishSwitch(paths, nothing)
    expect(content()).toBe('new')
  })

  test('says what to do when its file was damaged', async () => {
    writeFileSync(paths.databaseSwitch, 'nonsense')
    await expect(finishSwitch(paths, nothing)).rejects.toThrow(/database-switch: write/)
    expect(content()).toBe('new')
  })
})
