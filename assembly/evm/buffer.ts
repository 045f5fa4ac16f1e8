// Two buffers that grow: the data that the last call returned, and the input of the transaction's own frame.
import { moveBytes } from './byteRanges'

const INITIAL: usize = 1 << 16

/** Data that the last call of the running frame returned; empty in a new frame. */
export let returnData: usize = heap.alloc(INITIAL)
let returnCapacity: usize = INITIAL
export let returnLength: u32 = 0

let input: usize = heap.alloc(INITIAL)
let inputCapacity: usize = INITIAL

export function clearReturnData(): void {
  returnLength = 0
}

/** Reserves room for data that is returned; its previous content is lost. */
export function reserveReturnData(length: u32): usize {
  if (<usize>length > returnCapacity) {
    heap.free(returnData)
    returnCapacity = (<usize>length) << 1
    returnData = heap.alloc(returnCapacity)
  }
  returnLength = length
  return returnData
}

export function setReturnData(bytes: usize, length: u32): void {
  moveBytes(reserveReturnData(length), bytes, length)
}

/** Reserves room for the input of a transaction's own frame. */
export function reserveInput(length: u32): usize {
  if (<usize>length > inputCapacity) {
    heap.free(input)
    inputCapacity = (<usize>length) << 1
    input = heap.alloc(inputCapacity)
  }
  return input
}

/** Frees the room that a large run needed. */
export function shrinkBuffers(): void {
  returnLength = 0
  if (returnCapacity > 1 << 20) {
    heap.free(returnData)
    returnCapacity = INITIAL
    returnData = heap.alloc(INITIAL)
  }
  if (inputCapacity > 1 << 20) {
    heap.free(input)
    inputCapacity = INITIAL
    input = heap.alloc(INITIAL)
  }
}
