import fs, {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import {
  type DataPaths,
  databaseDirectories,
  dataPaths,
  partsToReset,
  resetHome,
} from '../../../src/datadir/dataDirectory.ts'
import { checkInit, initNode } from '../../../src/datadir/initNode.ts'

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** What restores have left beside the database and the log. */
const LEFT_BY_RESTORES = ['db.restoring.genesis', 'wal.aside-100', 'wal.aside-100-2', 'wal.new']
/** The pool's journal, and what it may leave. */
const LEFT_BY_POOL = ['pool.journal', 'pool.journal.aside', 'pool.journal.new']

let paths: DataPaths
beforeEach(() => {
  paths = dataPaths(mkdtempSync(join(tmpdir(), 'coind-reset-')))
  fill()
})
afterEach(() => {
  rmSync(paths.homedir, { recursive: true })
})

function fill(): void {
  mkdirSync(paths.config)
  mkdirSync(dirname(paths.upgradeInfo))
  for (const file of [
    paths.genesis,
    paths.validatorKey,
    paths.nodeKey,
    paths.copyMark,
    paths.addressBook,
    paths.restoredFrom,
    paths.upgradeInfo,
  ])
    writeFileSync(file, file)
  for (const directory of [...databaseDirectories(paths), join(paths.wal, 'evidence'), join(paths.snapshots, '100')]) {
    mkdirSync(directory, { recursive: true })
    for (let index = 0; index < 10; index++) writeFileSync(join(directory, `${index}.ldb`), 'x')
  }
  for (const name of LEFT_BY_POOL) writeFileSync(join(paths.homedir, name), 'x')
  for (const name of LEFT_BY_RESTORES) mkdirSync(join(paths.homedir, name))
  writeFileSync(join(paths.homedir, 'notes.txt'), 'mine')
}

function start(): string | undefined {
  const environment = { NETWORK: 'testnet', GENESIS_WALLET: WALLET }
  const config = loadConfig({ flags: {}, environment, dotenv: {} }, paths.homedir)
  const key = { load: () => new Uint8Array(32).fill(1), create: () => new Uint8Array(32) }
  try {
    checkInit(config, paths)
    initNode(config, paths, key, { nowMs: 0 })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

describe('resetHome', () => {
  it('removes the chain and keeps keys and whatever is not its own', () => {
    expect([...partsToReset(paths)].sort()).toEqual(
      [
        paths.genesis,
        ...databaseDirectories(paths),
        paths.restoredFrom,
        ...LEFT_BY_RESTORES.map((name) => join(paths.homedir, name)),
        paths.wal,
        paths.copyMark,
        paths.snapshots,
        paths.addressBook,
        ...LEFT_BY_POOL.map((name) => join(paths.homedir, name)),
        paths.upgradeInfo,
      ].sort(),
    )
    resetHome(paths)
    expect(readdirSync(paths.homedir).sort()).toEqual(['config', 'data', 'notes.txt'])
    expect(readdirSync(paths.config).sort()).toEqual(['node_key.json', 'priv_validator_key.json'])
    expect(readFileSync(paths.validatorKey, 'utf8')).toBe(paths.validatorKey)
    expect(partsToReset(paths)).toEqual([])
    expect(start()).toBeUndefined()
    expect(existsSync(paths.genesis)).toBe(true)
  })

  it('is finished by a second run wherever the first one was killed, and nothing starts in between', () => {
    const stages = stagesOfReset()
    let kills = 0
    for (const stage of stages) {
      rmSync(paths.homedir, { recursive: true })
      renameSync(stage, paths.homedir)
      if (existsSync(paths.resetMarker)) {
        kills++
        expect(start()).toMatch(/a reset of .* was interrupted: run coind reset again/)
      } else if (existsSync(paths.genesis)) {
        // Before the marker nothing has gone; after it everything has.
        expect(partsToReset(paths)).toContain(paths.wal)
      }
      resetHome(paths)
      expect(partsToReset(paths)).toEqual([])
      expect(existsSync(paths.validatorKey)).toBe(true)
    }
    expect(kills).toBeGreaterThanOrEqual(5)
    rmSync(dirname(stages[0]!), { recursive: true })
  })
})

/** Copies of the directory as it is before each change of the file system that a reset makes: what a process that is killed there leaves. */
function stagesOfReset(): readonly string[] {
  const copies = mkdtempSync(join(tmpdir(), 'coind-reset-stages-'))
  const stages: string[] = []
  const changed = ['openSync', 'renameSync', 'rmSync', 'fsyncSync'] as const
  const real = Object.fromEntries(changed.map((name) => [name, fs[name]]))
  let isCopying = false
  const copy = (): void => {
    if (isCopying) return
    isCopying = true
    const stage = join(copies, String(stages.length))
    cpSync(paths.homedir, stage, { recursive: true })
    stages.push(stage)
    isCopying = false
  }
  const replace = (make: (name: (typeof changed)[number]) => unknown): void => {
    Object.assign(fs, Object.fromEntries(changed.map((name) => [name, make(name)])))
    syncBuiltinESMExports()
  }
  replace((name) => (...args: unknown[]) => {
    copy()
    return (real[name] as (...args: unknown[]) => unknown)(...args)
  })
  try {
    resetHome(paths)
  } finally {
    replace((name) => real[name])
  }
  copy()
  return stages
}
