import type { Hardfork } from '../../chain/genesis/hardfork.ts'

/**
 * One of Ethereum's precompiled contracts. Neither function throws, keeps its input or writes to it, whatever a caller sends.
 */
export interface StandardPrecompile {
  /** Returns the gas of a call with `input`, which is known before any work is done. */
  gas(input: Uint8Array, fork: Hardfork): bigint
  /** Returns the output, which belongs to the caller, or geth's message for a failure. Called when the gas is paid. */
  run(input: Uint8Array, fork: Hardfork): Uint8Array | string
}

/** Returns the first `length` bytes of an input, as if zeros followed it (a view of `data` when it is long enough). */
export function padRight(data: Uint8Array, length: number): Uint8Array {
  if (data.length >= length) return data.subarray(0, length)
  const padded = new Uint8Array(length)
  padded.set(data)
  return padded
}

/** Returns the output of a precompile that verifies something: a word of 32 bytes, 1 or 0. */
export function toWord(value: boolean): Uint8Array {
  const word = new Uint8Array(32)
  if (value) word[31] = 1
  return word
}
