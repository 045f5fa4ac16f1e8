import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { call } from '../load/rpc.ts'
import { familyMs } from '../measure/processUsage.ts'
import type { Row } from '../report.ts'
import { anvilPath } from '../targets/anvil.ts'
import { GETH } from '../targets/geth.ts'
import { freePort } from '../targets/ports.ts'

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url))
const POLL_MS = 3
const PATIENCE_MS = 30_000

/** A command that starts a development chain in a directory, as its users type it. */
interface DevelopmentNode {
  readonly command: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

type MakeCommand = (directory: string, port: number) => Promise<DevelopmentNode>

const COMMANDS: Readonly<Record<string, MakeCommand>> = {
  coind: async (directory, port) => ({
    command: 'npm',
    args: ['run', 'devnet', '--', '--homedir', join(directory, 'home')],
    environment: { RPC_PORT: String(port), P2P_PORT: String(await freePort()) },
  }),
  anvil: async (_, port) => ({ command: anvilPath(), args: ['--silent', '--port', String(port)] }),
  geth: async (directory, port) => ({
    command: GETH,
    args: ['--dev', '--datadir', directory, '--http', '--http.port', String(port), '--ipcdisable'].concat(
      '--authrpc.port',
      String(await freePort()),
    ),
  }),
}

/**
 * Measures how long a node takes from its command to the first answer, and the processor time of
 * its processes until then: on a new directory and, where it keeps one, on an old one.
 */
export async function measureStart(name: string): Promise<readonly Row[]> {
  const makeCommand = COMMANDS[name]
  if (makeCommand === undefined) return []
  const directory = mkdtempSync(join(tmpdir(), 'bench-start-'))
  try {
    const rows: Row[] = []
    for (const label of name === 'anvil' ? ['new'] : ['new', 'old']) {
      const port = await freePort()
      const { elapsedMs, cpuMs } = await firstAnswer(await makeCommand(directory, port), port)
      rows.push(
        { name: `start, ${label} directory: first answer`, unit: 's', value: elapsedMs / 1_000 },
        { name: `start, ${label} directory: CPU`, unit: 's', value: cpuMs / 1_000 },
      )
    }
    return rows
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function firstAnswer({ command, args, environment }: DevelopmentNode, port: number) {
  const beginMs = performance.now()
  // A group of its own: what npm has started ends with it.
  const child = spawn(command, args, {
    cwd: PACKAGE,
    env: { ...process.env, ...environment },
    stdio: 'ignore',
    detached: true,
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  try {
    const url = `http://127.0.0.1:${port}/`
    while ((await call(url, 'eth_blockNumber').catch(() => undefined)) === undefined) {
      if (child.exitCode !== null || performance.now() - beginMs > PATIENCE_MS)
        throw new Error(`${command} did not start`)
      await sleep(POLL_MS)
    }
    return { elapsedMs: performance.now() - beginMs, cpuMs: familyMs(child.pid!) }
  } finally {
    process.kill(-child.pid!, 'SIGTERM')
    await exited
    // The group may end after npm.
    while (isAlive(-child.pid!)) await sleep(POLL_MS)
  }
}

function isAlive(id: number): boolean {
  try {
    return process.kill(id, 0)
  } catch {
    return false
  }
}
