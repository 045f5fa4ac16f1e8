import { BlockList, isIPv4 } from 'node:net'
import { budgetKeyOf, LOOPBACK_IPV6, readNetworkAddress } from '../primitives/networkAddress.ts'
import type { AddressRange } from './valueKind.ts'

/** Tells clients apart: each has a key, under which its budgets are stored. */
export interface ClientAddresses {
  /**
   * Returns the client that a request counts for.
   * @param remoteAddress of the connection; undefined when it is closed already
   * @param forwardedFor the hops that {@link forwardedFor} finds; undefined only when no header says that the request was forwarded
   */
  of(remoteAddress: string | undefined, forwardedFor: string | undefined): string
  /** Returns the client that a whole connection counts for; undefined: it is a trusted proxy's, for several clients. */
  ofConnection(remoteAddress: string | undefined): string | undefined
}

/** All connections whose address is not known: they were closed before that. */
const UNKNOWN = 'unknown'
/** Prefix of the loopback address of a request that a proxy forwarded: it is not a request of this machine. */
const PROXIED = 'proxied '

/** Headers by which proxies name their clients, or themselves. */
const FORWARDING_HEADERS = [
  'forwarded',
  'x-forwarded',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'via',
] as const

/**
 * Returns the hops of a request that came through proxies: all its lines of X-Forwarded-For in one.
 * An empty text when only another header says that it was forwarded; undefined when none does.
 * @param header the value of a header, by its name in lower case
 */
export function forwardedFor(header: (name: string) => string | readonly string[] | undefined): string | undefined {
  const lines = header('x-forwarded-for')
  if (lines !== undefined) return typeof lines === 'string' ? lines : lines.join(',')
  return FORWARDING_HEADERS.some((name) => header(name) !== undefined) ? '' : undefined
}

/**
 * Makes keys of clients (see `budgetKeyOf`). A proxy names the client in X-Forwarded-For. Everybody can send that header, so it is read
 * only where the connection comes from a trusted proxy; then the client is the last address in it that is not a trusted proxy itself. A
 * header that cannot be read names no client. A forwarded request never counts for this machine itself, whose requests have no limits:
 * behind a proxy on the same machine every connection is a loopback one.
 * @param onUntrusted called with the first address that sends the header without being trusted
 */
export function createClientAddresses(
  trustedProxies: readonly AddressRange[],
  onUntrusted?: (address: string) => void,
): ClientAddresses {
  const trusted = new BlockList()
  for (const { address, prefix } of trustedProxies) trusted.addSubnet(address, prefix, familyOf(address))
  const isTrusted = (address: string): boolean => trustedProxies.length > 0 && trusted.check(address, familyOf(address))

  let hasTold = false

  return {
    of: (remoteAddress, forwardedFor) => {
      const own = remoteAddress === undefined ? undefined : readNetworkAddress(remoteAddress)
      if (own === undefined) return UNKNOWN
      if (forwardedFor === undefined) return budgetKeyOf(own)
      if (isTrusted(own)) return forwardedKeyOf(lastUntrusted(forwardedFor.split(','), isTrusted) ?? own)
      if (!hasTold) onUntrusted?.(own)
      hasTold = true
      return forwardedKeyOf(own)
    },
    ofConnection: (remoteAddress) => {
      const own = remoteAddress === undefined ? undefined : readNetworkAddress(remoteAddress)
      if (own === undefined) return UNKNOWN
      return isTrusted(own) ? undefined : budgetKeyOf(own)
    },
  }
}

function forwardedKeyOf(address: string): string {
  const key = budgetKeyOf(address)
  return isLoopback(key) ? `${PROXIED}${key}` : key
}

/** Whether the client runs on the node's own machine, and comes without a proxy. */
export function isLoopback(client: string): boolean {
  return client === LOOPBACK_IPV6 || client.startsWith('127.')
}

/**
 * Returns the last hop that is not a trusted proxy, or the first of all if each is one; undefined
 * when a hop before that is not an address.
 */
function lastUntrusted(hops: readonly string[], isTrusted: (address: string) => boolean): string | undefined {
  let address: string | undefined
  for (const hop of hops.toReversed()) {
    address = readNetworkAddress(hop.trim())
    if (address === undefined || !isTrusted(address)) return address
  }
  return address
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}
