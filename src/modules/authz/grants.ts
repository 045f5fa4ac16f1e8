import { type Address, toBech32 } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes, EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { NativeStore, WorldState } from '../../state/world.ts'
import { event, type ModuleContext } from '../context.ts'
import { removeExpired } from '../expiryQueue.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'
import { Grant } from './types.ts'

/** Who gave whom what: the key of a grant. */
export interface GrantId {
  readonly granter: Address
  readonly grantee: Address
  readonly msgTypeUrl: string
}

/** Keys of x/authz/keeper/keys.go; times in the queue are milliseconds, 8 bytes, rounded up. */
export const GRANTS_PREFIX = moduleStoreKey('authz', Uint8Array.of(0x01))
const QUEUE_PREFIX = moduleStoreKey('authz', Uint8Array.of(0x02))

export function getGrant(native: Pick<NativeStore, 'get'>, id: GrantId): Grant | undefined {
  const value = native.get(concatBytes(GRANTS_PREFIX, idBytes(id)))
  return value && Grant.decode(value)
}

/** Grants of a granter (to a grantee), or from the first of all, in order of granter, grantee and message type. */
export function* grants(
  native: Pick<NativeStore, 'range'>,
  filter: { readonly granter?: Address; readonly grantee?: Address } = {},
): IterableIterator<GrantId & { readonly grant: Grant }> {
  const { granter, grantee } = filter
  const parts = granter === undefined ? [] : [granter, ...(grantee === undefined ? [] : [grantee])]
  for (const [key, value] of native.range(addressesKey(GRANTS_PREFIX, ...parts))) {
    yield { ...grantIdOf(key), grant: Grant.decode(value) }
  }
}

/** Grants or grants anew. */
export function putGrant(native: Pick<NativeStore, 'get' | 'set' | 'delete'>, id: GrantId, grant: Grant): void {
  dequeue(native, id)
  native.set(concatBytes(GRANTS_PREFIX, idBytes(id)), Grant.encode(grant))
  if (grant.expiration !== undefined) native.set(queueKey(grant.expiration, id), Uint8Array.of(1))
}

/** @returns whether there was one */
export function deleteGrant(native: Pick<NativeStore, 'get' | 'delete'>, id: GrantId): boolean {
  if (!dequeue(native, id)) return false
  native.delete(concatBytes(GRANTS_PREFIX, idBytes(id)))
  return true
}

/** Whether a grant does not hold any more at a block's time. */
export function isExpired({ expiration }: Grant, timeMs: number): boolean {
  return expiration !== undefined && expiration < BigInt(timeMs) * 1_000_000n
}

/**
 * Removes grants that expired before this block, some of them at a time (BeginBlocker of x/authz). A block in which none is due
 * costs one look-up.
 */
export function beginAuthz({ world: { native }, block }: ModuleContext): void {
  removeExpired(native, { queue: QUEUE_PREFIX, entries: GRANTS_PREFIX }, block.timeMs)
}

/** EventGrant and EventRevoke: typed events, whose values are JSON. */
export function emitGrantEvent(
  world: Pick<WorldState, 'emitEvent'>,
  type: 'cosmos.authz.v1beta1.EventGrant' | 'cosmos.authz.v1beta1.EventRevoke',
  { granter, grantee, msgTypeUrl }: GrantId,
): void {
  const values = { grantee: toBech32(grantee), granter: toBech32(granter), msg_type_url: msgTypeUrl }
  const attributes = Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)])
  world.emitEvent(event(type, Object.fromEntries(attributes)))
}

function dequeue(native: Pick<NativeStore, 'get' | 'delete'>, id: GrantId): boolean {
  const grant = getGrant(native, id)
  if (grant?.expiration !== undefined) native.delete(queueKey(grant.expiration, id))
  return grant !== undefined
}

function queueKey(expiration: bigint, id: GrantId): Uint8Array {
  const ms = expiration <= 0n ? 0n : (expiration + 999_999n) / 1_000_000n
  return concatBytes(QUEUE_PREFIX, bigIntToBytes(ms, 8), idBytes(id))
}

function idBytes({ granter, grantee, msgTypeUrl }: GrantId): Uint8Array {
  return concatBytes(addressesKey(EMPTY_BYTES, granter, grantee), new TextEncoder().encode(msgTypeUrl))
}

/** What a key of the native store with {@link GRANTS_PREFIX} names. */
export function grantIdOf(key: Uint8Array): GrantId {
  return readId(key.subarray(GRANTS_PREFIX.length))
}

function readId(bytes: Uint8Array): GrantId {
  const granter = bytes.slice(1, 1 + bytes[0]!)
  const rest = bytes.subarray(1 + bytes[0]!)
  return {
    granter,
    grantee: rest.slice(1, 1 + rest[0]!),
    msgTypeUrl: new TextDecoder().decode(rest.subarray(1 + rest[0]!)),
  }
}
