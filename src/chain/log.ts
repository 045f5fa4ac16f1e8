import type { Address } from '../primitives/address.ts'

/** A log that a contract emitted. */
export interface Log {
  readonly address: Address
  /** 0 to 4 topics of 32 bytes */
  readonly topics: readonly Uint8Array[]
  readonly data: Uint8Array
}
