// The memories of all frames, one after the other in chunks. Only the memory of the newest frame grows; when its chunk is full it is
// moved to a new one.
import { drop, dropBelow } from './bounds'
import { GAS_OVERFLOW, OUT_OF_GAS } from './constants'
import { clearBytes } from './byteRanges'
import { fail } from './failure'
import { CHUNK, MEMORY, MEMORY_SIZE } from './layout'

/** 512 MiB cost more than 2^39 gas, thousands of times what a block has. */
const MAX_END: u64 = 1 << 29
/** geth prices no memory beyond this (core/vm: memoryGasCost). */
export const MAX_PRICED_END: u64 = 0x1fffffffe0
/** The end of a range that exceeds 64 bits (geth: core/vm, ErrGasUintOverflow). */
export const OVERFLOWN: u64 = u64.MAX_VALUE

/** A chunk begins with a pointer to the chunk before it and one to its own end; memories follow. The first chunk is never freed. */
const CHUNK_HEADER: usize = 32
const CHUNK_END: usize = 4
const FIRST_CHUNK: usize = 1 << 20
/** By how much a chunk is larger than the memory that needs it, at most. */
const MAX_SPARE: usize = 1 << 25

const first: usize = newChunk(0, FIRST_CHUNK)
let chunk: usize = first

function newChunk(previous: usize, size: usize): usize {
  const added = heap.alloc(CHUNK_HEADER + size)
  store<usize>(added, previous)
  store<usize>(added, added + CHUNK_HEADER + size, CHUNK_END)
  return added
}

/** Returns where the memory of the transaction's first frame begins. */
export function memoryStart(): usize {
  return first + CHUNK_HEADER
}

/** Frees the memory after that of `frame`, which is the newest frame now; with 0, all but the first chunk. */
export function releaseMemory(frame: usize): void {
  const kept = frame === 0 ? first : load<usize>(frame, CHUNK)
  while (chunk !== kept) {
    const previous = load<usize>(chunk)
    heap.free(chunk)
    chunk = previous
  }
}

/** Returns the newest chunk, in which a new frame's memory begins. */
export function newestChunk(): usize {
  return chunk
}

// @ts-ignore: decorator
@inline
function costOfWords(words: u64): u64 {
  return words * 3 + ((words * words) >> 9)
}

/**
 * Returns the gas for growing the frame's memory up to `end` (yellow paper, C_mem); -1 for an end
 * that is too large for any gas.
 */
export function expansionCost(frame: usize, end: u64): i64 {
  const size = <u64>load<u32>(frame, MEMORY_SIZE)
  if (end <= size) return 0
  if (end > MAX_END) return -1
  return <i64>(costOfWords((end + 31) >> 5) - costOfWords(size >> 5))
}

/**
 * Grows the memory of the newest frame up to `end`. Returns the gas that is left, or -1 with the
 * failure set when there is too little. Pointers to the memory are stale afterwards.
 */
export function expandMemory(frame: usize, end: u64, gas: i64): i64 {
  const cost = expansionCost(frame, end)
  if (cost === 0) return gas
  if (cost < 0 || cost > gas) return fail(end === OVERFLOWN ? GAS_OVERFLOW : OUT_OF_GAS)
  if (gas - cost < dropBelow) return drop()
  const size = <usize>load<u32>(frame, MEMORY_SIZE)
  const newSize = <usize>((end + 31) & ~31)
  if (load<usize>(frame, MEMORY) + newSize > load<usize>(chunk, CHUNK_END)) moveToChunk(frame, size, newSize)
  clearBytes(load<usize>(frame, MEMORY) + size, newSize - size)
  store<u32>(frame, <u32>newSize, MEMORY_SIZE)
  return gas - cost
}

/** Moves the newest frame's memory to a chunk where it can grow. Nothing points into it but the frame. */
function moveToChunk(frame: usize, size: usize, newSize: usize): void {
  const from = load<usize>(frame, MEMORY)
  const old = chunk
  // a chunk that holds no other memory can be freed
  const isAlone = old !== first && from === old + CHUNK_HEADER
  chunk = newChunk(isAlone ? load<usize>(old) : old, newSize + min(max(newSize, FIRST_CHUNK), MAX_SPARE))
  memory.copy(chunk + CHUNK_HEADER, from, size)
  if (isAlone) heap.free(old)
  store<usize>(frame, chunk + CHUNK_HEADER, MEMORY)
  store<usize>(frame, chunk, CHUNK)
}

/** Returns the end of the range `offset`, `length`, both words saturated to 64 bits; 0 for an empty range. */
export function rangeEnd(offset: u64, length: u64): u64 {
  if (length === 0) return 0
  const end = offset + length
  return end < offset || end > OVERFLOWN - 31 ? OVERFLOWN : end
}
