import { spawn } from 'node:child_process'

const LAUNCHER = new URL('../../bin/coind.js', import.meta.url).pathname

export interface CommandResult {
  /** null when a signal ended it */
  readonly code: number | null
  /** standard output and error */
  readonly output: string
}

/** Runs one command of the program to its end, or kills it after `killAfterMs`. */
export async function runCoind(
  args: readonly string[],
  options: { readonly environment?: Readonly<Record<string, string>>; readonly killAfterMs?: number } = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    env: { PATH: process.env.PATH, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
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
