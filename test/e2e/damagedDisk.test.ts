import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { describeChain, readChain } from '../crash/compareChains.ts'
import { openLocalNode, signTransfers, writeConfig } from '../crash/localNode.ts'
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
    for (const command of [['start'], ['export', '--out', join(directory, 'none')], ['debug', 'invariants']]) {
      const { code, output } = await coind(...command)
      expect({ code, output }).toEqual({ code: EXIT_DATA, output: expect.stringContaining(join('db', name)) })
      expect(output).toMatch(/at byte \d+ is damaged \(.*\): check the disk, .*coind import/)
    }
  })

  it('is mended by moving db/ away and importing an export', async () => {
    const whole = join(directory, 'whole')
    cpSync(source, whole, { recursive: true })
    const file = join(directory, 'blocks')
    const expected = await readChain(whole, describeChain)
    expect(await coind('export', '--out', file)).toMatchObject({ code: 0 })
    damage(named(/\.ldb$/), 200)
    expect(await coind('import', file)).toMatchObject({ code: EXIT_DATA })
    renameSync(join(home, 'db'), join(home, 'db.damaged'))
    expect(await coind('import', file)).toMatchObject({ code: 0 })
    expect(await readChain(home, describeChain)).toEqual(expected)
  })
})
