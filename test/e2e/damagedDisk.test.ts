import { randomBytes } from 'node:crypto'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WriteBatch } from '../../src/storage/batch.ts'
import { Database } from '../../src/storage/database.ts'
import { describeChain, readChain } from '../crash/compareChains.ts'
import { openLocalNode, signTransfers, writeConfig } from '../crash/localNode.ts'
import { PROPERTY_RUNS, variants } from '../propertyRuns.ts'
import { type CommandResult, runCoind } from './runCoind.ts'
import { freePort } from './startNode.ts'

/** exit code for a file that does not fit */
const EXIT_DATA = 65

let directory: string
/** a stopped node: each session but the last left a table, and that one a log */
let source: string
let homes = 0

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-damage-'))
  source = join(directory, 'source')
  writeConfig(source)
  const transactions = await signTransfers(90, 2)
  for (const height of [30, 60, 90]) {
    const node = await openLocalNode({ directory: source, transactions })
    await node.reached(height)
    await node.close()
  }
})
afterAll(() => rmSync(directory, { recursive: true }))

describe('a damaged disk', () => {
  let home: string
  beforeEach(() => {
    home = join(directory, `home-${++homes}`)
    cpSync(source, home, { recursive: true })
  })

  const named = (pattern: RegExp): string => readdirSync(join(home, 'db')).find((name) => pattern.test(name))!
  const damage = (name: string, offset: number): void => {
    const path = join(home, 'db', name)
    const bytes = readFileSync(path)
    bytes[offset]! ^= 1
    writeFileSync(path, bytes)
  }
  /** Changes a bit without a change of the file's length, which would end a process that has the file mapped. */
  const damageInPlace = (name: string, offset: number): void => {
    const file = openSync(join(home, 'db', name), 'r+')
    const byte = Buffer.alloc(1)
    readSync(file, byte, 0, 1, offset)
    byte[0]! ^= 1
    writeSync(file, byte, 0, 1, offset)
    closeSync(file)
  }
  const coind = async (...args: readonly string[]): Promise<CommandResult> => {
    const ports = { RPC_PORT: String(await freePort()), P2P_PORT: String(await freePort()), METRICS_PORT: '0' }
    return runCoind(args, { environment: { HOMEDIR: home, NETWORK: 'devnet', ...ports }, killAfterMs: 60_000 })
  }

  it.each([
    ['a table', /\.ldb$/],
    ['the log', /\.log$/],
    ['the MANIFEST', /^MANIFEST/],
  ])('ends every command with the name of the file: %s', async (_, pattern) => {
    const name = named(pattern)
    damage(name, 200)
    const commands = [['start'], ['export', '--out', join(directory, 'none')], ['debug', 'invariants']]
    for (const command of pattern.test('x.ldb') ? commands : variants(commands, 1)) {
      const { code, output } = await coind(...command)
      expect({ code, output }).toEqual({ code: EXIT_DATA, output: expect.stringContaining(join('db', name)) })
      expect(output).toMatch(/at byte \d+ is damaged \(.*\): check the disk, .*coind repair/)
    }
  })

  it('ends a running node when it changes what nobody reads', async () => {
    // Two sessions, since the start turns the log of the last one into a table with another name.
    for (const column of [0xf0, 0xf1]) {
      const database = await Database.open(join(home, 'db'))
      const batch = new WriteBatch()
      for (let i = 0; i < 200; i++) batch.put(Uint8Array.of(column, i), randomBytes(10_000))
      await database.write(batch, { sync: true })
      await database.close()
    }
    const table = readdirSync(join(home, 'db'))
      .filter((name) => name.endsWith('.ldb'))
      .find((name) => statSync(join(home, 'db', name)).size > 2_000_000)!
    const current = (): string => readFileSync(join(home, 'db', 'CURRENT'), 'latin1')
    const before = current()
    const node = coind('start')
    // LevelDB has been opened when it has begun a new MANIFEST: the checks of the start are over.
    while (current() === before) await new Promise((resolve) => setTimeout(resolve, 5))
    damageInPlace(table, 1_500_000)
    const { code, output } = await node
    expect({ code, output }).toEqual({
      code: EXIT_DATA,
      output: expect.stringMatching(new RegExp(`${table} at byte 1\\d+ is damaged .* check the disk`)),
    })
  })

  it('is mended by a repair, or by moving db/ away and importing an export', async () => {
    const whole = join(directory, 'whole')
    cpSync(source, whole, { recursive: true })
    const file = join(directory, 'blocks')
    expect(await coind('export', '--out', file)).toMatchObject({ code: 0 })
    damage(named(/\.ldb$/), 200)
    expect(await coind('import', file)).toMatchObject({ code: EXIT_DATA })
    const dry = await coind('repair', '--dry-run')
    expect(dry).toEqual({ code: EXIT_DATA, output: expect.stringContaining(`${named(/\.ldb$/)} at byte 0 is damaged`) })
    expect(existsSync(join(home, 'db.damaged'))).toBe(false)
    const { code, output } = await coind('repair')
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/The database is rebuilt up to block \d+: start the node/),
    })
    expect(existsSync(join(home, 'db.damaged'))).toBe(true)
    expect(await coind('repair')).toEqual({ code: 0, output: 'No damage was found\n' })
    // What the repair could not take over comes from the write-ahead log, or here from the file.
    expect(await coind('import', file)).toMatchObject({ code: 0 })
    const expected = await readChain(whole, describeChain)
    expect(await readChain(home, describeChain)).toEqual(expected)

    renameSync(join(home, 'db'), join(home, 'db.former'))
    expect(await coind('import', file)).toMatchObject({ code: 0 })
    expect(await readChain(home, describeChain)).toEqual(expected)
  })

  it.runIf(PROPERTY_RUNS > 1)(
    'is mended by repairs of which all but the last were killed',
    async () => {
      const file = join(directory, 'all')
      expect(await coind('export', '--out', file)).toMatchObject({ code: 0 })
      const expected = await readChain(home, describeChain)
      damage(named(/\.ldb$/), 200)
      let kills = 0
      // Each kill comes a little later than the one before.
      for (let killAfterMs = 600; ; killAfterMs += 40) {
        const environment = { HOMEDIR: home, NETWORK: 'devnet' }
        const { code, output } = await runCoind(['repair'], { environment, killAfterMs })
        if (code !== null) {
          expect({ code, output }).toMatchObject({ code: 0 })
          break
        }
        kills++
      }
      expect(kills).toBeGreaterThan(5)
      expect(await coind('repair')).toEqual({ code: 0, output: 'No damage was found\n' })
      expect(await coind('import', file)).toMatchObject({ code: 0 })
      expect(await readChain(home, describeChain)).toEqual(expected)
    },
    300_000,
  )
})
