import { type Address, toBech32 } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes, EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { NativeStore, WorldState } from '../../state/world.ts'
import { event, type ModuleContext } from '../context.ts'
import { removeExpired } from '../expiryQueue.ts'
import { addressesKey, moduleStoreKey } from '../storeKey.ts'
import { Grant } from './types.ts'

/** The key of a grant: who allows whom which messages. */
export interface GrantId {
  readonly granter: Address
  readonly grantee: Address
  readonly msgTypeUrl: string
}

/** Grants under the keys of x/authz/keeper/keys.go; times in the queue are milliseconds, 8 bytes, rounded up. */
export const GRANTS_PREFIX = moduleStoreKey('authz', Uint8Array.of(0x01))
const QUEUE_PREFIX = moduleStoreKey('authz', Uint8Array.of(0x02))

export function getGrant(native: Pick<NativeStore, 'get'>, id: GrantId): Grant | undefined {
  const value = native.get(concatBytes(GRANTS_PREFIX, idBytes(id)))
  return value && Grant.decode(value)
}

/** Stores a grant, in place of the one before. */
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

/** Whether a grant has expired at a block's time. */
export function isExpired({ expiration }: Grant, timeMs: number): boolean {
  return expiration !== undefined && expiration < BigInt(timeMs) * 1_000_000n
}

/** Removes grants that expired before this block, a limited number (BeginBlocker of x/authz). Costs one look-up when none has. */
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

/** Returns the grant that a key of the native store with {@link GRANTS_PREFIX} belongs to. */
export function grantIdOf(key: Uint8Array): GrantId {
  const [granter, rest] = readLengthPrefixed(key.subarray(GRANTS_PREFIX.length))
  const [grantee, typeUrl] = readLengthPrefixed(rest)
  return { granter, grantee, msgTypeUrl: new TextDecoder().decode(typeUrl) }
}

/** Reads an address after its length, and the bytes behind it. */
function readLengthPrefixed(bytes: Uint8Array): readonly [Address, Uint8Array] {
  const end = 1 + bytes[0]!
  return [bytes.slice(1, end), bytes.subarray(end)]
}
