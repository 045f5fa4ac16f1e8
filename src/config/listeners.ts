import { createServer, type ListenOptions } from 'node:net'
import type { Config } from './config.ts'
import type { SignerAddress } from './valueKind.ts'

/** A place where the program is to listen, and the settings that choose it. */
export interface Listener {
  /** variable of the port, or of the whole address */
  readonly variable: string
  /** variable of the address */
  readonly hostVariable: string
  readonly place: SignerAddress
  /** whether an address of IPv6 takes connections of IPv6 alone, as libp2p's do */
  readonly isIpv6Only?: boolean
}

/** A place where the program cannot listen. The message is one line for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  /** of the system's error */
  readonly code: string

  constructor(listener: Listener, code: string, cause?: unknown) {
    super(describe(listener, code), { cause })
    this.code = code
  }
}

/** How long all places of a program may take: only names that have to be resolved take any time. */
const CHECK_MS = 5_000
/** The code of a place that has not answered within that time. */
const LATE = 'ETIMEDOUT'

/** Listeners of a node, those that other programs need most first. */
export function nodeListeners({
  rpc,
  p2p,
  metrics,
  signer,
}: Pick<Config, 'rpc' | 'p2p' | 'metrics'> & Partial<Pick<Config, 'signer'>>): readonly Listener[] {
  const { grpcPort, privateListener } = rpc
  return [
    listener('RPC', rpc.host, rpc.port),
    p2pListener(p2p),
    ...(metrics.port === 0 ? [] : [listener('METRICS', metrics.host, metrics.port)]),
    ...(privateListener === undefined ? [] : [listener('PRIVATE_RPC', privateListener.host, privateListener.port)]),
    ...(grpcPort === undefined ? [] : [grpcListener(rpc.host, grpcPort)]),
    ...(signer === undefined ? [] : [signerListener(signer.address)]),
  ]
}

/** Returns the listener at `…_PORT` and `…_HOST`. */
export function listener(prefix: 'RPC' | 'METRICS' | 'PRIVATE_RPC' | 'EXPLORER', host: string, port: number): Listener {
  return { variable: `${prefix}_PORT`, hostVariable: `${prefix}_HOST`, place: { kind: 'tcp', host, port } }
}

export function p2pListener({ host, port }: { readonly host: string; readonly port: number }): Listener {
  return { variable: 'P2P_PORT', hostVariable: 'P2P_HOST', place: { kind: 'tcp', host, port }, isIpv6Only: true }
}

export function grpcListener(host: string, port: number): Listener {
  return { variable: 'GRPC_PORT', hostVariable: 'RPC_HOST', place: { kind: 'tcp', host, port } }
}

export function signerListener(place: SignerAddress): Listener {
  const variable = 'PRIV_VALIDATOR_LADDR'
  return { variable, hostVariable: variable, place }
}

/**
 * Checks that the program can listen at all these places, before it does anything that takes long. A port that another
 * program shares (SO_REUSEPORT) counts as in use: two nodes would divide the clients of both.
 * @throws ListenError for the first that it cannot
 */
export async function checkListeners(listeners: readonly Listener[], options: TryOptions = {}): Promise<void> {
  const errorCodes = await Promise.all(listeners.map((listener) => tryListener(listener, options)))
  for (const [index, code] of errorCodes.entries())
    if (code !== undefined) throw new ListenError(listeners[index]!, code)
}

interface TryOptions {
  readonly timeoutMs?: number
  /** Opens and closes the place; rejects with the system's error. */
  readonly open?: (place: ListenOptions) => Promise<void>
}

/**
 * Returns the system's error code if the program cannot listen there; undefined: it can. A socket
 * of the file system is not tried, since its file would stay.
 */
export function tryListener(
  { place, isIpv6Only = false }: Listener,
  { timeoutMs = CHECK_MS, open = openAndClose }: TryOptions = {},
): Promise<string | undefined> {
  if (place.kind === 'unix') return Promise.resolve(undefined)
  const opened = open(listenOptions(place, isIpv6Only))
  const late = Promise.withResolvers<string>()
  const timer = setTimeout(() => late.resolve(LATE), timeoutMs)
  const tried = opened.then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )
  return Promise.race([tried, late.promise]).finally(() => clearTimeout(timer))
}

/** @param isIpv6Only see {@link Listener} */
export function listenOptions(
  { host, port }: { readonly host: string; readonly port: number },
  isIpv6Only: boolean,
): ListenOptions {
  return { host, port, exclusive: true, ipv6Only: isIpv6Only && host.includes(':') }
}

/** Opens a place and closes it again. @throws the system's error */
export function openAndClose(place: ListenOptions): Promise<void> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(place, () => server.close(() => resolve()))
  })
}

/**
 * Runs what opens the listener.
 * @throws ListenError where the system refuses the place; whatever else `open` throws
 */
export async function listenAs<T>(listener: Listener, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code !== undefined && (syscall === 'listen' || syscall === 'bind' || syscall === 'getaddrinfo'))
      throw new ListenError(listener, code, error)
    throw error
  }
}

/** Describes the problem of a place for the operator, by the code of the system's error. */
function describe({ variable, hostVariable, place }: Listener, code: string): string {
  if (place.kind === 'unix') {
    const problem = SOCKET_PROBLEMS.get(code) ?? `it cannot be opened (${code})`
    return `${variable} is unix://${place.path}: ${problem}`
  }
  const { host, port } = place
  const shown = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const portIs = variable === hostVariable ? `${variable} is tcp://${shown}` : `${variable} is ${port}`
  const hostIs = variable === hostVariable ? `${variable} is tcp://${shown}` : `${hostVariable} is ${host}`
  switch (code) {
    case 'EADDRINUSE':
      return `${portIs}: another program listens on ${shown}; stop it, or choose another port`
    case 'EACCES':
    case 'EPERM':
      return `${portIs}: this user may not listen on ${shown}; choose a port above 1023, or give the process CAP_NET_BIND_SERVICE`
    case 'EADDRNOTAVAIL':
      return `${hostIs}: this machine does not have the address of ${shown}; choose one of its own, or 0.0.0.0 for all`
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return `${hostIs}: this machine has no ${host.includes(':') ? 'IPv6' : 'such kind of address'}, so it cannot listen on ${shown}; choose an address of IPv4, or 0.0.0.0 for all`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case LATE:
      return `${hostIs}: the name cannot be resolved (${code}), so the program cannot listen on ${shown}; choose an address of this machine`
    default:
      return `${portIs}: the program cannot listen on ${shown} (${code})`
  }
}

const SOCKET_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'there is a file already; remove it, or choose another path'],
  ['EACCES', 'this user may not make a socket there'],
  ['ENOENT', 'its directory does not exist'],
  ['EINVAL', 'the path is too long for a socket'],
])
