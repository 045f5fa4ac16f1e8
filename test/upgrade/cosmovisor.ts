import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'

/** The real one: what COSMOVISOR names, or the PATH has. undefined: there is none. */
function findCosmovisor(): string | undefined {
  const named = process.env.COSMOVISOR
  if (named !== undefined) return named
  return spawnSync('cosmovisor', ['version'], { stdio: 'ignore' }).error === undefined ? 'cosmovisor' : undefined
}

/** Unpacks a version where cosmovisor looks for it. @param place `genesis`, or `upgrades/<name>` */
export function installForCosmovisor(homedir: string, place: string, archive: Uint8Array): void {
  const directory = join(homedir, 'cosmovisor', place)
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'archive.tar.gz'), archive)
  execFileSync('tar', ['xzf', 'archive.tar.gz'], { cwd: directory })
}

export interface Supervised {
  /** whether it is the real cosmovisor */
  readonly isReal: boolean
  output(): string
  /** Stops it and the node; gives the exit code. */
  stop(): Promise<number | null>
}

/**
 * Runs a node by cosmovisor, or by a substitute where there is none: it starts the version that `upgrade-info.json` names when the node has
 * ended.
 * @param variables of the node
 */
export function runCosmovisor(homedir: string, variables: Readonly<Record<string, string>>): Supervised {
  const cosmovisor = findCosmovisor()
  const environment = {
    PATH: process.env.PATH,
    ...variables,
    HOMEDIR: homedir,
    DAEMON_NAME: 'coind',
    DAEMON_HOME: homedir,
    UNSAFE_SKIP_BACKUP: 'true',
    DAEMON_POLL_INTERVAL: '100ms',
    DAEMON_SHUTDOWN_GRACE: '20s',
  }
  // It watches this directory, which the node makes only when it has something to say.
  mkdirSync(join(homedir, 'data'), { recursive: true })
  let output = ''
  let isStopping = false
  const run = (program: string, args: readonly string[]): ChildProcess => {
    const child = spawn(program, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text: Buffer) => {
        output += text.toString()
      })
    }
    return child
  }
  const bin = (place: string): string => join(homedir, 'cosmovisor', place, 'bin/coind')
  let child = cosmovisor === undefined ? run(bin('genesis'), ['start']) : run(cosmovisor, ['run', 'start'])
  const ended = Promise.withResolvers<number | null>()
  const follow = (): void => {
    child.once('exit', (code) => {
      const { upgradeInfo } = dataPaths(homedir)
      if (cosmovisor !== undefined || isStopping || code !== 75 || !existsSync(upgradeInfo)) return ended.resolve(code)
      const { name } = JSON.parse(readFileSync(upgradeInfo, 'utf8')) as { readonly name: string }
      child = run(bin(`upgrades/${name}`), ['start'])
      follow()
    })
  }
  follow()
  return {
    isReal: cosmovisor !== undefined,
    output: () => output,
    stop: () => {
      isStopping = true
      child.kill('SIGTERM')
      return ended.promise
    },
  }
}
