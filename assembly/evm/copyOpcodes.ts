// Opcodes that move bytes. Those with a price of their own take the gas and give what is left, or -1 with the failure set.
import { returnData, returnLength } from './buffer'
import { clearBytes, moveBytes } from './byteRanges'
import { OUT_OF_GAS, RETURN_DATA_OUT_OF_BOUNDS, WRITE_PROTECTION } from './constants'
import { expandMemory, rangeEnd } from './evmMemory'
import { fail } from './failure'
import { isDiscarded, openCheckpoints } from './frameStack'
import { emitLog } from './host'
import { hashMappingKey, keccak256 } from '../keccak/keccak'
import { INPUT, INPUT_LENGTH, IS_STATIC, MEMORY, WORD, scratch } from './layout'
import { clearWord, reverseWord, saturatedU64 } from './word'

const COPY_WORD: i64 = 3
export const KECCAK_WORD: i64 = 6
export const LOG_BYTE: i64 = 8

/** Returns the price of the words of a copy of at most 2^37 bytes. */
// @ts-ignore: decorator
@inline
export function copyCost(length: u64): i64 {
  return COPY_WORD * <i64>((length + 31) >> 5)
}

/** Copies `length` bytes from `offset` of a source on; bytes after its end are zero. */
export function copyOut(to: usize, source: usize, sourceLength: u32, offset: u64, length: u64): void {
  const available = offset >= <u64>sourceLength ? 0 : <u64>sourceLength - offset
  const copied = <usize>min(available, length)
  moveBytes(to, source + <usize>offset, copied)
  clearBytes(to + copied, <usize>length - copied)
}

/** Runs CALLDATACOPY and CODECOPY. */
export function copyFrom(frame: usize, sp: usize, gas: i64, source: usize, sourceLength: u32): i64 {
  const length = saturatedU64(sp - 2 * WORD)
  const at = saturatedU64(sp)
  gas = expandMemory(frame, rangeEnd(at, length), gas)
  if (gas < 0) return -1
  gas -= copyCost(length)
  if (gas < 0) return fail(OUT_OF_GAS)
  if (length === 0) return gas
  copyOut(load<usize>(frame, MEMORY) + <usize>at, source, sourceLength, saturatedU64(sp - WORD), length)
  return gas
}

export function returnDataCopy(frame: usize, sp: usize, gas: i64): i64 {
  const length = saturatedU64(sp - 2 * WORD)
  const offset = saturatedU64(sp - WORD)
  gas = expandMemory(frame, rangeEnd(saturatedU64(sp), length), gas)
  if (gas < 0) return -1
  gas -= copyCost(length)
  if (gas < 0) return fail(OUT_OF_GAS)
  if (offset + length < offset || offset + length > <u64>returnLength) return fail(RETURN_DATA_OUT_OF_BOUNDS)
  if (length === 0) return gas
  moveBytes(load<usize>(frame, MEMORY) + <usize>load<u64>(sp), returnData + <usize>offset, <usize>length)
  return gas
}

/** Runs MCOPY (EIP-5656). */
export function memoryCopy(frame: usize, sp: usize, gas: i64): i64 {
  const length = saturatedU64(sp - 2 * WORD)
  const end = max(rangeEnd(saturatedU64(sp), length), rangeEnd(saturatedU64(sp - WORD), length))
  gas = expandMemory(frame, end, gas)
  if (gas < 0) return -1
  gas -= copyCost(length)
  if (gas < 0) return fail(OUT_OF_GAS)
  if (length === 0) return gas
  const bytes = load<usize>(frame, MEMORY)
  moveBytes(bytes + <usize>load<u64>(sp), bytes + <usize>load<u64>(sp - WORD), <usize>length)
  return gas
}

export function callDataLoad(frame: usize, sp: usize): void {
  const offset = saturatedU64(sp)
  const length = load<u32>(frame, INPUT_LENGTH)
  if (offset >= <u64>length) {
    clearWord(sp)
  } else if (offset + 32 <= <u64>length) {
    reverseWord(sp, load<usize>(frame, INPUT) + <usize>offset)
  } else {
    copyOut(scratch, load<usize>(frame, INPUT), length, offset, 32)
    reverseWord(sp, scratch)
  }
}

/** Runs KECCAK256: the hash replaces the length on the stack. */
export function hashMemory(frame: usize, sp: usize, gas: i64): i64 {
  const length = saturatedU64(sp - WORD)
  gas = expandMemory(frame, rangeEnd(saturatedU64(sp), length), gas)
  if (gas < 0) return -1
  gas -= KECCAK_WORD * <i64>((length + 31) >> 5)
  if (gas < 0) return fail(OUT_OF_GAS)
  const at = <usize>(length === 0 ? 0 : load<u64>(sp))
  const bytes = load<usize>(frame, MEMORY) + at
  if (length === 64) hashMappingKey(bytes, sp - WORD)
  else keccak256(bytes, <u32>length, sp - WORD)
  return gas
}

export function log(frame: usize, sp: usize, gas: i64, topicCount: u32): i64 {
  const length = saturatedU64(sp - WORD)
  gas = expandMemory(frame, rangeEnd(saturatedU64(sp), length), gas)
  if (gas < 0) return -1
  gas -= LOG_BYTE * <i64>length
  if (gas < 0) return fail(OUT_OF_GAS)
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  for (let i: usize = 0; i < <usize>topicCount; i++) reverseWord(scratch + i * WORD, sp - (2 + i) * WORD)
  const at = <usize>(length === 0 ? 0 : load<u64>(sp))
  if (isDiscarded) return gas
  openCheckpoints()
  emitLog(frame, scratch, topicCount, load<usize>(frame, MEMORY) + at, <u32>length)
  return gas
}
