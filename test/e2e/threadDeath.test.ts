import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { variants } from '../propertyRuns.ts'
import { rpc, until } from './rpc.ts'
import { startNode, type TestNode } from './startNode.ts'

const TIMEOUT_MS = 60_000

/**
 * Loaded into every thread of the node. A file names the thread that ends, and how: by an error, by its memory, or without a word. A
 * thread that was started after the file was written has nothing to do with it: those that were there before are in another file.
 */
const BOMB = `
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import * as threads from 'node:worker_threads'
const sinceMs = Date.now()
const read = () => {
  try {
    return statSync(process.env.DYING_FILE).mtimeMs < sinceMs ? '' : readFileSync(process.env.DYING_FILE, 'utf8')
  } catch {
    return ''
  }
}
const ways = {
  throws: () => { throw new Error('bomb') },
  exits: () => process.exit(7),
  fills: () => { for (const kept = [];;) kept.push(new Array(100_000).fill(0.5)) },
}
const blow = () => {
  const [name, way] = read().split(' ')
  if (threads.threadName === name) ways[way]()
}
if (!threads.isMainThread) {
  appendFileSync(process.env.DYING_FILE + '.there', threads.threadName + '\\n')
  setInterval(blow, 50).unref()
}
`

describe('a thread that dies', () => {
  let homedir: string
  let file: string
  beforeEach(() => {
    homedir = mkdtempSync(join(tmpdir(), 'coind-death-'))
    file = join(homedir, 'die')
  })
  afterEach(() => rmSync(homedir, { recursive: true, force: true }))

  const end = async (name: string, way: string): Promise<void> => {
    await until(name, async () => readFileSync(`${file}.there`, 'utf8').split('\n').includes(name))
    writeFileSync(file, `${name} ${way}`)
  }

  const start = (environment: Readonly<Record<string, string>> = {}): Promise<TestNode> =>
    startNode({
      homedir,
      environment: {
        NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(BOMB)}`,
        DYING_FILE: file,
        VIEW_THREADS: '2',
        RPC_THREADS: '2',
        SNAPSHOT_INTERVAL: '1000',
        ...environment,
      },
    })

  it.each(
    variants(
      [
        ['executor', 'throws'],
        ['network', 'exits'],
        ['pool', 'throws'],
        ['background', 'throws'],
        ['snapshots', 'throws'],
      ],
      2,
    ),
  )('%s: the node says why, stops, and starts again', async (name, way) => {
    const node = await start()
    const exit = new Promise<number | null>((resolve) => node.process.once('exit', resolve))
    await end(name, way)
    const timer = setTimeout(() => node.process.kill('SIGKILL'), TIMEOUT_MS)
    expect(await exit).toBe(1)
    clearTimeout(timer)
    expect(node.output()).toContain(`the ${name} thread ${way === 'throws' ? 'failed' : 'ended unexpectedly'}`)

    rmSync(file)
    const again = await startNode({ homedir })
    expect(await again.kill('SIGTERM')).toBe(0)
  })

  it('that executes beside the executor is missed by nobody: the executor goes on alone', async () => {
    const node = await start({ EXECUTION_THREADS: '2' })
    const height = Number(await rpc(node.url, 'eth_blockNumber'))
    await end('speculator-0', 'throws')
    await until('its end', async () => node.output().includes('blocks are executed in one thread until the next start'))
    await until('blocks', async () => Number(await rpc(node.url, 'eth_blockNumber')) > height + 2)
    expect(await node.kill('SIGTERM')).toBe(0)
  })

  it('whose work is only for clients is started again, and blocks go on', async () => {
    const node = await start()
    const call = { to: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', data: '0x18160ddd' }
    const ways = variants(
      [
        ['view-0', 'throws'],
        ['socket-0', 'exits'],
        ['view-1', 'fills'],
        ['socket-1', 'throws'],
        ['view-0', 'exits'],
      ],
      2,
    )
    for (const [index, [name, way]] of ways.entries()) {
      const height = Number(await rpc(node.url, 'eth_blockNumber'))
      await end(name, way)
      await until(`the end of ${name}`, async () => node.output().split('is started again').length > index + 1)
      rmSync(file)
      // Each call over a connection of its own: it may be reset while the thread is away, and then all is as before.
      const answers = async (method: string, ...params: readonly unknown[]): Promise<boolean> => {
        try {
          return (await rpc(node.url, method, ...params)) !== undefined
        } catch {
          return false
        }
      }
      for (let times = 0; times < 3; times++) {
        await until('a call', () => answers('eth_call', call, 'latest'))
        await until('a log scan', () => answers('eth_getLogs', { fromBlock: 'latest' }))
        await until('a filter', () => answers('eth_newBlockFilter'))
        await until(
          'a query',
          async () => (await fetch(`${node.url}cosmos/bank/v1beta1/params`).catch(() => undefined))?.ok,
        )
      }
      await until('blocks', async () => Number(await rpc(node.url, 'eth_blockNumber')) > height)
    }
    expect(node.output().match(/is started again/g)).toHaveLength(ways.length)
    expect(await node.kill('SIGTERM')).toBe(0)
  })
})
