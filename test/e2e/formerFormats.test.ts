import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FORMAT } from '../../src/storage/format.ts'
import { fixtureFormats, unpackFixture } from '../formats/fixture.ts'
import { variants } from '../propertyRuns.ts'
import { rpc, until } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { startNode } from './startNode.ts'

const EXIT_FAILED = 1
const EXIT_DATA = 65
const FORMER = Array.from({ length: FORMAT - 2 }, (_, index) => index + 2)

let directory: string
let homedir: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-format-'))
  homedir = join(directory, 'home')
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Content of each file but those of the lock, which every command writes. */
function contents(): ReadonlyMap<string, string> {
  const entries = readdirSync(homedir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => relative(homedir, join(parentPath, name)))
  return new Map(
    paths
      .filter((path) => !path.startsWith('lock/'))
      .toSorted()
      .map((path) => [path, readFileSync(join(homedir, path)).toString('base64')]),
  )
}

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runCoind(args, { environment: { NETWORK: 'devnet', HOMEDIR: homedir, METRICS_PORT: '0', ...environment } })

/** What the commands print that open a chain of an older format. */
function refusal(format: number): string {
  return (
    `${join(homedir, 'db')} has format ${format}: an older version of coind wrote it, whose rules differ, and this version needs format ` +
    `${FORMAT}. Start a new chain with a new data directory (HOMEDIR), or run the version that wrote this one`
  )
}

it('has a fixture of each format since the second', () => {
  expect(fixtureFormats().toSorted((a, b) => a - b)).toEqual(FORMER)
})

it.each(variants(FORMER.toReversed(), 2))(
  'a node and an import refuse a chain of format %d, and leave it as it is',
  async (format) => {
    unpackFixture(format, homedir)
    const before = contents()
    writeFileSync(join(directory, 'blocks'), 'never read')
    for (const command of [['start'], ['import', join(directory, 'blocks')]]) {
      const { code, output } = await run(command)
      expect(output, command.join(' ')).toContain(refusal(format))
      expect(code, command.join(' ')).toBe(EXIT_DATA)
      expect(contents(), command.join(' ')).toEqual(before)
    }
  },
)

describe('of the last format', () => {
  beforeEach(() => unpackFixture(FORMAT - 1, homedir))

  const commands = [
    'backup --out copy',
    'repair',
    'export --directory --out directory',
    'rollback --to 1',
    'init',
    'export --out blocks',
    'reindex',
    'prune',
    'compact',
    'repair --dry-run',
    'snapshot create --out snapshot',
    'debug invariants',
  ]
  it.each(variants(commands, 4))('coind %s refuses a chain, and leaves it as it is', async (line) => {
    const command = line.split(' ')
    const before = contents()
    const out = command.indexOf('--out') + 1
    const { code, output } = await run(out === 0 ? command : command.with(out, join(directory, command[out]!)))
    expect(output).toContain(refusal(FORMAT - 1))
    expect(code).toBe(EXIT_DATA)
    expect(contents()).toEqual(before)
    expect(readdirSync(directory)).toEqual(['home'])
  })

  it('a start refuses a chain that a snapshot is to replace', async () => {
    const before = contents()
    const wanted = { FORCE_SNAPSHOT_RESTORE: 'true', SNAPSHOT_MANIFEST_URL: 'http://127.0.0.1:1/manifest.json' }
    const { code, output } = await run(['start', '--allow-older'], wanted)
    expect(output).toContain(refusal(FORMAT - 1))
    expect(code).toBe(EXIT_DATA)
    expect(contents()).toEqual(before)
  })

  it('the doctor finds the chain', async () => {
    const before = contents()
    const { code, output } = await run(['doctor'])
    expect(output).toContain(`PROBLEM  database  ${refusal(FORMAT - 1)}`)
    expect(code).toBe(EXIT_FAILED)
    expect(contents()).toEqual(before)
  })

  it('a new chain starts in a new data directory, and again', async () => {
    homedir = join(directory, 'new')
    for (const command of ['devnet', 'start'] as const) {
      const node = await startNode({ command, homedir, environment: { NETWORK: 'devnet' } })
      const height = async (): Promise<number> => Number(await rpc<string>(node.url, 'eth_blockNumber'))
      const started = await height()
      await until('new blocks', async () => (await height()) > started + 1)
      expect(await node.kill('SIGTERM')).toBe(0)
    }
    expect(await run(['debug', 'invariants'])).toMatchObject({ code: 0 })
  })
})
