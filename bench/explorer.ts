/**
 * How fast an explorer catches up with a chain of this machine, in a node beside it: blocks with transfers, then empty ones. Prints
 * transfers and blocks a second, and the processor time of explorer and node.
 *
 *   node bench/explorer.ts [--transfers 40000] [--blocks 200] [--empty 2000] [--database postgres://…]
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { dataPaths } from '../src/app/dataDirectory.ts'
import { freePort } from '../test/e2e/startNode.ts'
import { threadTimes } from './measure/processUsage.ts'
import { makeHome, produce, start } from './parts/join.ts'

const LAUNCHER = new URL('../bin/coind.js', import.meta.url).pathname
const POLL_MS = 100

const { values } = parseArgs({
  options: {
    transfers: { type: 'string', default: '40000' },
    blocks: { type: 'string', default: '200' },
    empty: { type: 'string', default: '2000' },
    database: { type: 'string' },
  },
})
const [transfers, full, empty] = [values.transfers, values.blocks, values.empty].map(Number) as [number, number, number]

const directory = mkdtempSync(join(tmpdir(), 'coind-bench-explorer-'))
const genesis = await produce(join(directory, 'chain'), empty, full, transfers)
const home = join(directory, 'node')
makeHome(home, genesis)
cpSync(join(directory, 'chain', 'db'), dataPaths(home).db, { recursive: true })
const node = await start(home, {})
const port = await freePort()
const explorer = spawn(process.execPath, [LAUNCHER, 'explorer'], {
  env: {
    PATH: process.env.PATH,
    EXPLORER_NODE_URL: node.url,
    EXPLORER_HOST: '127.0.0.1',
    EXPLORER_PORT: String(port),
    EXPLORER_DATABASE: values.database ?? join(directory, 'index.sqlite'),
    LOG_LEVEL: 'warn',
  },
  stdio: 'inherit',
})
try {
  const emptyDone = await indexed(Math.floor(empty / 10)).then(async (begun) => ({ begun, done: await indexed(empty) }))
  const before = [explorer.pid!, node.process.pid!].map(processorMs)
  const allDone = await indexed(empty + full)
  const after = [explorer.pid!, node.process.pid!].map(processorMs)
  const [emptySeconds, fullSeconds] = [
    emptyDone.done.atMs - emptyDone.begun.atMs,
    allDone.atMs - emptyDone.done.atMs,
  ].map((ms) => ms / 1000) as [number, number]
  console.log(`empty blocks a second   ${((emptyDone.done.height - emptyDone.begun.height) / emptySeconds).toFixed(0)}`)
  const counted = (transfers * (allDone.height - emptyDone.done.height)) / full
  console.log(`transfers a second      ${(counted / fullSeconds).toFixed(0)}`)
  console.log(`processor time of one   explorer ${micros(0)} µs, node ${micros(1)} µs`)
  function micros(index: number): string {
    return (((after[index]! - before[index]!) * 1000) / counted).toFixed(0)
  }
} finally {
  explorer.kill('SIGTERM')
  await node.kill('SIGTERM')
  rmSync(directory, { recursive: true, force: true })
}

/** Processor time of all threads, so far. */
function processorMs(pid: number): number {
  return [...threadTimes(pid).values()].reduce((sum, ms) => sum + ms, 0)
}

/** When the index has this block, and which block it has then. */
async function indexed(wanted: number): Promise<{ readonly height: number; readonly atMs: number }> {
  for (;;) {
    const height = await heightOfIndex()
    if (height >= wanted) return { height, atMs: performance.now() }
    await sleep(POLL_MS)
  }
}

/** 0 while the explorer is not up. */
async function heightOfIndex(): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/status`)
    return ((await response.json()) as { readonly height: number | null }).height ?? 0
  } catch (error) {
    if (explorer.exitCode !== null) throw new Error('the explorer has ended', { cause: error })
    return 0
  }
}
