import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { beginFromBlocks } from '../../src/node/start/beginFromBlocks.ts'
import { openExistingHome } from '../../src/node/start/openHome.ts'
import { importBlocks } from '../../src/operator/stoppedNode.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { describeChain, readChain } from '../crash/compareChains.ts'
import { openLocalNode, signTransfers, writeConfig } from '../crash/localNode.ts'
import { PROPERTY_RUNS } from '../propertyRuns.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { type CommandOptions, type CommandResult, runCoind } from './runCoind.ts'

const BLOCKS = 140
/** exit code for a file that does not fit */
const EXIT_DATA = 65
const EXIT_UNAVAILABLE = 69

let directory: string
let source: string
let file: string
let chain: readonly string[]
let homes = 0

/** A directory with the same genesis and key and no blocks. */
function freshHome(): string {
  const home = join(directory, `home-${++homes}`)
  writeConfig(home)
  return home
}

function coind(
  home: string,
  args: readonly string[],
  onSpawn: NonNullable<CommandOptions['onSpawn']> = () => undefined,
): Promise<CommandResult> {
  return runCoind(args, { environment: { HOMEDIR: home, NETWORK: 'devnet' }, onSpawn })
}

/** Bytes of the files in a directory, which may not be there, and whose files may go. */
function bytesIn(path: string): number {
  if (!existsSync(path)) return 0
  return readdirSync(path).reduce(
    (sum, name) => sum + (statSync(join(path, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

function importHere(home: string, from: string): Promise<{ readonly from: number; readonly to: number }> {
  const sources = { flags: {}, environment: { HOMEDIR: home, NETWORK: 'devnet' }, dotenv: {} }
  return importBlocks(loadConfig(sources, directory), { place: from, signal: new AbortController().signal })
}

/** What a start does before its threads; gives its last line in the log, and the reason in that. */
async function begin(home: string, address: string, nowMs = () => Date.now()): Promise<readonly string[]> {
  const environment = { HOMEDIR: home, NETWORK: 'devnet', BLOCKS_MANIFEST_URL: address }
  const config = loadConfig({ flags: {}, environment, dotenv: {} }, directory)
  let last: readonly string[] = []
  const log = (fields: { readonly reason?: string }, message: string): void => {
    last = fields.reason === undefined ? [message] : [message, fields.reason]
  }
  const logger = { info: log, warn: log } as unknown as Logger
  const opened = await openExistingHome(config)
  try {
    const { signal } = new AbortController()
    await beginFromBlocks({ config, home: opened, logger, signal, nowMs }, config.joining.blocksManifestUrl!)
  } finally {
    await opened.lock.release()
  }
  return last
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-export-'))
  source = freshHome()
  const node = await openLocalNode({ directory: source, transactions: await signTransfers(100, 2) })
  await node.reached(BLOCKS)
  await node.close()
  chain = await readChain(source, describeChain)
  file = join(directory, 'blocks')
  expect(await coind(source, ['export', '--out', file])).toEqual({
    code: 0,
    output: `Exported ${chain.length} blocks, 1 to ${chain.length}, to ${file}\n`,
  })
})
afterAll(() => rmSync(directory, { recursive: true }))

describe('export', () => {
  it('does not overwrite a file', async () => {
    const { code, output } = await coind(source, ['export', '--out', file])
    expect({ code, output }).toEqual({
      code: EXIT_UNAVAILABLE,
      output: `coind: ${file} already exists: name another one, or move it away\n`,
    })
  })

  it.each(['--from 0', '--to 1000000', '--from 20 --to 10'])('refuses blocks that there are not: %s', async (range) => {
    const out = join(directory, 'none')
    const { code, output } = await coind(source, ['export', '--out', out, ...range.split(' ')])
    expect(output).toMatch(/^coind: cannot export blocks \d+ to \d+: the node has blocks 1 to \d+\n$/)
    expect(code).toBe(EXIT_DATA)
    expect(() => statSync(out)).toThrow('ENOENT')
  })
})

/** Behind the last block's commit: a footer, which an import does not need, of some bytes, and checksums. */
const END_BYTES = 120

describe('import', () => {
  it('gives the same chain, and does nothing the second time', async () => {
    const home = freshHome()
    const first = await coind(home, ['import', file])
    expect(first).toEqual({ code: 0, output: `Imported ${chain.length} blocks, 1 to ${chain.length}\n` })
    expect(await readChain(home, describeChain)).toEqual(chain)
    expect(await importHere(home, file)).toEqual({ from: chain.length + 1, to: chain.length })
  })

  it('takes a directory that was exported for web servers', async () => {
    const blocks = join(directory, 'for the web')
    const args = ['export', '--directory', '--out', blocks, '--to', `${chain.length}`]
    expect(await coind(source, args)).toEqual({
      code: 0,
      output: `Exported ${chain.length + 1} more blocks: ${blocks} now has 0 to ${chain.length}\n`,
    })
    const home = freshHome()
    expect(await importHere(home, blocks)).toEqual({ from: 1, to: chain.length })
    expect(await readChain(home, describeChain)).toEqual(chain)
  })

  it('is what a start does with BLOCKS_MANIFEST_URL; without its server, or with false blocks, peers have to give them', async () => {
    const blocks = join(directory, 'served')
    expect((await coind(source, ['export', '--directory', '--out', blocks, '--to', '120'])).code).toBe(0)
    let isFalse = false
    const server = createServer((request, response) => {
      const path = join(blocks, request.url!)
      if (!existsSync(path)) response.writeHead(404).end()
      else response.end(isFalse && path.endsWith('.segment') ? readFileSync(path).fill(7) : readFileSync(path))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const home = freshHome()
    expect(await begin(home, `${url}/none/`)).toEqual([
      'no more blocks can be read from BLOCKS_MANIFEST_URL: peers supply the rest',
      `${url}/none/: there is no manifest.json: check BLOCKS_MANIFEST_URL`,
    ])
    isFalse = true
    expect((await begin(home, url))[0]).toBe(
      'no more blocks can be read from BLOCKS_MANIFEST_URL: peers supply the rest',
    )
    isFalse = false
    expect(await begin(home, url)).toEqual(['the next blocks come from peers'])
    expect(await readChain(home, describeChain)).toEqual(chain.slice(0, 120))
    // Nobody is asked when the newest block is new.
    expect(await begin(home, `${url}/none/`, () => 0)).toEqual([])
    server.closeAllConnections()
    server.close()
  })

  it('goes on after it was killed', async () => {
    const home = freshHome()
    const { db } = dataPaths(home)
    const heights = [0]
    // Each kill comes when so many more bytes are there: what a chain begins with, then blocks.
    for (const more of [1, 100_000, 100_000]) {
      const before = bytesIn(db)
      await coind(home, ['import', file], (child) => {
        const timer = setInterval(() => bytesIn(db) >= before + more && child.kill('SIGKILL'), 1)
        child.once('close', () => clearInterval(timer))
      })
      const blocks = await readChain(home, describeChain).catch(() => [])
      expect(blocks).toEqual(chain.slice(0, blocks.length))
      heights.push(blocks.length)
    }
    expect(heights).toEqual(heights.toSorted((x, y) => x - y))
    expect((await coind(home, ['import', file])).code).toBe(0)
    expect(await readChain(home, describeChain)).toEqual(chain)
  })

  it('goes on where an earlier file ended', async () => {
    const home = freshHome()
    const [first, second, gap] = ['first', 'second', 'gap'].map((name) => join(directory, name))
    expect((await coind(source, ['export', '--out', first!, '--to', '100'])).code).toBe(0)
    expect((await coind(source, ['export', '--out', second!, '--from', '90'])).code).toBe(0)
    expect((await coind(source, ['export', '--out', gap!, '--from', '102'])).code).toBe(0)
    expect(await importHere(home, first!)).toEqual({ from: 1, to: 100 })
    const { code, output } = await coind(home, ['import', gap!])
    expect(output).toBe('coind: block 101 is missing: the file continues with block 102\n')
    expect(code).toBe(EXIT_DATA)
    expect(await importHere(home, second!)).toEqual({ from: 101, to: chain.length })
    expect(await readChain(home, describeChain)).toEqual(chain)
  })

  it('refuses a file of another genesis', async () => {
    const home = join(directory, 'other')
    const environment = { GENESIS_WALLET: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }
    expect((await runCoind(['init', '--network', 'devnet', '--homedir', home], { environment })).code).toBe(0)
    const { code, output } = await coind(home, ['import', file])
    expect(output).toBe('coind: the file belongs to a chain with another genesis\n')
    expect(code).toBe(EXIT_DATA)
  })

  it('takes the whole blocks of a file that is cut off, and says so', async () => {
    const random = createRandom(1)
    const { size } = statSync(file)
    const home = freshHome()
    for (const cut of [
      0,
      20,
      45,
      47,
      ...Array.from({ length: 2 * PROPERTY_RUNS }, () => random(size - END_BYTES)).sort((a, b) => a - b),
      size - END_BYTES,
    ]) {
      const short = join(directory, 'short')
      cpSync(file, short)
      truncateSync(short, cut)
      await expect(importHere(home, short)).rejects.toThrow(/the file (ends within an entry|is too short)/)
      const blocks = await readChain(home, describeChain).catch(() => [])
      expect(blocks).toEqual(chain.slice(0, blocks.length))
    }
    expect(await importHere(home, file)).toMatchObject({ to: chain.length })
    expect(await readChain(home, describeChain)).toEqual(chain)
  })

  it('takes nothing of a block in which any byte is damaged', async () => {
    const random = createRandom(2)
    const home = freshHome()
    const damaged = join(directory, 'damaged')
    const offsets = Array.from({ length: 3 * PROPERTY_RUNS }, () => random(statSync(file).size - END_BYTES)).sort(
      (a, b) => a - b,
    )
    for (const offset of [0, 13, 45, ...offsets]) {
      const bytes = readFileSync(file)
      bytes[offset]! ^= 1 + random(255)
      writeFileSync(damaged, bytes)
      const refusal = await importHere(home, damaged).then(
        () => undefined,
        (error: Error) => error,
      )
      // Blocks that are there already are not looked at again.
      if (refusal !== undefined) expect(`${refusal.name}: ${refusal.message}`).toMatch(/^BlockFileError: /)
      const blocks = await readChain(home, describeChain).catch(() => [])
      expect(blocks).toEqual(chain.slice(0, blocks.length))
    }
    expect((await readChain(home, describeChain)).length).toBeLessThan(chain.length)
  })
})
