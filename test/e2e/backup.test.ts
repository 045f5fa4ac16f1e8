import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeBackup } from '../../src/datadir/backup.ts'
import { readCopyMark } from '../../src/datadir/copyMark.ts'
import { type DataPaths, dataPaths } from '../../src/datadir/dataDirectory.ts'
import { describeChain, readChain } from '../crash/compareChains.ts'
import { openLocalNode, signTransfers, writeConfig } from '../crash/localNode.ts'
import { rpc } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { startNode, type TestNode } from './startNode.ts'

let directory: string
let home: string
let paths: DataPaths
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-backup-'))
  home = join(directory, 'home')
  paths = dataPaths(home)
  writeConfig(home)
})
afterEach(() => rmSync(directory, { recursive: true }))

function backUp(out: string, options: Partial<Parameters<typeof makeBackup>[0]> = {}): Promise<number> {
  const signal = new AbortController().signal
  return makeBackup({
    homedir: home,
    out,
    withKeys: false,
    signal,
    pause: () => setImmediate(),
    ...options,
  })
}

/** What a backup that failed must leave: nothing, neither beside it nor in the data directory. */
function expectNothingLeft(): void {
  expect(readdirSync(directory).filter((name) => name.startsWith('copy'))).toEqual([])
  expect(readdirSync(home).filter((name) => name.startsWith('copy-'))).toEqual([])
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

describe('a backup of a node that goes on', () => {
  it('has the chain of one moment, and the log that continues it', async () => {
    const node = await openLocalNode({
      directory: home,
      transactions: await signTransfers(200, 2),
      segmentBytes: 32 << 10,
    })
    const copies: { readonly out: string; readonly height: number }[] = []
    for (let index = 0; index < 4; index++) {
      await node.reached(node.executor.head().header.number + 20)
      const out = join(directory, `copy-${index}`)
      copies.push({ out, height: await backUp(out, { withKeys: index % 2 === 0 }) })
    }
    await node.close()
    const chain = await readChain(home, describeChain)
    for (const [index, { out, height }] of copies.entries()) {
      const copy = dataPaths(out)
      expect(await readChain(out, describeChain)).toEqual(chain.slice(0, height))
      expect(readCopyMark(copy.copyMark)?.height).toBe(height)
      expect(readFileSync(copy.genesis)).toEqual(readFileSync(paths.genesis))
      expect(modeOf(out)).toBe(0o700)
      expect([existsSync(copy.validatorKey), existsSync(copy.wal)]).toEqual([index % 2 === 0, index % 2 === 0])
      if (index % 2 === 1) continue
      expect(modeOf(copy.validatorKey)).toBe(0o600)
      const restored = await openLocalNode({ directory: out })
      expect(restored.replayedTo).toBeGreaterThanOrEqual(height)
      await restored.reached(restored.replayedTo + 2)
      await restored.close()
      expect((await readChain(out, describeChain)).slice(0, height)).toEqual(chain.slice(0, height))
    }
    expect(readdirSync(home).filter((name) => name.startsWith('copy-'))).toEqual([])
  })
})

describe('a backup', () => {
  beforeEach(async () => {
    const node = await openLocalNode({ directory: home, transactions: await signTransfers(40, 2) })
    await node.reached(40)
    await node.close()
  })

  it('overwrites nothing, and clears away only what a killed one has left', async () => {
    const out = join(directory, 'copy')
    mkdirSync(out)
    await expect(backUp(out)).rejects.toThrow('copy already exists: name a new directory, a backup overwrites nothing')
    await expect(backUp(join(out, 'disk', 'today'))).rejects.toThrow(
      /copy.disk does not exist: create that directory, or mount/,
    )
    rmSync(out, { recursive: true })
    mkdirSync(`${out}.part`)
    writeFileSync(join(`${out}.part`, 'mine'), '')
    await expect(backUp(out)).rejects.toThrow('was not written by a backup: move it away')
    expect(readdirSync(`${out}.part`)).toEqual(['mine'])
    writeFileSync(dataPaths(`${out}.part`).copyMark, '')
    await backUp(out)
    expect(readdirSync(directory).sort()).toEqual(['copy', 'home'])
    expect(readdirSync(out).sort()).toEqual(['config', 'copy-mark.json', 'db'])
  })

  it('is none when it is interrupted, or when the database is damaged', async () => {
    const stop = new AbortController()
    stop.abort()
    await expect(backUp(join(directory, 'copy'), { signal: stop.signal })).rejects.toBe(stop.signal.reason)
    expectNothingLeft()
    // The first backup makes a table of the log.
    const first = join(directory, 'first')
    await backUp(first)
    rmSync(paths.db, { recursive: true })
    await backUp(join(directory, 'second'), { homedir: first })
    const source = dataPaths(first).db
    const table = readdirSync(source).find((name) => name.endsWith('.ldb'))!
    const file = openSync(join(source, table), 'r+')
    writeSync(file, Uint8Array.of(0xff, 0xff, 0xff, 0xff), 0, 4, 500)
    closeSync(file)
    await expect(backUp(join(directory, 'copy'), { homedir: first })).rejects.toThrow(/is damaged/)
    expectNothingLeft()
    await expect(backUp(join(directory, 'copy'))).rejects.toThrow('HOMEDIR must be the data directory of a chain')
  })

  it.skipIf(!existsSync('/dev/shm') || statSync('/dev/shm').dev === statSync(tmpdir()).dev)(
    'copies to another file system',
    async () => {
      const other = mkdtempSync('/dev/shm/coind-backup-')
      try {
        await backUp(join(other, 'copy'), { withKeys: true })
        expect(await readChain(join(other, 'copy'), describeChain)).toEqual(await readChain(home, describeChain))
        expectNothingLeft()
      } finally {
        rmSync(other, { recursive: true })
      }
    },
  )
})

describe('coind backup and the start of what it made', () => {
  const started: TestNode[] = []
  afterEach(async () => {
    for (const node of started.splice(0)) if (node.process.exitCode === null) await node.kill('SIGKILL')
  })
  const run = async (homedir: string, flags?: readonly string[]): Promise<TestNode> => {
    const node = await startNode({
      command: 'start',
      homedir,
      environment: { NETWORK: 'devnet' },
      ...(flags && { flags }),
    })
    started.push(node)
    return node
  }
  const heightOf = async (node: TestNode): Promise<number> => Number(await rpc<string>(node.url, 'eth_blockNumber'))

  it('of the only validator decides nothing before --signer-moved', async () => {
    const original = await run(home)
    while ((await heightOf(original)) < 5) await new Promise((resolve) => setTimeout(resolve, 50))
    const out = join(directory, 'copy')
    const environment = { HOMEDIR: home, NETWORK: 'devnet' }
    const { code, output } = await runCoind(['backup', '--out', out, '--with-keys'], { environment })
    expect(output).toMatch(/^Backed up the chain up to block \d+ to .*copy, with its keys\n$/)
    expect(code).toBe(0)
    await original.kill('SIGTERM')

    const copy = await run(out)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const height = await heightOf(copy)
    // Its log may hold the votes for the next block.
    expect(height - Number(/up to block (\d+)/.exec(output)?.[1])).toBeOneOf([0, 1])
    expect(copy.output()).toContain('this directory is a copy, so its validator signs nothing')
    await copy.kill('SIGTERM')
    expect(existsSync(dataPaths(out).copyMark)).toBe(true)

    const moved = await run(out, ['--signer-moved'])
    while ((await heightOf(moved)) < height + 3) await new Promise((resolve) => setTimeout(resolve, 50))
    expect(existsSync(dataPaths(out).copyMark)).toBe(false)
  })
})
