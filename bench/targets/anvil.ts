import { spawn } from 'node:child_process'
import { CHAIN_ID } from '../load/sign.ts'
import { freePort, untilServing } from './ports.ts'
import type { Target } from './target.ts'

const ANVIL = new URL('../../node_modules/.bin/anvil', import.meta.url).pathname

export interface AnvilOptions {
  readonly gasLimit: number
  /** undefined: a block for every transaction that arrives (anvil's default) */
  readonly blockSeconds: number | undefined
}

/** Starts anvil: everything in memory, nothing durable. */
export async function startAnvil({ gasLimit, blockSeconds }: AnvilOptions): Promise<Target> {
  const port = await freePort()
  const interval = blockSeconds === undefined ? [] : ['--block-time', String(blockSeconds)]
  const flags = ['--silent', '--port', String(port), '--chain-id', String(CHAIN_ID), '--gas-limit', String(gasLimit)]
  const child = spawn(ANVIL, [...flags, ...interval, '--balance', '1000000000', '--no-request-size-limit'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = `http://127.0.0.1:${port}/`
  await untilServing(url, child)
  return {
    name: blockSeconds === undefined ? 'anvil (automine)' : 'anvil',
    url,
    port,
    pid: anvilProcess(child.pid!),
    takeBlocks: () => undefined,
    mainDelayMs: async () => undefined,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
