import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../e2e/startNode.ts'

/** Where Debian's package `postgresql` puts the programs of each version. */
const VERSIONS = '/usr/lib/postgresql'

/** The directory of PostgreSQL's programs, undefined when it is not installed: `apt-get install postgresql`. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined
  const newest = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a))[0]
  const directory = join(VERSIONS, newest ?? '', 'bin')
  return existsSync(join(directory, 'initdb')) ? directory : undefined
}

/** A PostgreSQL server of its own, in a temporary directory, for a test. */
export interface TestPostgres {
  /** postgres://…, of an empty database */
  readonly url: string
  /** of the process that all its others are children of */
  pid(): number
  /** Ends all of its processes at once, as a power loss does, and starts it again. */
  crash(): void
  stop(): void
}

/** Starts a server with the programs of {@link postgresPrograms}. It refuses to run as root, for whom it runs as the user `postgres`. */
export async function startPostgres(programs: string): Promise<TestPostgres> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-postgres-'))
  const isRoot = process.getuid?.() === 0
  const run = (program: string, ...args: readonly string[]): void => {
    const command = [join(programs, program), ...args]
    const [first, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command
    execFileSync(first!, rest, { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory })
  }
  chmodSync(directory, 0o711)
  if (isRoot) execFileSync('chown', ['postgres', directory])
  const data = join(directory, 'data')
  const port = await freePort()
  const log = join(directory, 'log')
  const start = (): void =>
    run(
      'pg_ctl',
      'start',
      '-w',
      '-D',
      data,
      '-l',
      log,
      '-o',
      `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${directory}`,
    )
  run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync')
  start()
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    pid: () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]),
    crash: () => {
      run('pg_ctl', 'stop', '-D', data, '-m', 'immediate')
      start()
    },
    stop: () => {
      run('pg_ctl', 'stop', '-D', data, '-m', 'immediate')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
