import { type LookupAddress, promises } from 'node:dns'
import { addressRange } from './networkAddress.ts'

/*
 * Requests to servers that others name. They may not lead to this machine or into its network,
 * where services trust every client that reaches them. The caller connects to the addresses of the
 * very look-up that was checked: a name may resolve to something else the next time.
 */

/** The functions that a guard of requests calls; tests have their own. */
export interface Addresses {
  /** all addresses of a host name */
  readonly resolve: (host: string) => Promise<readonly LookupAddress[]>
  readonly isPublic: (address: string) => boolean
}

export const REAL_ADDRESSES: Addresses = {
  resolve: (host) => promises.lookup(host, { all: true }),
  isPublic: (address) => addressRange(address) === 'unicast',
}

/**
 * A manifest, a node or a redirect leads to a server that must not be asked, or not again. The
 * message is a part of a line.
 */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
}

/** @returns those addresses of `host` that may be connected to, at least one. @throws RefusedRequest */
export function onlyAllowed(
  host: string,
  addresses: readonly LookupAddress[],
  isAllowed: (address: string) => boolean,
): readonly LookupAddress[] {
  const allowed = addresses.filter(({ address }) => isAllowed(address))
  if (allowed.length > 0) return allowed
  const address = addresses[0]?.address
  if (address === undefined) throw new RefusedRequest(`leads to ${host}, which has no address`)
  const shown = host === address ? host : `${host} (${address})`
  throw new RefusedRequest(`leads to ${shown}, an address that is not public`)
}

/** Returns the host of a URL as `node:net` takes it: an IPv6 address without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/[[\]]/g, '')
}
