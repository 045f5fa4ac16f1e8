// Basic blocks. A block is a sequence of opcodes that is entered only at its first one and left only after its last one. Its fixed gas
// and its demands on the stack are checked once, when it is entered. Gas stays exact: a frame that cannot pay for a whole block, or
// whose stack does not fit it, fails inside the block, and a failed frame has no gas left and no effects. Opcodes that read the gas
// end a block, so that the gas is charged exactly up to them when they read it.
import { OP_JUMPDEST, OP_PUSH1, OP_PUSH32 } from './constants'
import { fusedOffset, newBlockTable } from './contractCode'
import { copyUnfused, fuseBlock } from './fusion'
import { CODE_BLOCKS, CODE_BYTES, CODE_LENGTH, STACK_LIMIT } from './layout'
import { endings, properties } from './opcodeTable'

/** Of an entry: its block is measured and fused. */
const IS_FUSED: u64 = 1 << 63
/** Its block is measured; no frame that could pay for it has entered it yet, so it is not fused. */
const IS_MEASURED: u64 = 1 << 62
const MAX_NEED: u32 = 0xffff
/** More than a stack has. */
const MAX_GROWTH: u32 = 0x3fff

/**
 * Returns the table of a code's blocks: for the offset where a block begins a u64 with its gas
 * (bits 0..31), the words that it needs on the stack (32..47) and the words by which the stack
 * grows at most (48..61). Entries are made on first use. Behind it is the table of fused opcodes.
 * The jump destinations of the code must be known.
 */
export function blocksOf(entry: usize): usize {
  const known = load<usize>(entry, CODE_BLOCKS)
  if (known !== 0) return known
  const table = newBlockTable(entry)
  copyUnfused(entry, table + fusedOffset(load<u32>(entry, CODE_LENGTH)))
  return table
}

/**
 * Makes the entry of the block that begins at `start`, and fuses its opcodes if `paid` is enough gas for it. A frame that cannot pay looks
 * through the block once at most.
 * @param known what the entry is
 */
function prepareBlock(entry: usize, start: usize, paid: i64, known: u64): u64 {
  if (known !== 0 && <i64>(known & 0xffffffff) > paid) return known
  const code = load<usize>(entry, CODE_BYTES)
  const end = code + <usize>load<u32>(entry, CODE_LENGTH)
  let gas: u64 = 0
  let height: i32 = 0
  let need: i32 = 0
  let growth: i32 = 0
  let at = code + start
  // the STOP behind the code's end costs nothing and takes nothing
  while (at < end) {
    const opcode = <u32>load<u8>(at)
    if (opcode === OP_JUMPDEST && at !== code + start) break
    const property = load<u32>(properties + (opcode << 2))
    gas += property & 0xffff
    const taken = <i32>((property >> 16) & 0xff)
    if (taken - height > need) need = taken - height
    height += <i32>property >> 24
    if (height > growth) growth = height
    at++
    if (opcode - OP_PUSH1 <= <u32>(OP_PUSH32 - OP_PUSH1)) at += opcode - OP_PUSH1 + 1
    if (load<u8>(endings + opcode) !== 0) break
  }
  const blocks = load<usize>(entry, CODE_BLOCKS)
  let measured = IS_MEASURED | gas | (<u64>min(need, MAX_NEED) << 32) | (<u64>min(growth, MAX_GROWTH) << 48)
  if (<i64>gas <= paid) {
    measured |= IS_FUSED
    const fused = blocks + fusedOffset(<usize>load<u32>(entry, CODE_LENGTH))
    fuseBlock(entry, start, min(at, end) - code, fused, blocks)
  }
  store<u64>(blocks + (start << 3), measured)
  return measured
}

/**
 * Returns the gas that is left after paying for the block at `start`. Below 0: too little gas, or
 * the stack does not fit.
 */
// @ts-ignore: decorator
@inline
export function enterBlock(entry: usize, blocks: usize, start: usize, height: usize, gas: i64): i64 {
  let block = load<u64>(blocks + (start << 3))
  if (<i64>block >= 0) block = prepareBlock(entry, start, gas, block)
  const need = <usize>((block >> 32) & 0xffff)
  const growth = <usize>((block >> 48) & MAX_GROWTH)
  if (height < need || height + growth > STACK_LIMIT) return -1
  return gas - <i64>(block & 0xffffffff)
}

/**
 * Does the same as {@link enterBlock} for the block at `ip`, after the previous one has ended. A
 * JUMPDEST enters its block itself.
 */
export function enterNext(entry: usize, blocks: usize, ip: usize, height: usize, gas: i64): i64 {
  if (<u32>load<u8>(ip) === OP_JUMPDEST) return gas
  return enterBlock(entry, blocks, ip - load<usize>(entry, CODE_BYTES), height, gas)
}
