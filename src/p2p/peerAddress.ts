import { isIP, isIPv4 } from 'node:net'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'

/** Where a peer can be dialled: host name or IP address, and port. */
export interface PeerAddress {
  readonly host: string
  readonly port: number
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** Reads host:port; an IPv6 address stands in brackets. Undefined for anything else. */
export function parsePeerAddress(text: string): PeerAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text)
  if (match === null) return undefined
  const host = match[1] ?? match[2]!
  const port = Number(match[3])
  const isHost = match[1] === undefined ? isIPv4(host) || HOST_NAME.test(host) : isIP(host) === 6
  return isHost && port > 0 && port <= 65_535 ? { host, port } : undefined
}

export function formatPeerAddress({ host, port }: PeerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Without a peer ID: who answers is compared with who should. */
export function toMultiaddr({ host, port }: PeerAddress): Multiaddr {
  const kind = isIP(host) === 0 ? 'dns' : isIPv4(host) ? 'ip4' : 'ip6'
  return multiaddr(`/${kind}/${host}/tcp/${port}`)
}

/** The IP address and port of a connection's other end. */
export function fromMultiaddr(address: Multiaddr): PeerAddress | undefined {
  const [host, port] = address.getComponents()
  if (host?.value === undefined || port?.name !== 'tcp') return undefined
  // An IPv4 client of a socket that listens on both.
  return { host: host.value.replace(/^::ffff:(?=\d+\.)/i, ''), port: Number(port.value) }
}

/** From where an address can be reached. A host name may lead anywhere. */
export type Reach = 'loopback' | 'private' | 'public'

export function reachOf(host: string): Reach {
  if (host === 'localhost' || host === '::1' || /^127\./.test(host)) return 'loopback'
  if (/^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/.test(host)) {
    return 'private'
  }
  return /^(f[cd]|fe[89ab])[0-9a-f]{0,2}:/i.test(host) ? 'private' : 'public'
}

/** Whether it makes sense to dial `host` on the word of a peer at `source`: nobody may send us into our own network. */
export function isPlausible(host: string, source: string): boolean {
  if (host === '0.0.0.0' || host === '::') return false
  const reach = reachOf(host)
  if (reach === 'public') return true
  const from = reachOf(source)
  return reach === 'loopback' ? from === 'loopback' : from !== 'public'
}
