// What happens when a frame ends: deposit of created code, return data, gas and answer for the caller, the run's result.
import { accountsChanged } from './accounts'
import { clearReturnData, returnData, returnLength, setReturnData } from './buffer'
import { moveBytes } from './byteRanges'
import {
  CODE_SIZE,
  CODE_STORE_OUT_OF_GAS,
  FAILED,
  INVALID_CODE,
  NO_FAILURE,
  RESULT_DETAIL,
  RESULT_FAILURE,
  RESULT_GAS,
  RESULT_NEED,
  RESULT_OUTPUT,
  RESULT_OUTPUT_LENGTH,
  RESULT_REFUND,
  RESULT_STATUS,
  SUCCESS,
} from './constants'
import { releaseMemory } from './evmMemory'
import { failure, failureDetail, failureNeed, setFailure } from './failure'
import { depth, frame, openCheckpoints, popFrame, refund, storeFrameSlots } from './frameStack'
import { setCode } from './host'
import { ADDRESS_WORD, FRAME_SIZE, GAS, IS_CREATION, MEMORY, OUTPUT, OUTPUT_LENGTH, result, SP } from './layout'
import { clearWord, copyWord, setWord } from './wordAccess'

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
  if (isFirst && status === SUCCESS) storeFrameSlots()
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

/** Stores the code that init code has returned. Gives the gas that is left, or -1 with the failure set. */
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

/** Writes what `run` gives to the host. */
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
