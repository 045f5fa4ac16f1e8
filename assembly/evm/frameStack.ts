// The running frames: each calls the next, the newest is last. None of them uses the stack of the host. The end of a frame is here
// too: the deposit of created code, return data, gas and result for the caller, and the result of the run.
import { accountsChanged } from './accountEpoch'
import { clearReturnData, returnData, returnLength, setReturnData } from './buffer'
import { moveBytes } from './byteRanges'
import { releaseCode, useCode } from './contractCode'
import {
  CODE_SIZE, CODE_STORE_OUT_OF_GAS, FAILED, INVALID_CODE, NO_FAILURE, RESULT_DETAIL, RESULT_FAILURE, RESULT_GAS,
  RESULT_NEED, RESULT_OUTPUT, RESULT_OUTPUT_LENGTH, RESULT_REFUND, RESULT_STATUS, SUCCESS, TRACE_FRAMES,
} from './constants'
import { memoryStart, newestChunk, releaseMemory } from './evmMemory'
import { failure, failureDetail, failureNeed, setFailure } from './failure'
import { checkpoint, commit, revert, setCode, traceExit } from './host'
import {
  ADDRESS, ADDRESS_WORD, CALLER, CALLER_WORD, CHUNK, CODE, FRAME_SIZE, GAS, GAS_AT_START, INPUT, INPUT_LENGTH,
  IS_CREATION, IS_PLAIN, IS_STATIC, KIND, MEMORY, MEMORY_SIZE, OUTPUT, OUTPUT_LENGTH, PC, RECORD, REFUND_BEFORE, SP,
  STACK, UNDO_MARK, WORD, frames, result, stacks,
} from './layout'
import { dropDirtySlots, hasDirtySlots, slotsChanged, storeDirtySlots } from './slots'
import { undoMark, undoTo } from './undoLog'
import { clearWord, copyWord, setWord, wordOfAddress } from './word'

/** The running frame; below the first one when none runs. */
export let frame: usize = frames - FRAME_SIZE
/** Frames from the first on whose checkpoint of the world is open. */
let checkpoints: u32 = 0
/** EIP-3529. */
export let refund: i64 = 0
/** The events to trace: TRACE_… of the constants. */
export let traceFlags: u32 = 0
/** START_DISCARDED of the constants. */
export let isDiscarded: bool = false

export function resetFrames(): void {
  while (frame >= frames) {
    releaseCode(load<usize>(frame, CODE))
    frame -= FRAME_SIZE
  }
  checkpoints = 0
  refund = 0
  setFailure(NO_FAILURE)
}

export function setTraceFlags(flags: u32): void {
  traceFlags = flags
}

export function setDiscarded(discarded: bool): void {
  isDiscarded = discarded
}

export function depth(): u32 {
  return <u32>((frame - frames) / FRAME_SIZE)
}

export function addRefund(amount: i64): void {
  refund += amount
}

/** Pushes a frame: memory and stack begin where those of the one below end. The caller fills in VALUE, OUTPUT and OUTPUT_LENGTH. */
export function pushFrame(
  kind: u32,
  record: usize,
  caller: usize,
  code: usize,
  gas: i64,
  input: usize,
  inputLength: u32,
  isStatic: u32,
  isCreation: u32,
): usize {
  storeFrameSlots()
  const below = frame
  frame += FRAME_SIZE
  const added = frame
  memory.copy(added + ADDRESS, record, 20)
  memory.copy(added + CALLER, caller, 20)
  wordOfAddress(added + ADDRESS_WORD, record)
  wordOfAddress(added + CALLER_WORD, caller)
  store<usize>(added, record, RECORD)
  if (below >= frames) {
    store<usize>(added, load<usize>(below, SP) + WORD, STACK)
    store<usize>(added, load<usize>(below, MEMORY) + <usize>load<u32>(below, MEMORY_SIZE), MEMORY)
  } else {
    store<usize>(added, stacks + WORD, STACK)
    store<usize>(added, memoryStart(), MEMORY)
  }
  store<usize>(added, newestChunk(), CHUNK)
  store<usize>(added, load<usize>(added, STACK) - WORD, SP)
  store<u32>(added, 0, MEMORY_SIZE)
  store<u32>(added, 0, PC)
  store<i64>(added, gas, GAS)
  store<i64>(added, gas, GAS_AT_START)
  store<usize>(added, code, CODE)
  useCode(code)
  store<usize>(added, input, INPUT)
  store<u32>(added, inputLength, INPUT_LENGTH)
  store<u32>(added, isStatic, IS_STATIC)
  store<u32>(added, isCreation, IS_CREATION)
  store<u32>(added, kind, KIND)
  store<u32>(added, <u32>undoMark(), UNDO_MARK)
  store<i64>(added, refund, REFUND_BEFORE)
  store<u32>(added, 0, IS_PLAIN)
  clearReturnData()
  return added
}

/**
 * To be called before the world is written to: opens the missing checkpoints of all frames. The
 * host opens the first one.
 */
export function openCheckpoints(): void {
  const wanted = depth()
  if (wanted <= checkpoints) return
  checkpoint(wanted - checkpoints)
  checkpoints = wanted
}

/** Stores the slots that the newest frame has written in the world. */
export function storeFrameSlots(): void {
  if (!hasDirtySlots()) return
  openCheckpoints()
  storeDirtySlots()
}

/** Removes the running frame, which ended with `status`, `gas` and this output. Its effects stay if it succeeded. */
function popFrame(status: u32, gas: i64, output: usize, outputLength: u32): void {
  const ended = frame
  const at = depth()
  if (status !== SUCCESS) {
    undoTo(load<u32>(ended, UNDO_MARK))
    dropDirtySlots()
    refund = load<i64>(ended, REFUND_BEFORE)
  }
  if (at > 0 && checkpoints >= at) {
    checkpoints = at - 1
    if (status === SUCCESS) {
      commit()
    } else {
      revert()
      accountsChanged()
      slotsChanged()
    }
  }
  if ((traceFlags & TRACE_FRAMES) !== 0) {
    const isKept = status !== FAILED
    traceExit(
      at,
      isKept ? output : 0,
      isKept ? outputLength : 0,
      load<i64>(ended, GAS_AT_START) - gas,
      status,
      status === FAILED ? failure : NO_FAILURE,
      failureDetail,
      failureNeed,
    )
  }
  releaseCode(load<usize>(ended, CODE))
  frame = ended - FRAME_SIZE
}

const CODE_BYTE: i64 = 200
/** EIP-170 */
const MAX_CODE_SIZE: u32 = 24_576
/** EIP-3541 */
const RESERVED_BYTE: u8 = 0xef

/** Ends the newest frame. The output may lie in its memory or be the return data. */
export function endFrame(status: u32, gas: i64, output: usize, outputLength: u32): void {
  const ended = frame
  const isCreation = load<u32>(ended, IS_CREATION) !== 0
  if (isCreation && status === SUCCESS) {
    gas = deposit(ended, gas, output, outputLength)
    if (gas < 0) status = FAILED
  }
  if (status === FAILED) {
    gas = 0
    outputLength = 0
  }
  const isFirst = depth() === 0
  if (isFirst && status === SUCCESS && !isDiscarded) storeFrameSlots()
  popFrame(status, gas, output, outputLength)
  if (isFirst) {
    setResult(status, gas, output, outputLength)
    return
  }
  // code that was created is not return data
  if (isCreation && status === SUCCESS) clearReturnData()
  else if (output !== returnData || status === FAILED) setReturnData(output, outputLength)
  releaseMemory(ended - FRAME_SIZE)
  answerCaller(ended, status, gas, isCreation)
}

/** Stores the code that init code has returned. Returns the gas that is left, or -1 with the failure set. */
function deposit(ended: usize, gas: i64, code: usize, length: u32): i64 {
  if (length > MAX_CODE_SIZE) return refuse(CODE_SIZE)
  if (length > 0 && load<u8>(code) === RESERVED_BYTE) return refuse(INVALID_CODE)
  gas -= CODE_BYTE * <i64>length
  if (gas < 0) return refuse(CODE_STORE_OUT_OF_GAS)
  if (length === 0) return gas
  openCheckpoints()
  setCode(ended, code, length)
  accountsChanged()
  return gas
}

function refuse(reason: u32): i64 {
  setFailure(reason)
  return -1
}

function answerCaller(ended: usize, status: u32, gas: i64, isCreation: bool): void {
  const caller = ended - FRAME_SIZE
  store<i64>(caller, load<i64>(caller, GAS) + gas, GAS)
  const answer = load<usize>(caller, SP)
  if (status !== SUCCESS) clearWord(answer)
  else if (isCreation) copyWord(answer, ended + ADDRESS_WORD)
  else setWord(answer, 1)
  if (isCreation) return
  const copied = min(load<u32>(ended, OUTPUT_LENGTH), returnLength)
  if (copied > 0) moveBytes(load<usize>(caller, MEMORY) + load<usize>(ended, OUTPUT), returnData, copied)
}

/** Writes the result of `run` for the host. */
function setResult(status: u32, gas: i64, output: usize, outputLength: u32): void {
  store<u32>(result, status, RESULT_STATUS)
  store<u32>(result, status === FAILED ? failure : NO_FAILURE, RESULT_FAILURE)
  store<u32>(result, failureDetail, RESULT_DETAIL)
  store<u32>(result, failureNeed, RESULT_NEED)
  store<i64>(result, gas, RESULT_GAS)
  store<i64>(result, status === SUCCESS ? refund : 0, RESULT_REFUND)
  store<usize>(result, status === FAILED ? 0 : output, RESULT_OUTPUT)
  store<u32>(result, outputLength, RESULT_OUTPUT_LENGTH)
}
