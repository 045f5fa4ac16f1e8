import type { ChainReader } from '../chain/store.ts'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import type { StateReader } from './reader.ts'

/** What `eth_getProof` returns, in bytes. */
export interface AccountProof {
  /** RLP nodes from the root */
  readonly accountProof: readonly Uint8Array[]
  readonly nonce: bigint
  readonly balance: bigint
  readonly codeHash: Hash
  readonly storageRoot: Hash
  readonly storageProofs: readonly {
    readonly slot: Uint8Array
    readonly value: Uint8Array
    readonly proof: readonly Uint8Array[]
  }[]
}

/** A state older than the pruning window. */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable'
  readonly height: number
  readonly oldestHeight: number

  constructor(height: number, oldestHeight: number) {
    super(`historical state of block ${height} is not available: the oldest block with state is ${oldestHeight}`)
    this.height = height
    this.oldestHeight = oldestHeight
  }
}

/** Blocks and state as of one published head: everything that one RPC request reads is consistent. */
export interface NodeView {
  readonly chain: ChainReader
  /** lowest block whose state is kept */
  readonly oldestState: number
  /** @throws StateUnavailable below the pruning window */
  stateAt(height: number): StateReader
  /** Addresses of the head's accounts, ascending from `start` (included) on, or with `reverse` descending from it. */
  accounts(options?: { readonly start?: Address; readonly reverse?: boolean }): AsyncIterable<Address>
  /** @throws StateUnavailable below the pruning window */
  proofAt(height: number, address: Address, slots: readonly Uint8Array[]): Promise<AccountProof>
}
