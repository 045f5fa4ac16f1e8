import { assemble, repeat } from '../code/assemble.ts'

export interface LoopParts {
  /** runs once; what it leaves on the stack stays there, below the count */
  readonly setup?: string
  /** runs for each count, with the rounds that are left on top of the stack, and leaves the stack as it was */
  readonly body: string
  /** how often the body is repeated in a round, so that the loop around it costs little; 1 by default */
  readonly unroll?: number
}

/**
 * Returns a contract that takes the number of rounds (at least 1) as its whole call data and
 * returns the gas that they took. A call with two words of data stores its own key in each slot
 * from the first to before the second.
 */
export function measuredLoop({ setup = '', body, unroll = 1 }: LoopParts): Uint8Array {
  return assemble(`
    64 CALLDATASIZE EQ @fill JUMPI
    GAS PUSH0 MSTORE
    ${setup}
    PUSH0 CALLDATALOAD
    :round
      ${repeat(body, unroll)}
      1 SWAP1 SUB DUP1 @round JUMPI
    GAS PUSH0 MLOAD SUB PUSH0 MSTORE 32 PUSH0 RETURN
    :fill
      32 CALLDATALOAD PUSH0 CALLDATALOAD
    :slot
      DUP1 DUP1 SSTORE 1 ADD
      DUP2 DUP2 LT @slot JUMPI
    STOP`)
}
