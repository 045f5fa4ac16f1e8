import type { Address } from '../primitives/address.ts'
import { bigIntToBytes } from '../primitives/bytes.ts'

/** Where cosmos/evm has the precompiles of the native layer (x/vm/types/precompiles.go), so that contracts find them here too. */
export const BECH32_ADDRESS: Address = low(0x400)
export const STAKING_ADDRESS: Address = low(0x800)
export const DISTRIBUTION_ADDRESS: Address = low(0x801)
export const BANK_ADDRESS: Address = low(0x804)
export const GOVERNANCE_ADDRESS: Address = low(0x805)
export const SLASHING_ADDRESS: Address = low(0x806)

function low(number: number): Address {
  return bigIntToBytes(BigInt(number), 20)
}
