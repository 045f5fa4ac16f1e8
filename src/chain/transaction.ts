import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'

export interface AccessListItem {
  readonly address: Address
  readonly storageKeys: readonly Uint8Array[]
}

/** EIP-7702 authorization. */
export interface Authorization {
  readonly chainId: bigint
  readonly address: Address
  readonly nonce: bigint
  readonly yParity: bigint
  readonly r: bigint
  readonly s: bigint
}

/** A decoded EVM transaction of any type. */
export interface Transaction {
  readonly type: 0 | 1 | 2 | 3 | 4
  readonly hash: Hash
  /** the EIP-2718 envelope; for a legacy transaction its RLP list */
  readonly raw: Uint8Array
  /** undefined for a legacy transaction without EIP-155 protection */
  readonly chainId: bigint | undefined
  readonly nonce: bigint
  readonly gasLimit: bigint
  /** for types 0 and 1 the gas price */
  readonly maxFeePerGas: bigint
  /** for types 0 and 1 the gas price */
  readonly maxPriorityFeePerGas: bigint
  /** undefined creates a contract */
  readonly to: Address | undefined
  readonly value: bigint
  readonly data: Uint8Array
  readonly accessList: readonly AccessListItem[]
  readonly authorizationList: readonly Authorization[]
  readonly maxFeePerBlobGas: bigint
  readonly blobVersionedHashes: readonly Hash[]
  /** the signature's v as encoded: 27, 28 or 35 + 2·chainId + parity for type 0, the parity for the others */
  readonly v: bigint
  readonly yParity: 0 | 1
  readonly r: bigint
  readonly s: bigint
}

/** A transaction with the sender that its signature recovers to. */
export interface SignedTransaction {
  readonly transaction: Transaction
  readonly sender: Address
}
