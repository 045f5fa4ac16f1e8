import type { Address } from '../../primitives/address.ts'
import { bigIntToMinimalBytes, bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { HEIGHT_BYTES, heightBytes, readHeight } from '../../storage/columns.ts'
import { addressesKey, addressesOf } from '../storeKey.ts'
import { PRESENT, QUEUE, UNBONDING_ID } from './keys.ts'

/** Kinds of queue entries, which end at a time: the first bytes of the SDK's five queues. */
const KINDS = { unbonding: 0x41, redelegation: 0x42, validator: 0x43, rotation: 0x91, formerKey: 0x95 } as const

/**
 * Something that ends at a time: an unbonding, a redelegation, the unbonding of a validator, the
 * time in which it may not rotate its key again, or that in which there may be evidence against an
 * old key.
 */
export interface Due {
  readonly kind: keyof typeof KINDS
  readonly timeMs: number
  /** delegator and validator, delegator and source and destination, validator (also of a rotation), or consensus address */
  readonly addresses: readonly Address[]
}

/** An entry as it is in the queue. */
export interface QueuedDue extends Omit<Due, 'kind'> {
  readonly key: Uint8Array
  /** undefined: this version has no such kind */
  readonly kind: Due['kind'] | undefined
}

/** Adds an entry, which {@link dueEntries} returns once the consensus time is `timeMs` or more. An entry added twice counts once. */
export function enqueue(native: Pick<NativeStore, 'set'>, due: Due): void {
  native.set(queueKey(due), PRESENT)
}

export function dequeue(native: Pick<NativeStore, 'delete'>, due: Due | QueuedDue): void {
  native.delete('key' in due ? due.key : queueKey(due))
}

/**
 * Returns due entries, at most `limit`, in order of time; they stay in the queue until
 * {@link dequeue}. All kinds share one queue, so that a block in which nothing is due makes one
 * look-up. Each operation has its own entry (the SDK has one list for each time), so that its cost
 * is the same however many end together.
 */
export function dueEntries(native: Pick<NativeStore, 'range'>, nowMs: number, limit: number): readonly QueuedDue[] {
  const found: QueuedDue[] = []
  for (const [key] of native.range(QUEUE)) {
    const due = readKey(key)
    if (due.timeMs > nowMs || found.length >= limit) break
    found.push(due)
  }
  return found
}

/** Yields all entries of the queue, for checks. */
export function* queued(native: Pick<NativeStore, 'range'>): IterableIterator<QueuedDue> {
  for (const [key] of native.range(QUEUE)) yield readKey(key)
}

function queueKey({ kind, timeMs, addresses }: Due): Uint8Array {
  return addressesKey(concatBytes(QUEUE, heightBytes(timeMs), Uint8Array.of(KINDS[kind])), ...addresses)
}

function readKey(key: Uint8Array): QueuedDue {
  const kindAt = QUEUE.length + HEIGHT_BYTES
  return {
    key,
    kind: (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((name) => KINDS[name] === key[kindAt]),
    timeMs: readHeight(key, QUEUE.length),
    addresses: addressesOf(key, key.subarray(0, kindAt + 1)),
  }
}

/**
 * Returns the next ID of an unbonding, redelegation or unbonding validator; the first is 1 (the
 * SDK's IncrementUnbondingID).
 */
export function nextUnbondingId(native: Pick<NativeStore, 'get' | 'set'>): bigint {
  const value = native.get(UNBONDING_ID)
  const id = (value === undefined ? 0n : bytesToBigInt(value)) + 1n
  native.set(UNBONDING_ID, bigIntToMinimalBytes(id))
  return id
}
