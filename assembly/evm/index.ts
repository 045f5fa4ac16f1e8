// The engine as its host sees it. A run: reset, fill in environment and message, reserveInput, start, run until it is done.
import { accountAt, forgetAccounts, warmAccount } from './accounts'
import { blocksOf } from './blocks'
import { isDropped, setBounded } from './bounds'
import { reserveReturnData, shrinkBuffers } from './buffer'
import { callCode, enter, startCall } from './calls'
import { freeUnused, jumpsOf, limitCodes, newInitCode } from './contractCode'
import {
  ENV_FORK, ENV_HASH_SEED, ENV_LOOP, ENV_TRACE, LOOP_BLOCKS, LOOP_PLAIN, MESSAGE_CALLER, MESSAGE_RECIPIENT,
  MESSAGE_VALUE, OP_CALL, OP_CREATE, RUN_DONE, RUN_PAUSED, START_BOUNDED, START_CREATION, START_DISCARDED, TRACE_FRAMES, TRACE_STEPS,
} from './constants'
import { forgetBlockHashes } from './environmentOpcodes'
import { releaseMemory } from './evmMemory'
import { frame, pushFrame, resetFrames, setDiscarded, setTraceFlags, traceFlags } from './frameStack'
import { traceEnter } from './host'
import { BlockLoop, PlainLoop, TracedLoop, interpret, isWorthBlocks } from './interpreter'
import { CODE, IS_PLAIN, VALUE, environment, frames, message } from './layout'
import { defineOpcodes, hasCountLeadingZeros, setFork } from './opcodeTable'
import { freeRecords, seedTables } from './recordTable'
import { forgetDirtySlots, forgetSlots } from './slots'
import { clearUndo } from './undoLog'
import { copyWord, isZero } from './word'

export { reserveInput } from './buffer'
export { prepareWrites } from './calls'
export { newCode } from './contractCode'
export { environment, message, result } from './layout'

/** Gas after which the loop is left and entered again, so that V8 can switch to its optimized version. */
const INNER_SLICE: i64 = 2_000_000
/** Work that entering or leaving a frame counts. */
const FRAME_WORK: i64 = 500

let seed: u64 = 0
let fork: u32 = u32.MAX_VALUE
let blobHashes: usize = 0

/** Reserves `length` bytes until the next {@link reset}: for the blob hashes of a transaction. */
export function allocate(length: u32): usize {
  if (blobHashes !== 0) heap.free(blobHashes)
  blobHashes = heap.alloc(length)
  return blobHashes
}

/** Forgets the last run, however it ended. */
export function reset(): void {
  resetFrames()
  limitCodes()
  forgetAccounts()
  forgetSlots()
  forgetDirtySlots()
  forgetBlockHashes()
  clearUndo()
  freeRecords()
  releaseMemory(0)
  shrinkBuffers()
}

/** Reserves room for the output of a precompile that is being called. */
export function reserveOutput(length: u32): usize {
  return reserveReturnData(length)
}

/** Begins a run whose environment and message are filled in. `gas` is what the first frame has. */
export function start(gas: i64, flags: u32, input: usize, length: u32): void {
  setUp()
  setBounded((flags & START_BOUNDED) !== 0)
  setDiscarded((flags & START_DISCARDED) !== 0)
  const caller = message + MESSAGE_CALLER
  const record = accountAt(message + MESSAGE_RECIPIENT)
  if ((flags & START_CREATION) !== 0) {
    warmAccount(record)
    if ((traceFlags & TRACE_FRAMES) !== 0) {
      traceEnter(0, OP_CREATE, caller, record, input, length, gas, message + MESSAGE_VALUE, 0)
    }
    pushFrame(OP_CREATE, record, caller, newInitCode(input, length), gas, 0, 0, 0, 1)
    copyWord(frame + VALUE, message + MESSAGE_VALUE)
    return
  }
  const code = callCode(record, i64.MAX_VALUE)
  if ((traceFlags & TRACE_FRAMES) !== 0) enter(0, OP_CALL, caller, record, input, length, gas, message + MESSAGE_VALUE)
  pushFrame(OP_CALL, record, caller, code, gas, input, length, 0, 0)
  copyWord(frame + VALUE, message + MESSAGE_VALUE)
  startCall(OP_CALL, record, !isZero(frame + VALUE))
}

function setUp(): void {
  setTraceFlags(load<u32>(environment, ENV_TRACE))
  if (load<u64>(environment, ENV_HASH_SEED) !== seed) {
    seed = load<u64>(environment, ENV_HASH_SEED)
    seedTables(seed)
  }
  if (load<u32>(environment, ENV_FORK) === fork) return
  fork = load<u32>(environment, ENV_FORK)
  setFork(fork)
  defineOpcodes(hasCountLeadingZeros)
  // the blocks of cached bytecode were measured by other rules
  freeUnused()
}

/**
 * Continues the run for about `slice` gas of work. RUN_DONE: the result is filled in. A bounded run
 * that pauses is dropped.
 */
export function run(slice: i64): i32 {
  while (frame >= frames) {
    if (slice <= 0) return RUN_PAUSED
    slice -= step(min(slice, INNER_SLICE)) + FRAME_WORK
    if (isDropped) return RUN_PAUSED
  }
  return RUN_DONE
}

function step(slice: i64): i64 {
  if ((traceFlags & TRACE_STEPS) !== 0) return interpret<TracedLoop>(frame, slice)
  const forced = load<u32>(environment, ENV_LOOP)
  if (forced === LOOP_PLAIN || load<u32>(frame, IS_PLAIN) !== 0) return interpret<PlainLoop>(frame, slice)
  const entry = load<usize>(frame, CODE)
  if (forced !== LOOP_BLOCKS && !isWorthBlocks(entry)) return interpret<PlainLoop>(frame, slice)
  jumpsOf(entry)
  blocksOf(entry)
  return interpret<BlockLoop>(frame, slice)
}
