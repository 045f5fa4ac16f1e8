import type { Address } from '../../primitives/address.ts'
import type { ParamReader } from '../method.ts'
import { readAddress, readData, readHash } from './data.ts'
import { objectReader, recordReader } from './object.ts'
import { readUint64, readUint256 } from './quantity.ts'

type SlotValues = readonly (readonly [slot: Uint8Array, value: Uint8Array])[]

/** What a call replaces of one account before it runs. */
export interface AccountOverride {
  readonly nonce?: bigint | undefined
  readonly code?: Uint8Array | undefined
  readonly balance?: bigint | undefined
  /** replaces the whole storage */
  readonly state?: SlotValues | undefined
  /** replaces these slots */
  readonly stateDiff?: SlotValues | undefined
  readonly movePrecompileToAddress?: Address | undefined
}

export type StateOverrides = readonly (readonly [address: Address, override: AccountOverride])[]

const readSlots: ParamReader<SlotValues> = recordReader(readHash, readHash, 'map[common.Hash]common.Hash')

const readAccountOverride: ParamReader<AccountOverride> = objectReader('OverrideAccount', 'override.OverrideAccount', {
  nonce: readUint64,
  code: readData,
  balance: readUint256,
  state: readSlots,
  stateDiff: readSlots,
  movePrecompileToAddress: readAddress,
})

/** State overrides of eth_call and its kin: `{address: {nonce, code, balance, state | stateDiff}}`. */
export const readStateOverrides: ParamReader<StateOverrides> = recordReader(
  readAddress,
  readAccountOverride,
  'override.StateOverride',
)
