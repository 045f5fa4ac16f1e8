import { createConnection, createServer } from 'node:net'
import type { Config } from '../../config/config.ts'
import type { PeerAddress } from '../../config/valueKind.ts'
import { parsePeerAddress } from '../../p2p/peerAddress.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/* Ports of the node, its way to peers, and its clock beside that of another machine. */

const TIMEOUT_MS = 3_000
/** HTTP tells the time in whole seconds; blocks want half a second. */
const GOOD_CLOCK_SECONDS = 2

/** Whether the node can listen, or listens already. */
export async function examinePorts({
  rpc,
  p2p,
  metrics,
}: Pick<Config, 'rpc' | 'p2p' | 'metrics'>): Promise<readonly Finding[]> {
  const runs = await answersAsNode(rpc)
  const ports = [
    ['RPC_PORT', rpc],
    ['P2P_PORT', p2p],
    ['METRICS_PORT', metrics],
  ] as const
  const examined = ports.map(async ([name, { host, port }]): Promise<readonly Finding[]> => {
    if (port === 0) return []
    const error = await listenError(host, port)
    if (error === undefined) return [ok(`${name} ${port} is free`)]
    if (error === 'EADDRINUSE' && runs) return [ok(`${name} ${port} is in use, by the running node it seems`)]
    const advice = error === 'EADDRINUSE' ? 'another program has it: stop that, or set another port' : 'choose another'
    return [problem(`the node cannot listen at ${name} ${host}:${port} (${error}): ${advice}`)]
  })
  return (await Promise.all(examined)).flat()
}

/** @returns the code of the error */
function listenError(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}

async function answersAsNode({ host, port }: Config['rpc']): Promise<boolean> {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  const url = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}/livez`
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return 'live' in ((await response.json()) as object)
  } catch {
    // Nobody answers, or somebody else.
    return false
  }
}

/**
 * This machine's clock beside the seed node's.
 * @param now Unix time in milliseconds
 */
export async function examineClock(seedUrl: string | undefined, now: () => number): Promise<Finding> {
  if (seedUrl === undefined) {
    return warning(
      'not compared: SEED_NODE_URL is not set. The running node does (coind_clock_offset_seconds); run NTP',
    )
  }
  const begin = now()
  let date: string | null
  try {
    date = (await fetch(new URL('livez', seedUrl), { signal: AbortSignal.timeout(TIMEOUT_MS) })).headers.get('date')
  } catch (error) {
    return warning(`not compared: ${seedUrl} does not answer (${reasonOf(error)})`)
  }
  const between = (begin + now()) / 2
  if (date === null || Number.isNaN(Date.parse(date))) return warning(`not compared: ${seedUrl} tells no time`)
  // The second that it tells has begun up to a second ago.
  const seconds = (between - (Date.parse(date) + 500)) / 1000
  const offset = `${Math.abs(seconds).toFixed(1)} s ${seconds < 0 ? 'behind' : 'ahead of'} the seed node's`
  if (Math.abs(seconds) <= GOOD_CLOCK_SECONDS) return ok(`the clock is about that of the seed node`)
  return problem(`the clock is ${offset}: run NTP (chrony or systemd-timesyncd); a wrong clock misses its votes`)
}

/** Whether the configured peers take connections. */
export async function examinePeers(peers: readonly PeerAddress[]): Promise<readonly Finding[]> {
  if (peers.length === 0)
    return [ok('none are configured: for the first validator of a network, or a development chain')]
  return Promise.all(
    peers.map(async ({ address }) => {
      const target = parsePeerAddress(address)
      const error = target === undefined ? 'no host:port' : await connectError(target)
      if (error === undefined) return ok(`${address} takes connections`)
      return warning(`${address} is not reached (${error}): check the address, and firewalls on both sides`)
    }),
  )
}

function connectError(target: { readonly host: string; readonly port: number }): Promise<string | undefined> {
  const socket = createConnection({ ...target, timeout: TIMEOUT_MS })
  return new Promise<string | undefined>((resolve) => {
    socket.once('connect', () => resolve(undefined))
    socket.once('error', (error) => resolve(reasonOf(error)))
    socket.once('timeout', () => resolve(`no answer within ${TIMEOUT_MS / 1000} s`))
  }).finally(() => socket.destroy())
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : message
}
