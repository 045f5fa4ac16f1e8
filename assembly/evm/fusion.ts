// Fused opcodes: sequences that compilers write often, which the block loop runs as one. It reads
// what to run from a table of a byte for each byte of code: the opcode itself, or at the start of a
// sequence the sequence's number, taken from the bytes that are not opcodes. Operands are read from
// the code. Gas and stack are checked by block, for the sequence as for its opcodes one by one. A
// block is fused when a frame that can pay for it enters it first, so that the work is paid for.
//
// A sequence lies within a basic block. Only its last opcode may end the block, and no opcode is a
// JUMPDEST, so that nothing jumps into it. Blocks are decoded from their first opcode, so operands
// of pushes are never taken for opcodes.
import {
  OP_ADD, OP_AND, OP_DUP1, OP_DUP2, OP_DUP16, OP_EQ, OP_INVALID, OP_ISZERO, OP_JUMP, OP_JUMPI, OP_MLOAD, OP_MSTORE, OP_POP,
  OP_PUSH1, OP_PUSH4, OP_PUSH32, OP_SHL, OP_SHR, OP_SWAP1, OP_SWAP16,
} from './constants'
import { CODE_BYTES, CODE_JUMPS, CODE_LENGTH } from './layout'

/** The first number that stands for a sequence: from here to 0xef there are no opcodes. Jumps are the first ones. */
const FIRST: u32 = 0xb0
export const PUSH_JUMP = 0xb0
export const PUSH_JUMPI = 0xb1
export const ISZERO_PUSH_JUMPI = 0xb2
export const EQ_PUSH_JUMPI = 0xb3
/** DUP1 PUSH4 EQ PUSH JUMPI, by which Solidity finds the function that is called. */
export const SELECTOR_JUMPI = 0xb4
const LAST_JUMP: u32 = SELECTOR_JUMPI
export const PUSH1_ADD = 0xb5
export const PUSH1_SHL = 0xb6
export const PUSH1_SHR = 0xb7
export const PUSH1_MLOAD = 0xb8
export const PUSH1_MSTORE = 0xb9
/** PUSH1 1 PUSH1 1 PUSH1 160 SHL SUB: how Solidity writes the mask of an address. */
export const MASK = 0xba
export const MASK_AND = 0xbb
/** The mask, DUP2 to DUP16, and AND. (DUP1 would copy the mask.) */
export const MASK_DUP_AND = 0xbc
export const SWAP_POP = 0xbd
export const POP_POP = 0xbe
export const DUP_ADD = 0xbf
export const DUP_AND = 0xc0
export const PUSH1_PUSH1 = 0xc1
export const PUSH1_DUP = 0xc2
export const DUP_PUSH1 = 0xc3
export const DUP_DUP = 0xc4
export const SWAP_SWAP = 0xc5
const LAST: u32 = SWAP_SWAP

/** The bytes of MASK, and how many they are. */
const MASK_CODE: u64 = 0x031ba06001600160
const MASK_SIZE: usize = 8
/** Bytes of SELECTOR_JUMPI before its second push. */
const SELECTOR_SIZE: usize = 7

// @ts-ignore: decorator
@inline
function isBetween(opcode: u32, first: u32, last: u32): bool {
  return opcode - first <= last - first
}

// @ts-ignore: decorator
@inline
function sizeOf(opcode: u32): usize {
  return isBetween(opcode, OP_PUSH1, OP_PUSH32) ? <usize>(opcode - OP_PUSH1) + 2 : 1
}

/** Returns the offset of the JUMPDEST that the push at `at` names, or 0 for none; a jump to offset 0 is not fused. */
function pushedDestination(entry: usize, at: usize): u32 {
  const bytes = load<usize>(entry, CODE_BYTES) + at
  const opcode = <u32>load<u8>(bytes)
  if (!isBetween(opcode, OP_PUSH1, OP_PUSH4)) return 0
  let target: u32 = 0
  for (let i: usize = 1; i < sizeOf(opcode); i++) target = (target << 8) | <u32>load<u8>(bytes + i)
  if (target >= load<u32>(entry, CODE_LENGTH)) return 0
  return load<u8>(load<usize>(entry, CODE_JUMPS) + <usize>target) !== 0 ? target : 0
}

/**
 * Fills in a table with the code's bytes, where bytes that are numbers of sequences become INVALID.
 * The room is a multiple of 16.
 */
export function copyUnfused(entry: usize, fused: usize): void {
  const code = load<usize>(entry, CODE_BYTES)
  const first = i8x16.splat(<i8>FIRST)
  const count = i8x16.splat(<i8>(LAST - FIRST + 1))
  const invalid = i8x16.splat(<i8>OP_INVALID)
  for (let at: usize = 0, end = <usize>load<u32>(entry, CODE_LENGTH); at < end; at += 16) {
    const bytes = v128.load(code + at)
    const isNumber = i8x16.lt_u(i8x16.sub(bytes, first), count)
    v128.store(fused + at, v128.bitselect(invalid, bytes, isNumber))
  }
}

/**
 * Fuses the opcodes from `at` to before `end`, a basic block, in a code whose jump destinations are known. Where a jump is fused, the
 * entry in the table of blocks for the offset after the sequence's first one, where no block begins, gets the destination (bits 0..31)
 * and the offset behind the jump.
 */
export function fuseBlock(entry: usize, at: usize, end: usize, fused: usize, blocks: usize): void {
  const code = load<usize>(entry, CODE_BYTES)
  while (at < end) {
    const sequence = sequenceAt(entry, at)
    if (sequence === 0) {
      at += sizeOf(<u32>load<u8>(code + at))
      continue
    }
    store<u8>(fused + at, <u8>sequence)
    const next = endOf(code, at, sequence)
    if (sequence <= LAST_JUMP) {
      const destination = pushedDestination(entry, pushOf(at, sequence))
      store<u64>(blocks + ((at + 1) << 3), <u64>destination | (<u64>next << 32))
    }
    at = next
  }
}

/** Returns where the push is that a fused jump at `at` jumps to. */
function pushOf(at: usize, sequence: u32): usize {
  if (sequence === PUSH_JUMP || sequence === PUSH_JUMPI) return at
  return sequence === SELECTOR_JUMPI ? at + SELECTOR_SIZE : at + 1
}

/** Returns the offset behind a sequence. */
function endOf(code: usize, at: usize, sequence: u32): usize {
  if (sequence <= LAST_JUMP) {
    const push = pushOf(at, sequence)
    return push + sizeOf(<u32>load<u8>(code + push)) + 1
  }
  if (sequence === MASK) return at + MASK_SIZE
  if (sequence === MASK_AND) return at + MASK_SIZE + 1
  if (sequence === MASK_DUP_AND) return at + MASK_SIZE + 2
  const second = at + sizeOf(<u32>load<u8>(code + at))
  return second + sizeOf(<u32>load<u8>(code + second))
}

/**
 * Returns the number of the sequence that begins at an opcode, 0 for none. It is the longest that
 * begins there or the next one.
 */
function sequenceAt(entry: usize, at: usize): u32 {
  const strong = strongSequenceAt(entry, at)
  if (strong !== 0) return strong
  const code = load<usize>(entry, CODE_BYTES)
  const opcode = <u32>load<u8>(code + at)
  const next = at + sizeOf(opcode)
  if (next >= <usize>load<u32>(entry, CODE_LENGTH) || strongSequenceAt(entry, next) !== 0) return 0
  const second = <u32>load<u8>(code + next)
  if (opcode === OP_PUSH1) {
    if (second === OP_PUSH1) return PUSH1_PUSH1
    if (isBetween(second, OP_DUP1, OP_DUP16)) return PUSH1_DUP
  } else if (isBetween(opcode, OP_DUP1, OP_DUP16)) {
    if (second === OP_PUSH1) return DUP_PUSH1
    if (isBetween(second, OP_DUP1, OP_DUP16)) return DUP_DUP
  } else if (isBetween(opcode, OP_SWAP1, OP_SWAP16) && isBetween(second, OP_SWAP1, OP_SWAP16)) {
    return SWAP_SWAP
  }
  return 0
}

/** Returns the sequence that begins at an opcode and does more than save a step; 0 for none. */
function strongSequenceAt(entry: usize, at: usize): u32 {
  const code = load<usize>(entry, CODE_BYTES)
  const opcode = <u32>load<u8>(code + at)
  const next = at + sizeOf(opcode)
  if (next >= <usize>load<u32>(entry, CODE_LENGTH)) return 0
  const second = <u32>load<u8>(code + next)
  if (second === OP_JUMP) return pushedDestination(entry, at) !== 0 ? PUSH_JUMP : 0
  if (second === OP_JUMPI) return pushedDestination(entry, at) !== 0 ? PUSH_JUMPI : 0
  if (opcode === OP_PUSH1) {
    if (second === OP_ADD) return PUSH1_ADD
    if (second === OP_SHL) return PUSH1_SHL
    if (second === OP_SHR) return PUSH1_SHR
    if (second === OP_MLOAD) return PUSH1_MLOAD
    if (second === OP_MSTORE) return PUSH1_MSTORE
    if (load<u64>(code + at) === MASK_CODE) return maskAt(code + at + MASK_SIZE)
  } else if (opcode === OP_ISZERO || opcode === OP_EQ) {
    if (!isJumpi(entry, next)) return 0
    return opcode === OP_EQ ? EQ_PUSH_JUMPI : ISZERO_PUSH_JUMPI
  } else if (isBetween(opcode, OP_DUP1, OP_DUP16)) {
    if (second === OP_ADD) return DUP_ADD
    if (second === OP_AND) return DUP_AND
    if (opcode !== OP_DUP1 || second !== OP_PUSH4 || <u32>load<u8>(code + at + SELECTOR_SIZE - 1) !== OP_EQ) return 0
    return isJumpi(entry, at + SELECTOR_SIZE) ? SELECTOR_JUMPI : 0
  } else if (second === OP_POP) {
    if (isBetween(opcode, OP_SWAP1, OP_SWAP16)) return SWAP_POP
    if (opcode === OP_POP) return POP_POP
  }
  return 0
}

/** Returns whether there is a push of a destination and JUMPI. */
function isJumpi(entry: usize, at: usize): bool {
  const bytes = load<usize>(entry, CODE_BYTES) + at
  return <u32>load<u8>(bytes + sizeOf(<u32>load<u8>(bytes))) === OP_JUMPI && pushedDestination(entry, at) !== 0
}

/** Returns the sequence for a mask and the opcodes behind it. */
function maskAt(behind: usize): u32 {
  const opcode = <u32>load<u8>(behind)
  if (opcode === OP_AND) return MASK_AND
  return isBetween(opcode, OP_DUP2, OP_DUP16) && <u32>load<u8>(behind, 1) === OP_AND ? MASK_DUP_AND : MASK
}
