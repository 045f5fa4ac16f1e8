import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { variants } from '../propertyRuns.ts'
import { freePort, startNode } from './startNode.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LAUNCHER = join(ROOT, 'bin/coind.js')
/** A node that has not ended after this time hangs. */
const HANG_MS = 60_000

let directory: string
let homedir: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-stopping-'))
  homedir = join(directory, 'home')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

async function environment(): Promise<Record<string, string>> {
  const [rpc, p2p] = [await freePort(), await freePort()]
  return {
    // The directory of the pinned Node.js, which npm's scripts find by its name.
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: directory,
    npm_config_update_notifier: 'false',
    RPC_PORT: String(rpc),
    P2P_PORT: String(p2p),
    METRICS_PORT: '0',
    LOG_FORMAT: 'json',
  }
}

function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error('the process did not end'))
    }, HANG_MS)
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal })
    })
  })
}

const waitFor = (condition: () => boolean): Promise<void> =>
  vi.waitFor(() => expect(condition()).toBe(true), { timeout: HANG_MS, interval: 2 })

/** Whether the node in `homedir` runs: it writes its process ID, and removes it when it stops. */
function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0)
  } catch {
    return false
  }
}

async function startsAgain(): Promise<void> {
  const node = await startNode({ homedir })
  expect(await node.kill('SIGTERM')).toBe(0)
  expect(node.output()).not.toMatch(/"level":"(error|fatal)"/)
}

/** Files whose appearance marks how far a start has come. */
const STAGES = [
  ['db/CURRENT', 'SIGTERM'],
  ['coind.pid', 'SIGINT'],
  ['config/genesis.json', 'SIGTERM'],
  ['wal', 'SIGINT'],
] as const

describe('a stop signal during the start', () => {
  it.each(variants(STAGES, 1))(
    'stops the node cleanly when there is %s, and the next start goes on',
    async (stage, signal) => {
      const args = [LAUNCHER, 'devnet', '--homedir', homedir]
      const child = spawn(process.execPath, args, { env: await environment(), stdio: ['ignore', 'pipe', 'pipe'] })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (data) => {
          output += String(data)
        })
      }
      const end = endOf(child)
      await waitFor(() => existsSync(join(homedir, stage)))
      child.kill(signal)
      expect(await end, output).toEqual({ code: 0, signal: null })
      expect(output).toContain('node has stopped')
      expect(existsSync(join(homedir, 'coind.pid'))).toBe(false)
      await startsAgain()
    },
  )

  it('is taken from the moment on at which the process listens to signals', async () => {
    const early = `process.on('newListener', (event) => {
      if (event === 'SIGTERM') process.nextTick(() => process.kill(process.pid, 'SIGTERM'))
    })`
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(early)}`]
    const args = [...flags, LAUNCHER, 'devnet', '--homedir', homedir]
    const child = spawn(process.execPath, args, { env: await environment(), stdio: 'ignore' })
    expect(await endOf(child)).toEqual({ code: 0, signal: null })
    expect(existsSync(join(homedir, 'db'))).toBe(false)
  })
})

/** Loaded into every thread of the node: the one that is named never returns to its event loop once a file is there. */
const BLOCKED = `
import { existsSync } from 'node:fs'
import * as threads from 'node:worker_threads'
const never = new Int32Array(new SharedArrayBuffer(4))
const block = () => { while (existsSync(process.env.BLOCKING_FILE)) Atomics.wait(never, 0, 0, 20) }
if (threads.threadName === process.env.BLOCKED_THREAD) setInterval(block, 20).unref()
`

describe('a stop signal to a node with a thread that does not answer', () => {
  it.each(variants(['executor', 'view-0', 'socket-0'], 1))('%s: the process ends without it', async (name) => {
    const file = join(directory, 'block')
    const node = await startNode({
      homedir,
      environment: {
        NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(BLOCKED)}`,
        BLOCKED_THREAD: name,
        BLOCKING_FILE: file,
      },
    })
    writeFileSync(file, '')
    await new Promise((resolve) => setTimeout(resolve, 100))
    const end = endOf(node.process)
    node.process.kill('SIGTERM')
    expect(await end).toEqual({ code: 0, signal: null })
    expect(node.output()).toContain('threads did not close in time')
    expect(node.output()).not.toMatch(/"level":"(error|fatal)"/)
    rmSync(file)
    await startsAgain()
  })
})

describe('a node that npm has started', () => {
  it.each(variants(['SIGKILL', 'SIGTERM'] as const, 1))('does not stay behind when npm ends by %s', async (signal) => {
    const npm = spawn('npm', ['run', 'devnet', '--', '--homedir', homedir], {
      cwd: ROOT,
      env: await environment(),
      stdio: 'ignore',
    })
    const pidFile = join(homedir, 'coind.pid')
    await waitFor(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '')
    const id = Number(readFileSync(pidFile, 'utf8'))
    const end = endOf(npm)
    npm.kill(signal)
    await end
    await waitFor(() => !isRunning(id))
    expect(existsSync(pidFile)).toBe(false)
    await startsAgain()
  })
})
