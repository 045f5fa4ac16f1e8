import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import type { Account } from './reader.ts'

/** Everything a journal changed since it was made; each list is sorted by its key's bytes and holds real differences. */
export interface StateChanges {
  readonly accounts: readonly AccountChange[]
  /** bytecode that accounts received; the store may already have some of it */
  readonly codes: readonly { readonly hash: Hash; readonly code: Uint8Array }[]
  readonly native: readonly NativeChange[]
}

/** An account whose fields or storage changed. */
export interface AccountChange {
  readonly address: Address
  /** undefined: it did not exist */
  readonly previous: Account | undefined
  /** undefined: it is deleted */
  readonly current: Account | undefined
  /** All slots that were set before were deleted; `slots` then lists all that are set now. */
  readonly wiped: boolean
  readonly slots: readonly SlotChange[]
}

/** Values in minimal big-endian bytes; no bytes when unset. After a wipe, `previous` may equal `current`. */
export interface SlotChange {
  readonly slot: Uint8Array
  readonly previous: Uint8Array
  readonly current: Uint8Array
}

export interface NativeChange {
  readonly key: Uint8Array
  readonly previous: Uint8Array | undefined
  readonly current: Uint8Array | undefined
}
