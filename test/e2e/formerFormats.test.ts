import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FORMAT, FORMER_FORMAT } from '../../src/storage/format.ts'
import { answerOf, FIXTURE_ENVIRONMENT, fixtureFormats, readFixture, unpackFixture } from '../formats/fixture.ts'
import { rpc, until } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { startNode, type TestNode } from './startNode.ts'

const CONVERTED = 'the database is converted'
const EXIT_DATA = 65
const formats = fixtureFormats()

it('has a fixture of the format before this one', () => {
  expect(formats).toContain(FORMAT - 1)
})

it.each(formats)(
  'a chain of format %d tells what it told, and goes on; the former one is converted once',
  async (format) => {
    const homedir = mkdtempSync(join(tmpdir(), 'coind-format-'))
    const environment = { NETWORK: 'devnet', ...FIXTURE_ENVIRONMENT }
    const fixture = readFixture(format)
    unpackFixture(fixture, homedir)
    const start = (): Promise<TestNode> => startNode({ command: 'start', homedir, environment })
    const read = (...args: string[]) => runCoind(args, { environment: { ...environment, HOMEDIR: homedir } })

    const isFormer = format === FORMER_FORMAT
    for (const command of [
      ['export', '--out', join(homedir, 'blocks')],
      ['debug', 'invariants'],
    ]) {
      const refused = { code: EXIT_DATA, output: expect.stringContaining('run `coind start`, which converts it') }
      if (isFormer) expect(await read(...command)).toEqual(refused)
    }

    let node = await start()
    expect(node.output().includes(CONVERTED)).toBe(isFormer)
    for (const { answer, ...request } of fixture.answers) {
      expect({ request, answer: await answerOf(node, request) }).toEqual({ request, answer })
    }
    await until('new blocks', async () => Number(await rpc<string>(node.url, 'eth_blockNumber')) > fixture.height + 2)
    expect(await node.kill('SIGTERM')).toBe(0)

    node = await start()
    expect(node.output()).not.toContain(CONVERTED)
    expect(await node.kill('SIGTERM')).toBe(0)
    expect(await read('debug', 'invariants')).toMatchObject({ code: 0 })
    rmSync(homedir, { recursive: true })
  },
)
