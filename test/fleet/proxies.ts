import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../e2e/startNode.ts'

/** A proxy of deploy/fleet/. */
export interface ProxyKind {
  readonly name: 'haproxy' | 'nginx'
  /** of deploy/fleet/ */
  readonly file: string
  readonly versionFlag: string
  /** the arguments that run a file in the foreground */
  readonly args: (file: string, directory: string) => readonly string[]
}

export const PROXIES: readonly ProxyKind[] = [
  { name: 'haproxy', file: 'haproxy.cfg', versionFlag: '-v', args: (file) => ['-db', '-f', file] },
  {
    name: 'nginx',
    file: 'nginx.conf',
    versionFlag: '-v',
    args: (file, directory) => [
      '-c',
      file,
      '-p',
      directory,
      '-e',
      'stderr',
      '-g',
      `daemon off; pid ${directory}/nginx.pid;`,
    ],
  },
]

/** Whether Debian's package of this proxy is installed. */
export function isInstalled({ name, versionFlag }: ProxyKind): boolean {
  return spawnSync(name, [versionFlag], { stdio: 'ignore', env: environment() }).status === 0
}

export interface RunningProxy {
  readonly port: number
  /** what it has printed */
  output(): string
  stop(): Promise<void>
}

/**
 * Runs a proxy with its file of deploy/fleet/, in which only addresses, paths and its number of connections are replaced.
 * @param directory for its files
 * @param port that it listens on, on the loopback interface
 * @param nodePorts of the three nodes
 */
export async function startProxy(
  kind: ProxyKind,
  directory: string,
  port: number,
  nodePorts: readonly number[],
): Promise<RunningProxy> {
  const source = new URL(`../../deploy/fleet/${kind.file}`, import.meta.url)
  let text = readFileSync(source, 'utf8')
    // As many descriptors as a shell has.
    .replace('maxconn 20000', 'maxconn 2000')
    .replaceAll('/var/cache/nginx', directory)
    .replace('bind :8545', `bind 127.0.0.1:${port}`)
    .replace('listen 8545', `listen 127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:8544', `127.0.0.1:${await freePort()}`)
  for (const [index, nodePort] of nodePorts.entries())
    text = text.replaceAll(`192.0.2.${index + 1}:8080`, `127.0.0.1:${nodePort}`)
  if (/192\.0\.2\.|:854[45]\b| 8545;/.test(text)) throw new Error(`${kind.file} has addresses that were not replaced`)
  const file = join(directory, kind.file)
  // The workers of nginx run as another user, who may not read this directory.
  writeFileSync(file, kind.name === 'nginx' ? `user root;\n${text}` : text)
  const child = spawn(kind.name, kind.args(file, directory), { stdio: ['ignore', 'pipe', 'pipe'], env: environment() })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part: Buffer) => {
      output += part.toString()
    })
  }
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  for (let attempt = 0; !(await takesConnections(port)); attempt++) {
    if (hasEnded(child) || attempt === 100) throw new Error(`${kind.name} does not start:\n${output}`)
    await sleep(100)
  }
  return {
    port,
    output: () => output,
    stop: async () => {
      if (!hasEnded(child)) child.kill('SIGTERM')
      await exited
    },
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** Debian has them where only an administrator looks by default. */
function environment(): Record<string, string> {
  return { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` }
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
