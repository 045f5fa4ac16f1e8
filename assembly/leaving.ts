// How the loop leaves a frame: for good, for another one, or for the plain loop. Each gives the gas that counts as work.
import { ENTERED, FAILS } from './calls'
import { FAILED, OUT_OF_GAS, STACK_OVERFLOW, STACK_UNDERFLOW } from './constants'
import { endFrame } from './ending'
import { setDetailedFailure, setFailure } from './failure'
import { FRAME_SIZE, GAS, IS_PLAIN, PC, SP } from './layout'

// @ts-ignore: decorator
@inline
export function save(frame: usize, pc: usize, sp: usize, gas: i64): void {
  store<u32>(frame, <u32>pc, PC)
  store<usize>(frame, sp, SP)
  store<i64>(frame, gas, GAS)
}

/** Ends the newest frame with the failure that is set. Gives the work that was done. */
export function endFailed(work: i64): i64 {
  endFrame(FAILED, 0, 0, 0)
  return work
}

/** Ends the newest frame before an opcode that the stack or the gas do not do for. */
export function endUnfit(work: i64, height: usize, need: u32, isOutOfGas: bool): i64 {
  if (isOutOfGas) setFailure(OUT_OF_GAS)
  else setDetailedFailure(height < <usize>need ? STACK_UNDERFLOW : STACK_OVERFLOW, <u32>height, need)
  return endFailed(work)
}

/** The work of a loop that a call ended. What a callee was given it has not used yet. */
export function afterCall(outcome: u32, frame: usize, gasBefore: i64, gas: i64): i64 {
  if (outcome === FAILS) return endFailed(gasBefore - gas)
  const left = load<i64>(frame, GAS)
  return gasBefore - (outcome === ENTERED ? left + load<i64>(frame + FRAME_SIZE, GAS) : left)
}

/** Leaves the block loop for good: the plain one finds out where in the block the frame fails. */
export function leaveBlocks(frame: usize, pc: usize, sp: usize, gas: i64, work: i64): i64 {
  save(frame, pc, sp, gas)
  store<u32>(frame, 1, IS_PLAIN)
  return work
}
