import type { Hardfork } from '../../chain/hardfork.ts'

/**
 * One of Ethereum's precompiled contracts. Neither function throws, keeps its input or writes to it, whatever a caller sends.
 */
export interface StandardPrecompile {
  /** Gas of a call with `input`, which is known before any work is done. */
  gas(input: Uint8Array, fork: Hardfork): bigint
  /** The output, which is the caller's to keep, or why there is none, in geth's words. Called when the gas is paid. */
  run(input: Uint8Array, fork: Hardfork): Uint8Array | string
}
