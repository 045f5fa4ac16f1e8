import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgresPrograms, startPostgres } from '../../test/postgres/startPostgres.ts'
import { familyMs, threadTimes } from '../measure/processUsage.ts'
import { freePort } from '../targets/ports.ts'

const LAUNCHER = new URL('../../bin/coind.js', import.meta.url).pathname
const POLL_MS = 50

/** Where an index is made. */
export interface Place {
  /** for EXPLORER_DATABASE */
  readonly database: string
  /** milliseconds of processor time of the database's own processes so far; undefined: it has no own processes, or they are not known */
  processorMs(): number | undefined
  remove(): void
}

/**
 * Makes a place for a new index: a temporary file, or its own PostgreSQL server.
 * @throws Error when PostgreSQL is not installed
 */
export async function makePlace(isPostgres: boolean): Promise<Place> {
  if (isPostgres) {
    const programs = postgresPrograms()
    if (programs === undefined) throw new Error('PostgreSQL is not installed')
    const { url, pid, stop } = await startPostgres(programs)
    return { database: url, processorMs: () => familyMs(pid()), remove: stop }
  }
  const directory = mkdtempSync(join(tmpdir(), 'coind-bench-index-'))
  return {
    database: join(directory, 'index.sqlite'),
    processorMs: () => undefined,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** An explorer in its own process. */
export interface BenchExplorer {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** of its index; 0 while the index is empty */
  height(): Promise<number>
  stop(): Promise<void>
}

interface ExplorerOptions {
  readonly nodeUrl: string
  readonly database: string
  /** for Node.js, before the program (a profiler) */
  readonly nodeFlags?: readonly string[]
}

/** Starts an explorer. It may not answer yet. */
export async function runExplorer({ nodeUrl, database, nodeFlags = [] }: ExplorerOptions): Promise<BenchExplorer> {
  const port = await freePort()
  const child = spawn(process.execPath, [...nodeFlags, LAUNCHER, 'explorer'], {
    env: {
      PATH: process.env.PATH,
      EXPLORER_NODE_URL: nodeUrl,
      EXPLORER_HOST: '127.0.0.1',
      EXPLORER_PORT: String(port),
      EXPLORER_DATABASE: database,
      // Any client may name the address that it asks for.
      TRUSTED_PROXIES: '127.0.0.1',
      LOG_LEVEL: 'error',
    },
    stdio: 'inherit',
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}/`
  return {
    url,
    port,
    pid: child.pid!,
    height: async () => {
      try {
        const response = await fetch(`${url}api/v1/status`)
        return ((await response.json()) as { readonly height: number | null }).height ?? 0
      } catch (error) {
        if (child.exitCode !== null) throw new Error('the explorer has ended', { cause: error })
        return 0
      }
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Waits until the index has this block, and returns when, and the block that it has then. */
export async function indexed(
  explorer: Pick<BenchExplorer, 'height'>,
  wanted: number,
): Promise<{ readonly height: number; readonly atMs: number }> {
  for (;;) {
    const height = await explorer.height()
    if (height >= wanted) return { height, atMs: performance.now() }
    await sleep(POLL_MS)
  }
}

/** Returns the milliseconds of processor time of all threads of a process, so far. */
export function processorMs(pid: number): number {
  return [...threadTimes(pid).values()].reduce((sum, ms) => sum + ms, 0)
}
