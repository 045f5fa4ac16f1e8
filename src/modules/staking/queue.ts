import type { Address } from '../../primitives/address.ts'
import { concatBytes } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { HEIGHT_BYTES, heightBytes, readHeight } from '../../storage/columns.ts'
import { addressesKey, addressesOf } from '../storeKey.ts'
import { QUEUE } from './keys.ts'

/** Things that end at a time: the kinds are the first bytes of the SDK's three queues. */
const KINDS = { unbonding: 0x41, redelegation: 0x42, validator: 0x43 } as const

export interface Due {
  readonly kind: keyof typeof KINDS
  readonly timeMs: number
  /** delegator and validator, delegator and source and destination, or validator */
  readonly addresses: readonly Address[]
}

const PRESENT = Uint8Array.of(1)

/** Has something taken from the queue once the consensus time is `timeMs` or more. Twice the same counts once. */
export function enqueue(native: Pick<NativeStore, 'set'>, due: Due): void {
  native.set(queueKey(due), PRESENT)
}

export function dequeue(native: Pick<NativeStore, 'delete'>, due: Due): void {
  native.delete(queueKey(due))
}

/**
 * Things that one block ends at most, about 50 microseconds each; what else is due waits for the next ones. Redelegations from
 * a validator that unbonds all end together, however many there are: the SDK has no such bound.
 */
export const DUE_PER_BLOCK = 4_000

/**
 * Takes what is due, in order of time. The three kinds share one queue, so that a block in which nothing is due looks once; one
 * entry an operation, not one list a time, so that an operation costs the same however many end together.
 */
export function takeDue(native: Pick<NativeStore, 'range' | 'delete'>, nowMs: number): readonly Due[] {
  const found: { readonly key: Uint8Array; readonly due: Due }[] = []
  for (const [key] of native.range(QUEUE)) {
    const due = readKey(key)
    if (due.timeMs > nowMs || found.length >= DUE_PER_BLOCK) break
    found.push({ key, due })
  }
  for (const { key } of found) native.delete(key)
  return found.map(({ due }) => due)
}

/** All that waits, for checks. */
export function* queued(native: Pick<NativeStore, 'range'>): IterableIterator<Due> {
  for (const [key] of native.range(QUEUE)) yield readKey(key)
}

function queueKey({ kind, timeMs, addresses }: Due): Uint8Array {
  return addressesKey(concatBytes(QUEUE, heightBytes(timeMs), Uint8Array.of(KINDS[kind])), ...addresses)
}

function readKey(key: Uint8Array): Due {
  const kindAt = QUEUE.length + HEIGHT_BYTES
  const kind = (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((name) => KINDS[name] === key[kindAt])
  if (kind === undefined) throw new Error('a queue of staking has an entry of no kind')
  return {
    kind,
    timeMs: readHeight(key, QUEUE.length),
    addresses: addressesOf(key, key.subarray(0, kindAt + 1)),
  }
}
