import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { anvilPath } from '../../bench/targets/anvil.ts'
import { freePort } from '../e2e/startNode.ts'

/** A second implementation to compare with: Foundry's anvil, of an npm package. */
export interface Anvil {
  /** The result of a request. @throws Error for an error */
  ask<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>
  stop(): Promise<void>
}

/** Whether npm has a program for this machine. */
export function hasAnvil(): boolean {
  try {
    anvilPath()
    return true
  } catch {
    return false
  }
}

/** Starts anvil on a free port, with the rules of `hardfork`; it makes blocks when it is told to. */
export async function startAnvil(options: { readonly chainId: bigint; readonly hardfork: string }): Promise<Anvil> {
  const port = await freePort()
  const flags = ['--silent', '--no-mining', '--port', String(port), '--chain-id', String(options.chainId)]
  const fees = ['--base-fee', '1000000000', '--disable-min-priority-fee']
  const child = spawn(anvilPath(), [...flags, ...fees, '--hardfork', options.hardfork, '--gas-limit', '30000000'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  const ask = async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as { readonly result: T; readonly error?: unknown }
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }
  while (child.exitCode === null) {
    try {
      await ask('eth_chainId')
      break
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return {
    ask,
    stop: async () => {
      child.kill()
      await exited
    },
  }
}
