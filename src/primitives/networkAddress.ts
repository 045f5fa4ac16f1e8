import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

export const LOOPBACK_IPV6 = '::1'
/** An address with a port, as some proxies write it. */
const ADDRESS_AND_PORT = /^(?:\[([^\]]+)\]|([^:]+)):\d{1,5}$/
const BRACKETS = /^\[([^\]]+)\]$/
const MAPPED_IPV4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/
const IPV6_GROUPS = 8

/** Reads an IP address in its shortest form, IPv4 also where it is written as IPv6; undefined for any other text. */
export function readNetworkAddress(text: string): string | undefined {
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

/**
 * Returns the key of an address's budgets: the IPv4 address, or the /64 of an IPv6 address, as one
 * subscriber usually has a whole /64 at least.
 * @param address a result of {@link readNetworkAddress}
 */
export function budgetKeyOf(address: string): string {
  if (isIPv4(address) || address === LOOPBACK_IPV6) return address
  return `${groupsOf(address)
    .slice(0, IPV6_GROUPS / 2)
    .join(':')}::/64`
}

/** Returns the eight groups of an IPv6 address in its shortest form. */
function groupsOf(address: string): readonly string[] {
  const [head = [], tail = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')))
  return [...head, ...Array<string>(IPV6_GROUPS - head.length - tail.length).fill('0'), ...tail]
}

/** IPv4 addresses as a NAT64 shows them to IPv6 hosts (RFC 6052): 64:ff9b::/96. Its sibling 64:ff9b:1::/48 is of private networks. */
const NAT64_PREFIX = '0,100,255,155,0,0,0,0,0,0,0,0'

/**
 * Returns the one of IANA's special ranges that an address is in, by ipaddr.js's name for it;
 * `unicast` when it is in no such range, so it may be anywhere in the Internet. An IPv4 address
 * that is written as IPv6 (mapped, 6to4, NAT64) counts as itself.
 * @returns undefined for text that is not an address
 */
export function addressRange(address: string): string | undefined {
  if (isIP(address) === 0) return undefined
  const ipv4 = embeddedIpv4(address)
  if (ipv4 !== undefined) return addressRange(ipv4)
  const parsed = ipaddr.process(address)
  const range = parsed.range()
  if (parsed.kind() === 'ipv4') return range
  // Of the rest only 2000::/3 is given out.
  return range === 'unicast' && parsed.toByteArray()[0]! >> 5 !== 1 ? 'reserved' : range
}

/** Returns the IPv4 address that an IPv6 address stands for (6to4, NAT64); undefined for any other one. */
function embeddedIpv4(address: string): string | undefined {
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return undefined
  const bytes = parsed.toByteArray()
  const range = parsed.range()
  if (range === '6to4') return bytes.slice(2, 6).join('.')
  return range === 'rfc6052' && bytes.slice(0, 12).join() === NAT64_PREFIX ? bytes.slice(12).join('.') : undefined
}

/**
 * Returns the largest network around an address that may have a single owner: the /16 of an IPv4
 * address, the /48 of an IPv6 address. An IPv4 address that is written as IPv6 counts as itself.
 * @returns undefined for text that is not an address
 */
export function networkPrefixOf(text: string): string | undefined {
  const address = readNetworkAddress(text)
  if (address === undefined) return undefined
  const ipv4 = isIPv4(address) ? address : embeddedIpv4(address)
  if (ipv4 !== undefined) return `${ipv4.split('.').slice(0, 2).join('.')}.0.0/16`
  return `${groupsOf(address).slice(0, 3).join(':')}::/48`
}
