import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { CHAIN_ID } from '../load/sign.ts'
import { freePort, untilServing } from './ports.ts'
import type { Target } from './target.ts'

/**
 * Returns the path of the program itself: the package's launcher is a Node.js process around it.
 * @throws Error where npm has no program for this machine
 */
export function anvilPath(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${process.platform}-${arch}/bin/anvil`)
}

interface AnvilOptions {
  readonly gasLimit: number
  /** undefined: a block for every transaction that arrives (anvil's default) */
  readonly blockSeconds: number | undefined
}

/** Starts anvil: everything in memory, nothing durable. */
export async function startAnvil({ gasLimit, blockSeconds }: AnvilOptions): Promise<Target> {
  const port = await freePort()
  const interval = blockSeconds === undefined ? [] : ['--block-time', String(blockSeconds)]
  const flags = ['--silent', '--port', String(port), '--chain-id', String(CHAIN_ID), '--gas-limit', String(gasLimit)]
  const child = spawn(anvilPath(), [...flags, ...interval, '--balance', '1000000000', '--no-request-size-limit'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}/`
  await untilServing(url, child)
  return {
    name: blockSeconds === undefined ? 'anvil (automine)' : 'anvil',
    url,
    port,
    pid: child.pid!,
    metricsUrl: undefined,
    takeBlocks: () => undefined,
    mainDelayMs: async () => undefined,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
