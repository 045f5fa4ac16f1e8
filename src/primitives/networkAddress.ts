import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

export const LOOPBACK_IPV6 = '::1'
/** With a port, as some proxies write it. */
const ADDRESS_AND_PORT = /^(?:\[([^\]]+)\]|([^:]+)):\d{1,5}$/
const BRACKETS = /^\[([^\]]+)\]$/
const MAPPED_IPV4 = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/
const IPV6_GROUPS = 8

/** An IP address in its shortest form, IPv4 also where it is written as IPv6; undefined for any other text. */
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
 * Whom the budgets of an address count for: an IPv4 address, or the /64 of an IPv6 address, as one subscriber usually has a whole /64 at
 * least.
 * @param address as {@link readNetworkAddress} gives it
 */
export function budgetKeyOf(address: string): string {
  if (isIPv4(address) || address === LOOPBACK_IPV6) return address
  const [head = [], tail = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const groups = [...head, ...Array<string>(IPV6_GROUPS - head.length - tail.length).fill('0'), ...tail]
  return `${groups.slice(0, IPV6_GROUPS / 2).join(':')}::/64`
}

/** IPv4 addresses as a NAT64 shows them to IPv6 hosts (RFC 6052): 64:ff9b::/96. Its sibling 64:ff9b:1::/48 is of private networks. */
const NAT64_PREFIX = '0,100,255,155,0,0,0,0,0,0,0,0'

/**
 * Which of IANA's special ranges an address is in, by the name that ipaddr.js gives it; `unicast`: in none, so it may be anywhere in the
 * Internet. An IPv4 address that is written as IPv6 (mapped, 6to4, NAT64) counts as itself.
 * @returns undefined for what is no address
 */
export function addressRange(address: string): string | undefined {
  if (isIP(address) === 0) return undefined
  const parsed = ipaddr.process(address)
  const range = parsed.range()
  if (parsed.kind() === 'ipv4') return range
  const bytes = parsed.toByteArray()
  if (range === '6to4') return addressRange(bytes.slice(2, 6).join('.'))
  if (range === 'rfc6052' && bytes.slice(0, 12).join() === NAT64_PREFIX) return addressRange(bytes.slice(12).join('.'))
  // Of the rest only 2000::/3 is given out.
  return range === 'unicast' && bytes[0]! >> 5 !== 1 ? 'reserved' : range
}
