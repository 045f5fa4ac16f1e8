import type { Address } from '../primitives/address.ts'

/**
 * What is left of the gas that Ethereum's slower precompiles may use in one block. One mutable object serves all runs of a block,
 * its system calls too; a call of RPC has one of its own. Reverts do not give gas back: work that was done counts, whether or
 * not its frame succeeds.
 */
export interface PrecompileGas {
  left: bigint
  /** a call failed because `left` was less than its price */
  hitLimit: boolean
}

/** @param limit `ChainConfig.precompileGasLimit` */
export function createPrecompileGas(limit: bigint): PrecompileGas {
  return { left: limit, hitLimit: false }
}

/** The last of SHA2-256, RIPEMD-160 and identity (0x02 to 0x04), which are about as fast for their gas as opcodes. */
const LAST_FAST = 0x04

/** The least that a call counts with, which is the price of its CALL: a round of BLAKE2F costs 1 gas, but calling it takes a microsecond. */
const LEAST_COUNTED = 100n

/** Returns whether calls of one of Ethereum's precompiles, given by its address, use the block's precompile gas. */
export function takesPrecompileGas(address: Address): boolean {
  const number = address[18]! * 256 + address[19]!
  return number === 1 || number > LAST_FAST
}

/**
 * Returns whether a call may run. One that cannot pay its price fails without counting; one that
 * can counts with the price, or 100 where that is more, even when its input turns out to be bad.
 * @param given gas of the call
 */
export function takePrecompileGas(gas: PrecompileGas, price: bigint, given: bigint): boolean {
  if (price > given) return false
  const counted = price > LEAST_COUNTED ? price : LEAST_COUNTED
  if (counted > gas.left) {
    gas.hitLimit = true
    return false
  }
  gas.left -= counted
  return true
}
