import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChainReader } from '../../src/chain/store/chainReader.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { Database } from '../../src/storage/database.ts'
import { describeChain, readChain } from '../crash/compareChains.ts'
import { openLocalNode, signTransfers, writeConfig } from '../crash/localNode.ts'
import { type CommandOptions, runCoind } from './runCoind.ts'

const BLOCKS = 120
const EXIT_USAGE = 64

let directory: string
let source: string
let chain: readonly string[]
let homes = 0

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-rollback-'))
  source = join(directory, 'source')
  writeConfig(source)
  const node = await openLocalNode({ directory: source, transactions: await signTransfers(100, 2) })
  await node.reached(BLOCKS)
  await node.close()
  chain = await readChain(source, describeChain)
})
afterAll(() => rmSync(directory, { recursive: true }))

function copyHome(): string {
  const home = join(directory, `home-${++homes}`)
  cpSync(source, home, { recursive: true })
  return home
}

function coind(home: string, args: readonly string[], options: Pick<CommandOptions, 'onSpawn'> = {}) {
  return runCoind(args, { environment: { HOMEDIR: home, NETWORK: 'devnet' }, ...options })
}

async function headOf(home: string): Promise<number> {
  const database = await Database.open(dataPaths(home).db, { readOnly: true })
  try {
    return openChainReader(database).headHeight
  } finally {
    await database.close()
  }
}

describe('coind rollback', () => {
  it('undoes blocks, which the next start takes from the write-ahead log again, when it was killed too', async () => {
    const home = copyHome()
    // So few blocks are one step: it has been done, or it has not.
    const saved = join(directory, 'killed')
    await coind(home, ['rollback', '--to', '40', '--save', saved], {
      onSpawn: (child) => {
        const timer = setInterval(() => existsSync(saved) && child.kill('SIGKILL'), 1)
        child.once('close', () => clearInterval(timer))
      },
    })
    const head = await headOf(home)
    expect([40, chain.length]).toContain(head)
    expect(await readChain(home, describeChain)).toEqual(chain.slice(0, head))
    await coind(home, ['rollback', '--to', '40', '--save', join(directory, 'again')])
    expect(await headOf(home)).toBe(40)
    expect(await readChain(home, describeChain)).toEqual(chain.slice(0, 40))
    const node = await openLocalNode({ directory: home })
    expect(node.replayedTo).toBeGreaterThanOrEqual(chain.length)
    await node.reached(chain.length + 3)
    await node.close()
    expect((await readChain(home, describeChain)).slice(0, chain.length)).toEqual(chain)
  })

  it('keeps the blocks for import, where the log has gone', async () => {
    const home = copyHome()
    const file = join(directory, 'saved')
    expect((await coind(home, ['rollback', '--to', '100', '--save', file])).code).toBe(0)
    rmSync(dataPaths(home).wal, { recursive: true })
    const { output } = await coind(home, ['import', file])
    expect(output).toBe(`Imported ${chain.length - 100} blocks, 101 to ${chain.length}\n`)
    expect(await readChain(home, describeChain)).toEqual(chain)
  })

  it('leaves indexes in which reindex finds nothing wrong', async () => {
    const home = copyHome()
    await coind(home, ['rollback', '--to', '80', '--save', join(directory, 'above')])
    expect(await coind(home, ['reindex'])).toEqual({ code: 0, output: 'Nothing was wrong\n' })
  })

  it('refuses what it cannot do with one line', async () => {
    const above = await coind(source, ['rollback', '--to', '100000'])
    expect(above).toEqual({
      code: EXIT_USAGE,
      output: `coind: block 100000 is above the newest block ${chain.length}: name an earlier block\n`,
    })
    const alone = await coind(source, ['rollback', '--to', '10'])
    expect(alone).toEqual({
      code: EXIT_USAGE,
      output: expect.stringMatching(
        /^coind: this node is the only validator, .* save them with --save FILE, for coind import\n$/,
      ),
    })
    const same = await coind(source, ['rollback', '--to', String(chain.length)])
    expect(same).toEqual({ code: 0, output: `Nothing to do: block ${chain.length} is already the newest\n` })
    expect(await readChain(source, describeChain)).toEqual(chain)
  })
})
