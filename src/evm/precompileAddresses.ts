import { type Hardfork, includesFork } from '../chain/genesis/hardfork.ts'
import type { Address } from '../primitives/address.ts'

/** Number of the last standard precompile at 0x01 and on, by the fork that added it, newest first. */
const LAST_BY_FORK: readonly (readonly [Hardfork, number])[] = [
  ['prague', 0x11],
  ['cancun', 0x0a],
  ['istanbul', 0x09],
  ['byzantium', 0x08],
  ['frontier', 0x04],
]

/** EIP-7951 (Osaka). */
const P256_VERIFY = 0x100

/**
 * Returns whether `address` is one of Ethereum's precompiles under `fork`. They are warm in every
 * transaction (EIP-2929).
 */
export function isStandardPrecompile(address: Address, fork: Hardfork): boolean {
  for (let i = 0; i < 18; i++) if (address[i] !== 0) return false
  const number = address[18]! * 256 + address[19]!
  if (number === P256_VERIFY) return includesFork(fork, 'osaka')
  return number > 0 && number <= lastNumber(fork)
}

/** Returns the addresses of Ethereum's precompiles under `fork`. */
export function standardPrecompiles(fork: Hardfork): Address[] {
  const numbers = Array.from({ length: lastNumber(fork) }, (_, index) => index + 1)
  if (includesFork(fork, 'osaka')) numbers.push(P256_VERIFY)
  return numbers.map((number) => {
    const address = new Uint8Array(20)
    address[18] = number >> 8
    address[19] = number & 0xff
    return address
  })
}

function lastNumber(fork: Hardfork): number {
  return LAST_BY_FORK.find(([since]) => includesFork(fork, since))![1]
}
