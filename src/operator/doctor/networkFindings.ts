import { createConnection } from 'node:net'
import { ListenError, nodeListeners, tryListener } from '../../config/listeners.ts'
import { checkSeedUrl } from '../../config/startRules.ts'
import type { PeerAddress } from '../../config/valueKind.ts'
import { parsePeerAddress } from '../../p2p/peerAddress.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { refusalOf } from './settingFindings.ts'

/* Checks of the node's ports, its connections to peers, and its clock compared with that of another machine. */

const TIMEOUT_MS = 3_000
/** HTTP tells the time in whole seconds; blocks want half a second. */
const GOOD_CLOCK_SECONDS = 2

type Listeners = Parameters<typeof nodeListeners>[0]

/**
 * Whether the node can listen, or listens already.
 * @param nodeId of the node with these settings; undefined: it has no key yet
 */
export async function examinePorts(config: Listeners, nodeId: string | undefined): Promise<readonly Finding[]> {
  const { rpc } = config
  const runs = nodeId !== undefined && (await runningNodeId(rpc)) === nodeId
  const examined = nodeListeners(config).map(async (listener): Promise<readonly Finding[]> => {
    const { variable, place } = listener
    // A socket of the file system is not tried, and a port that the system is to choose is free.
    if (place.kind === 'unix' || place.port === 0) return []
    const code = await tryListener(listener)
    if (code === undefined) return [ok(`${variable} ${place.port} is free`)]
    if (code === 'EADDRINUSE' && runs)
      return [ok(`${variable} ${place.port} is in use, as expected while this node runs`)]
    return [problem(new ListenError(listener, code).message)]
  })
  return (await Promise.all(examined)).flat()
}

/** Returns the ID that the node at a port reports. */
async function runningNodeId({ host, port }: Listeners['rpc']): Promise<string | undefined> {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  const url = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}/rpc/status`
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { result } = (await response.json()) as {
      readonly result?: { readonly node_info?: { readonly id?: string } }
    }
    return result?.node_info?.id
  } catch {
    // No program answers, or another one than coind.
    return undefined
  }
}

/**
 * Compares this machine's clock with the seed node's.
 * @param now Unix time in milliseconds
 */
export async function examineClock(seedUrl: string | undefined, now: () => number): Promise<Finding> {
  if (seedUrl === undefined) {
    return warning(
      'not compared: SEED_NODE_URL is not set. The running node measures the offset (coind_clock_offset_seconds); run NTP',
    )
  }
  const refusal = refusalOf(() => checkSeedUrl(seedUrl))
  if (refusal !== undefined) return refusal
  const { host } = new URL(seedUrl)
  try {
    // The first request opens the connection, whose time would count as the clock's.
    await timeOf(seedUrl, now)
    const told = await timeOf(seedUrl, now)
    return told === undefined ? warning(`not compared: ${host} reports no time`) : examineOffset(told)
  } catch (error) {
    return warning(`not compared: ${host} does not answer (${reasonOf(error)})`)
  }
}

interface ToldTime {
  /** this clock minus the other one, whose reported second may have begun up to a second before */
  readonly offsetSeconds: number
  readonly roundTripSeconds: number
}

function examineOffset({ offsetSeconds, roundTripSeconds }: ToldTime): Finding {
  const size = Math.abs(offsetSeconds)
  if (size <= GOOD_CLOCK_SECONDS + roundTripSeconds / 2) return ok("the clock agrees with the seed node's")
  const offset = `${size.toFixed(1)} s ${offsetSeconds < 0 ? 'behind' : 'ahead of'} the seed node's`
  return problem(
    `the clock is ${offset}: run NTP (chrony or systemd-timesyncd); with a wrong clock the validator misses votes`,
  )
}

/** @returns undefined when the answer has no time, or an old one from a cache */
async function timeOf(seedUrl: string, now: () => number): Promise<ToldTime | undefined> {
  const begin = now()
  const response = await fetch(`${seedUrl.replace(/\/+$/, '')}/livez`, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
    redirect: 'error',
    headers: { 'cache-control': 'no-cache' },
  })
  await response.arrayBuffer()
  const end = now()
  const date = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(date) || response.headers.has('age')) return undefined
  return { offsetSeconds: ((begin + end) / 2 - (date + 500)) / 1000, roundTripSeconds: (end - begin) / 1000 }
}

/** Whether the configured peers take connections. */
export async function examinePeers(peers: readonly PeerAddress[]): Promise<readonly Finding[]> {
  if (peers.length === 0)
    return [ok('no peers are configured, as for the first validator of a network or a development chain')]
  return Promise.all(
    peers.map(async ({ address }) => {
      const target = parsePeerAddress(address)
      const error = target === undefined ? 'not host:port' : await connectError(target)
      if (error === undefined) return ok(`${address} accepts connections`)
      return warning(`cannot reach ${address} (${error}): check the address, and firewalls on both sides`)
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
