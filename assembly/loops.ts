import { ENV_LOOP, LOOP_PLAIN } from './constants'
import { CODE_HEAT, environment, IS_PLAIN } from './layout'

// The three loops that the interpreter is compiled to, told apart by a type, so that each is free of the others' checks.

/** Checks gas and stack at every opcode. */
export type PlainLoop = i32
/** Checks them once for a basic block (see blocks.ts). */
export type BlockLoop = i64
/** As the plain loop, and tells the host of every opcode. */
export type TracedLoop = f64

// @ts-ignore: decorator
@inline
export function isBlockLoop<Loop>(): bool {
  return isInteger<Loop>() && sizeof<Loop>() === 8
}

// @ts-ignore: decorator
@inline
export function isTracedLoop<Loop>(): bool {
  return isFloat<Loop>()
}

/** Jumps after which a code is worth a table of its blocks. */
const HOT: u32 = 32

/** Whether a code has jumped often enough. */
export function isWorthBlocks(entry: usize): bool {
  return load<u32>(entry, CODE_HEAT) >= HOT
}

/** Counts a jump of the plain loop; whether the block loop should take over. */
export function isHot(frame: usize, entry: usize): bool {
  store<u32>(entry, load<u32>(entry, CODE_HEAT) + 1, CODE_HEAT)
  return isWorthBlocks(entry) && load<u32>(frame, IS_PLAIN) === 0 && load<u32>(environment, ENV_LOOP) !== LOOP_PLAIN
}
