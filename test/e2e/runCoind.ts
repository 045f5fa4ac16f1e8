import { type ChildProcess, spawn } from 'node:child_process'

const LAUNCHER = new URL('../../bin/coind.js', import.meta.url).pathname

export interface CommandResult {
  /** null when a signal ended it */
  readonly code: number | null
  /** standard output and error */
  readonly output: string
}

export interface CommandOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly killAfterMs?: number
  /** Called with the process at once. */
  readonly onSpawn?: (child: ChildProcess) => void
}

/** Runs one command of the program to its end, or kills it after `killAfterMs`. */
export async function runCoind(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    // Other nodes of this machine may have the port.
    env: { PATH: process.env.PATH, METRICS_PORT: '0', ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  options.onSpawn?.(child)
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const timer =
    options.killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), options.killAfterMs)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  clearTimeout(timer)
  return { code, output }
}
