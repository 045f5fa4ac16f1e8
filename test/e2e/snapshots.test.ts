import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { accountKey } from '../../src/state/flatState.ts'
import { WriteBatch } from '../../src/storage/batch.ts'
import { Database } from '../../src/storage/database.ts'
import { ACCOUNTS } from './devChain.ts'
import { rpc, until } from './rpc.ts'
import { type CommandResult, runCoind } from './runCoind.ts'
import { freePort, startNode, type TestNode } from './startNode.ts'

let directory: string
let homedir: string
let node: TestNode | undefined
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-snapshots-'))
  homedir = join(directory, 'home')
})
afterEach(async () => {
  await node?.kill('SIGKILL')
  node = undefined
  rmSync(directory, { recursive: true })
})

const snapshot = (...args: readonly string[]): Promise<CommandResult> =>
  runCoind(['snapshot', ...args, '--homedir', homedir])

async function stop(): Promise<void> {
  expect(await node!.kill('SIGTERM')).toBe(0)
  node = undefined
}

const heightOf = (running: TestNode): Promise<number> => rpc(running.url, 'eth_blockNumber').then(Number)

const MIRROR = 'https://mirror.example/today/'

describe('coind snapshot', () => {
  it('makes one beside a running node and of a stopped one, and verifies it', async () => {
    const running = join(directory, 'running')
    const stopped = join(directory, 'stopped')
    const started = await startNode({ homedir })
    node = started
    await until('block 6', async () => (await heightOf(started)) >= 6)
    const made = await snapshot('create', '--out', running, '--mirror', MIRROR)
    expect(made).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Created a snapshot of block \d+: \d+ chunks/),
    })
    const height = Number(/block (\d+)/.exec(made.output)![1])
    await stop()

    const again = await snapshot('create', '--out', stopped, '--height', String(height), '--mirror', MIRROR)
    expect(again).toMatchObject({ code: 0, output: expect.stringContaining(`Created a snapshot of block ${height}:`) })
    // Names of chunks are their hashes.
    expect(readdirSync(stopped).sort()).toEqual(readdirSync(running).sort())
    const manifests = [stopped, running].map((path) => readFileSync(join(path, 'manifest.json'), 'utf8'))
    expect(manifests[0]).toBe(manifests[1])
    expect(JSON.parse(manifests[0]!).mirrors).toEqual([MIRROR])
    expect(readdirSync(homedir).filter((name) => name.startsWith('copy-'))).toEqual([])
    expect(await snapshot('verify', stopped)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`The snapshot of block ${height} is complete and consistent`),
    })

    expect(await snapshot('create', '--out', stopped)).toMatchObject({
      code: 65,
      output: expect.stringContaining('stopped exists already: name another directory'),
    })
    const chunk = readdirSync(running).find((name) => name.endsWith('.zst'))!
    truncateSync(join(running, chunk), 20)
    expect(await snapshot('verify', running)).toMatchObject({
      code: 65,
      output: expect.stringMatching(new RegExp(`${chunk} \\(.+\\) is bad: it has 20 bytes, not \\d+\n$`)),
    })
  })
})

describe('a node with SNAPSHOT_INTERVAL', () => {
  it('makes snapshots while it makes blocks, keeps the newest, and ends when one shows that the database is damaged', async () => {
    const environment = { SNAPSHOT_INTERVAL: '3', SNAPSHOT_KEEP: '2' }
    const started = await startNode({ homedir, environment })
    node = started
    const shelf = join(homedir, 'snapshots')
    // The thread that makes them makes the directory, too.
    const shelved = (): string[] =>
      (existsSync(shelf) ? readdirSync(shelf) : []).filter((name) => !name.startsWith('.'))
    await until('the third snapshot', async () => shelved().some((name) => Number(name) >= 9), 60_000)
    await until('the removal of the first', async () => shelved().length === 2)
    const heights = shelved().map(Number)
    expect(heights.filter((height) => height % 3 !== 0)).toEqual([])

    const newest = String(Math.max(...heights))
    const copy = join(directory, 'copy')
    await snapshot('create', '--out', copy, '--height', newest)
    const ownManifest = join(shelf, newest, 'manifest.json')
    // Unless it is too old by now: then the next test of the same says it.
    if (existsSync(ownManifest)) expect(readFileSync(ownManifest)).toEqual(readFileSync(join(copy, 'manifest.json')))
    const before = await heightOf(started)
    await until('the next block', async () => (await heightOf(started)) > before)
    await stop()
    expect(started.output()).not.toContain('could not be made')

    const listed = await snapshot('list')
    expect(listed.code).toBe(0)
    const lines = listed.output.trim().split('\n')
    expect(lines).toHaveLength(2)
    for (const line of lines) {
      const height = /^block (\d+) {2}20\d\d-/.exec(line)![1]!
      expect(await snapshot('verify', join(shelf, height))).toMatchObject({ code: 0 })
    }

    // An account that nobody reads, but the maker of snapshots.
    const database = await Database.open(join(homedir, 'db'))
    const key = accountKey(hexToBytes(ACCOUNTS[7]!.address))
    const batch = new WriteBatch()
    batch.put(key, database.get(key)!.with(-1, 1))
    await database.write(batch, { sync: true })
    await database.close()
    const ports = { RPC_PORT: String(await freePort()), P2P_PORT: String(await freePort()), METRICS_PORT: '0' }
    const died = await runCoind(['devnet', '--no-explorer', '--homedir', homedir], {
      environment: { ...environment, ...ports, RPC_HOST: '127.0.0.1' },
      killAfterMs: 60_000,
    })
    expect(died).toMatchObject({
      code: 65,
      output: expect.stringMatching(/coind: the database is damaged \(a chunk of accounts: .+\): check the disk/),
    })
  })
})
