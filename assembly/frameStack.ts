// The frames that run: one calls the next, the newest is last. None of them uses the stack of the host.

import { accountsChanged } from './accounts'
import { clearReturnData } from './buffer'
import { releaseCode, useCode } from './codes'
import { FAILED, NO_FAILURE, SUCCESS, TRACE_FRAMES } from './constants'
import { dropDirtySlots, hasDirtySlots, storeDirtySlots } from './dirtySlots'
import { memoryStart, newestChunk } from './evmMemory'
import { failure, failureDetail, failureNeed, setFailure } from './failure'
import { checkpoint, commit, revert, traceExit } from './host'
import {
  ADDRESS,
  ADDRESS_WORD,
  CALLER,
  CALLER_WORD,
  CHUNK,
  CODE,
  FRAME_SIZE,
  frames,
  GAS,
  GAS_AT_START,
  INPUT,
  INPUT_LENGTH,
  IS_CREATION,
  IS_PLAIN,
  IS_STATIC,
  KIND,
  MEMORY,
  MEMORY_SIZE,
  PC,
  RECORD,
  REFUND_BEFORE,
  SP,
  STACK,
  stacks,
  UNDO_MARK,
  WORD,
} from './layout'
import { slotsChanged } from './slots'
import { undoMark, undoTo } from './undoLog'
import { wordOfAddress } from './wordAccess'

/** The running frame; below the first one when none runs. */
export let frame: usize = frames - FRAME_SIZE
/** Frames from the first on whose checkpoint of the world is open. */
let checkpoints: u32 = 0
/** EIP-3529. */
export let refund: i64 = 0
/** What tracers want: TRACE_… */
export let traceFlags: u32 = 0

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

export function depth(): u32 {
  return <u32>((frame - frames) / FRAME_SIZE)
}

export function addRefund(amount: i64): void {
  refund += amount
}

/** Pushes a frame: memory and stack begin where those of the one below end. What is left to fill in: VALUE, OUTPUT…. */
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

/** To be called before the world is written to: opens the checkpoints of all frames that have none. The host has the first's. */
export function openCheckpoints(): void {
  const wanted = depth()
  if (wanted <= checkpoints) return
  checkpoint(wanted - checkpoints)
  checkpoints = wanted
}

/** Gives the slots that the newest frame has written to the world. */
export function storeFrameSlots(): void {
  if (!hasDirtySlots()) return
  openCheckpoints()
  storeDirtySlots()
}

/** Ends the running frame with `status`, `gas` and the output that is given; its effects stay or go. */
export function popFrame(status: u32, gas: i64, output: usize, outputLength: u32): void {
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
