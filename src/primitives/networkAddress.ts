import { isIP, isIPv4 } from 'node:net'

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
