import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from '../../bench/measure/percentile.ts'
import type { NetworkNode } from '../e2e/network/localNetwork.ts'

/** What a wallet asks again and again, and what the view threads answer. */
const CALLS = [
  ['eth_blockNumber'],
  ['eth_getBalance', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'latest'],
  ['eth_call', { to: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', data: '0x18160ddd' }, 'latest'],
  ['eth_getBlockByNumber', 'latest', true],
] as const
const EVERY_MS = 40
/** Every so manieth request comes over a connection of its own, as that of somebody new. */
const NEW_EVERY = 10
const PATIENCE_MS = 10_000

export interface ClientReport {
  /** milliseconds from the request to its answer, ascending; failed ones count with the time until they had failed */
  readonly latenciesMs: readonly number[]
  readonly failures: readonly string[]
}

/** A client with manners, at an address that no attacker has: a few calls at a time. */
export function startGoodClient({ rpcUrl }: Pick<NetworkNode, 'rpcUrl'>): { stop(): Promise<ClientReport> } {
  const kept = new Agent({ keepAlive: true })
  const once = new Agent({ keepAlive: false })
  const stopping = new AbortController()
  const latenciesMs: number[] = []
  const failures: string[] = []
  const underWay = new Set<Promise<void>>()
  const ask = async (index: number): Promise<void> => {
    const [method, ...params] = CALLS[index % CALLS.length]!
    const beginMs = performance.now()
    try {
      const answer = await post(
        rpcUrl,
        index % NEW_EVERY === 0 ? once : kept,
        JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      )
      if (answer.includes('"error"')) failures.push(`${method}: ${answer.slice(0, 200)}`)
    } catch (error) {
      failures.push(`${method}: ${error instanceof Error ? error.message : String(error)}`)
    }
    latenciesMs.push(performance.now() - beginMs)
  }
  const running = (async () => {
    for (let index = 0; !stopping.signal.aborted; index++) {
      const asked = ask(index)
      underWay.add(asked)
      void asked.then(() => underWay.delete(asked))
      await sleep(EVERY_MS)
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await running
      await Promise.all(underWay)
      kept.destroy()
      return { latenciesMs: latenciesMs.sort((a, b) => a - b), failures }
    },
  }
}

/** Milliseconds in which `percent` of the requests were answered. */
export function latency({ latenciesMs }: ClientReport, percent: number): number {
  return percentile(latenciesMs, percent)
}

function post(url: string, agent: Agent, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
        signal: AbortSignal.timeout(PATIENCE_MS),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (response.statusCode === 200) resolve(text)
          else reject(new Error(`HTTP ${response.statusCode}: ${text.slice(0, 200)}`))
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
