import { BlockList, isIP, isIPv4 } from 'node:net'
import type { AddressRange } from '../config/valueKind.ts'

/**
 * Whom a request counts for: the key under which its client's budgets are kept.
 * @param remoteAddress of the connection; undefined when it is closed already
 * @param forwardedFor the header X-Forwarded-For
 */
export type ClientOf = (remoteAddress: string | undefined, forwardedFor: string | undefined) => string

/** All connections whose address is not known: they were closed before they were looked at. */
const UNKNOWN = 'unknown'
const LOOPBACK_IPV6 = '::1'
/** With a port, as some proxies write it. */
const ADDRESS_AND_PORT = /^(?:\[([^\]]+)\]|([^:]+)):\d{1,5}$/
const BRACKETS = /^\[([^\]]+)\]$/
const MAPPED_IPV4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/
const IPV6_GROUPS = 8

/**
 * Makes keys of clients: an IPv4 address, or the /64 of an IPv6 address, as one subscriber usually has a whole /64 at least. A proxy
 * names the client in X-Forwarded-For. Everybody can send that header, so it is read only where the connection comes from a trusted
 * proxy; then the client is the last address in it that is not a trusted proxy itself. A header that cannot be read changes nothing.
 * @param onUntrusted called with the first address that sends the header without being trusted
 */
export function createClientOf(
  trustedProxies: readonly AddressRange[],
  onUntrusted?: (address: string) => void,
): ClientOf {
  const trusted = new BlockList()
  for (const { address, prefix } of trustedProxies) trusted.addSubnet(address, prefix, familyOf(address))
  const isTrusted = (address: string): boolean => trusted.check(address, familyOf(address))

  let hasTold = false

  return (remoteAddress, forwardedFor) => {
    const own = remoteAddress === undefined ? undefined : readAddress(remoteAddress)
    if (own === undefined) return UNKNOWN
    if (forwardedFor === undefined) return keyOf(own)
    if (trustedProxies.length === 0 || !isTrusted(own)) {
      if (!hasTold) onUntrusted?.(own)
      hasTold = true
      return keyOf(own)
    }
    return keyOf(lastUntrusted(forwardedFor.split(','), isTrusted) ?? own)
  }
}

/** Whether the client runs on the node's own machine. */
export function isLoopback(client: string): boolean {
  return client === LOOPBACK_IPV6 || client.startsWith('127.')
}

/** The first of all hops where each is a trusted proxy; undefined when a hop before that is not an address. */
function lastUntrusted(hops: readonly string[], isTrusted: (address: string) => boolean): string | undefined {
  let address: string | undefined
  for (const hop of hops.toReversed()) {
    address = readAddress(hop.trim())
    if (address === undefined || !isTrusted(address)) return address
  }
  return address
}

/** An address in its shortest form, IPv4 also where it is written as IPv6; undefined for any other text. */
function readAddress(text: string): string | undefined {
  const [, bracketed, plain] = ADDRESS_AND_PORT.exec(text) ?? BRACKETS.exec(text) ?? []
  // A zone (fe80::1%eth0) says by which interface the address is reached.
  const [address = ''] = (bracketed ?? plain ?? text).split('%', 1)
  if (isIPv4(address)) return address
  if (isIP(address) === 0) return undefined
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, high, low] = MAPPED_IPV4.exec(shortest) ?? []
  if (high === undefined || low === undefined) return shortest
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join('.')
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}

/** @param address as `readAddress` gives it */
function keyOf(address: string): string {
  if (isIPv4(address) || address === LOOPBACK_IPV6) return address
  const [head = [], tail = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const groups = [...head, ...Array<string>(IPV6_GROUPS - head.length - tail.length).fill('0'), ...tail]
  return `${groups.slice(0, IPV6_GROUPS / 2).join(':')}::/64`
}
