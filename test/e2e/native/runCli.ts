import { spawn } from 'node:child_process'
import type { Hex } from 'viem'

const LAUNCHER = new URL('../../../bin/coind.js', import.meta.url).pathname

export interface CliResult {
  readonly code: number | null
  readonly output: string
  readonly error: string
}

/** Runs a `coind` command against a node, as the holder of a key. */
export async function runCli(
  url: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    env: { PATH: process.env.PATH, COIND_NODE: url, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let error = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    error += chunk.toString()
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output, error }
}

/** Sends what a `coind tx` command makes and gives its `tx_response`. @throws Error with what the command said */
// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
export async function sendByCli(url: string, privateKey: Hex, args: readonly string[]): Promise<any> {
  const { code, output, error } = await runCli(url, ['tx', ...args], { COIND_PRIVATE_KEY: privateKey })
  if (code !== 0) throw new Error(`coind tx ${args.join(' ')}: ${error}`)
  return JSON.parse(output)
}
