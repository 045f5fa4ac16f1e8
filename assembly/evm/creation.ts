// CREATE and CREATE2 (EIP-1014, 3860) and SELFDESTRUCT, for which the host implements EIP-6780.
import { accountsChanged } from './accountEpoch'
import {
  WARM_ACCESS, accessAccount, accessCost, accountAt, currentAccount, spendableOf, warmAccount,
} from './accounts'
import { clearReturnData } from './buffer'
import { ENTERED, FAILS, GOES_ON } from './calls'
import { newInitCode } from './contractCode'
import {
  ACCOUNT_EMPTY, ADDRESS_COLLISION, CALL_DEPTH, CREATE_COLLISION, CREATE_NONCE_OVERFLOW, FAILED, GAS_OVERFLOW,
  INIT_CODE_SIZE, INSUFFICIENT_BALANCE, NONCE_OVERFLOW, OP_CREATE2, OP_SELFDESTRUCT, OUT_OF_GAS, TRACE_FRAMES,
  WRITE_PROTECTION,
} from './constants'
import { MAX_PRICED_END, OVERFLOWN, expandMemory, rangeEnd } from './evmMemory'
import { fail, setFailure } from './failure'
import { depth, frame, openCheckpoints, pushFrame, traceFlags } from './frameStack'
import { createAccount, creationAddress, prepareCreate, selfDestruct, traceEnter, traceExit } from './host'
import { ACCOUNT_BALANCE, ACCOUNT_FLAGS, GAS, IS_STATIC, MAX_DEPTH, MEMORY, RECORD, SP, VALUE, WORD } from './layout'
import { slotsChanged } from './slots'
import { clearWord, copyWord, isZero, lt, reverseWord, saturatedU64 } from './word'

/** EIP-3860 */
export const MAX_INIT_CODE_SIZE: u64 = 49_152
const INIT_CODE_WORD: i64 = 2
const KECCAK_WORD: i64 = 6
const NEW_ACCOUNT: i64 = 25_000

const created: usize = heap.alloc(32)
const salt: usize = heap.alloc(WORD)
const endowment: usize = heap.alloc(WORD)

/** Returns the price of the words of init code. */
// @ts-ignore: decorator
@inline
export function initCodeCost(kind: u32, length: u64): i64 {
  return (kind === OP_CREATE2 ? INIT_CODE_WORD + KECCAK_WORD : INIT_CODE_WORD) * <i64>((length + 31) >> 5)
}

/**
 * Returns the failure for init code that is too long (EIP-3860): geth computes the price of its
 * memory, then checks its length, then charges.
 */
export function oversizeFailure(end: u64): u32 {
  if (end === OVERFLOWN) return GAS_OVERFLOW
  return end > MAX_PRICED_END ? OUT_OF_GAS : INIT_CODE_SIZE
}

/** Runs CREATE or CREATE2 of the newest frame, whose stack pointer and gas are stored in it. */
export function createOpcode(kind: u32): u32 {
  const creator = frame
  const sp = load<usize>(creator, SP)
  if (load<u32>(creator, IS_STATIC) !== 0) return failCreate(WRITE_PROTECTION)
  const length = saturatedU64(sp - 2 * WORD)
  const end = rangeEnd(saturatedU64(sp - WORD), length)
  if (length > MAX_INIT_CODE_SIZE) return failCreate(oversizeFailure(end))
  let gas = expandMemory(creator, end, load<i64>(creator, GAS))
  if (gas < 0) return FAILS
  gas -= initCodeCost(kind, length)
  if (gas < 0) return failCreate(OUT_OF_GAS)

  const given = gas - (gas >> 6)
  const initCode = load<usize>(creator, MEMORY) + <usize>(length === 0 ? 0 : load<u64>(sp - WORD))
  copyWord(endowment, sp)
  if (kind === OP_CREATE2) reverseWord(salt, sp - 3 * WORD)
  const answer = kind === OP_CREATE2 ? sp - 3 * WORD : sp - 2 * WORD
  store<usize>(creator, answer, SP)
  store<i64>(creator, gas, GAS)
  const saltOrNone = kind === OP_CREATE2 ? salt : 0
  const spendable = spendableOf(currentAccount(load<usize>(creator, RECORD)))
  if (depth() >= MAX_DEPTH) return refuseCreate(CALL_DEPTH, kind, initCode, <u32>length, given, saltOrNone)
  if (lt(spendable, endowment)) return refuseCreate(INSUFFICIENT_BALANCE, kind, initCode, <u32>length, given, saltOrNone)
  openCheckpoints()
  const outcome = prepareCreate(creator, saltOrNone, initCode, <u32>length, created)
  if (outcome === CREATE_NONCE_OVERFLOW) {
    return refuseCreate(NONCE_OVERFLOW, kind, initCode, <u32>length, given, saltOrNone)
  }
  accountsChanged()
  const record = accountAt(created)
  warmAccount(record)
  store<i64>(creator, gas - given, GAS)
  if ((traceFlags & TRACE_FRAMES) !== 0) {
    traceEnter(depth() + 1, kind, creator, record, initCode, <u32>length, given, endowment, 0)
  }
  if (outcome === CREATE_COLLISION) {
    if ((traceFlags & TRACE_FRAMES) !== 0) traceExit(depth() + 1, 0, 0, given, FAILED, ADDRESS_COLLISION, 0, 0)
    clearWord(answer)
    clearReturnData()
    return GOES_ON
  }
  const code = newInitCode(initCode, <u32>length)
  pushFrame(kind, record, creator, code, given, 0, 0, 0, 1)
  copyWord(frame + VALUE, endowment)
  openCheckpoints()
  createAccount(record, creator, frame + VALUE)
  accountsChanged()
  slotsChanged()
  return ENTERED
}

function failCreate(reason: u32): u32 {
  setFailure(reason)
  return FAILS
}

/** Ends a creation that does not begin: the creator keeps its gas and continues. */
function refuseCreate(reason: u32, kind: u32, initCode: usize, length: u32, given: i64, saltOrNone: usize): u32 {
  setFailure(reason)
  if ((traceFlags & TRACE_FRAMES) !== 0) {
    creationAddress(frame, saltOrNone, initCode, length, created)
    traceEnter(depth() + 1, kind, frame, created, initCode, length, given, endowment, 0)
    traceExit(depth() + 1, 0, 0, 0, FAILED, reason, 0, 0)
  }
  clearWord(load<usize>(frame, SP))
  clearReturnData()
  return GOES_ON
}

/** Returns the cost of SELFDESTRUCT beyond its fixed price, when the beneficiary's record is current. */
// @ts-ignore: decorator
@inline
export function newBeneficiaryCost(frameOfCode: usize, beneficiary: usize): i64 {
  if ((load<u32>(beneficiary, ACCOUNT_FLAGS) & ACCOUNT_EMPTY) === 0) return 0
  const own = currentAccount(load<usize>(frameOfCode, RECORD))
  return isZero(own + ACCOUNT_BALANCE) ? 0 : NEW_ACCOUNT
}

/** Returns the gas that is left, or -1 with the failure set; the frame then ends. */
export function selfDestructOpcode(sp: usize, gas: i64): i64 {
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  const record = accessAccount(sp, gas)
  if (record === 0) return fail(OUT_OF_GAS)
  if (accessCost !== WARM_ACCESS) gas -= accessCost
  gas -= newBeneficiaryCost(frame, record)
  if (gas < 0) return fail(OUT_OF_GAS)
  const own = currentAccount(load<usize>(frame, RECORD))
  const isTraced = (traceFlags & TRACE_FRAMES) !== 0
  if (isTraced) traceEnter(depth() + 1, OP_SELFDESTRUCT, frame, record, 0, 0, 0, spendableOf(own), 0)
  openCheckpoints()
  selfDestruct(frame, record)
  accountsChanged()
  if (isTraced) traceExit(depth() + 1, 0, 0, 0, 0, 0, 0, 0)
  return gas
}
