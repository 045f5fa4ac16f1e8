// Bounded runs: a host starts them where they may not take long, and drops them when they do. A
// pause comes only at a jump or a call, and code without either can have many kilobytes. So in a
// bounded run, the opcodes whose work grows with their operands, and the growth of memory, check
// the gas as well. A run that they end cannot be resumed: frames are left as they are, for the next
// reset.
import { OUT_OF_GAS } from './constants'
import { fail } from './failure'

let isBounded: bool = false
/** The gas of the newest frame below which a bounded run is dropped. The least i64: never. */
export let dropBelow: i64 = i64.MIN_VALUE
/** Whether the run is dropped. */
export let isDropped: bool = false

/** Called when a run begins. */
export function setBounded(bounded: bool): void {
  isBounded = bounded
  isDropped = false
  dropBelow = i64.MIN_VALUE
}

/** Called when the loop begins to run the newest frame, which pauses when it has less than `gas`. */
// @ts-ignore: decorator
@inline
export function boundFrame(gas: i64): void {
  dropBelow = isBounded ? gas : i64.MIN_VALUE
}

/** Drops the run. Returns -1 with a failure set, for functions that return the gas that is left. */
export function drop(): i64 {
  isDropped = true
  return fail(OUT_OF_GAS)
}
