// CALL, CALLCODE, DELEGATECALL and STATICCALL: a frame is pushed and the loop continues in it, or
// the call ends at once.
import { accountsChanged } from './accountEpoch'
import {
  WARM_ACCESS, accessAccount, accessAddress, accessCost, codeOfAccount, currentAccount, isPrecompile, spendableOf,
} from './accounts'
import { clearReturnData, returnData, returnLength } from './buffer'
import { delegationOf, emptyCode } from './contractCode'
import {
  ACCOUNT_EMPTY, ACCOUNT_EXISTS, ACCOUNT_IDLE_PRECOMPILE, ACCOUNT_STATEFUL_PRECOMPILE, CALL_DELEGATED, CALL_DEPTH,
  CALL_STATIC, FAILED, INSUFFICIENT_BALANCE, OP_CALL, OP_CALLCODE, OP_DELEGATECALL, OP_STATICCALL, OUT_OF_GAS, PRECOMPILE_FAILED, REVERTED,
  SUCCESS, TRACE_FRAMES, WRITE_PROTECTION,
} from './constants'
import { copyCost } from './copyOpcodes'
import { expandMemory, rangeEnd } from './evmMemory'
import { setFailure } from './failure'
import { depth, endFrame, frame, openCheckpoints, pushFrame, traceFlags } from './frameStack'
import { callPrecompile, touch, traceEnter, traceExit, transfer } from './host'
import {
  ACCOUNT_FLAGS, ACCOUNT_LEAST_GAS, CALLER, GAS, INPUT, INPUT_LENGTH, IS_STATIC, MAX_DEPTH, MEMORY, OUTPUT,
  OUTPUT_LENGTH, RECORD, SP, VALUE, WORD,
} from './layout'
import { hasDelegations } from './opcodeTable'
import { slotsChanged } from './slots'
import { clearWord, copyWord, isZero, lt, saturatedU64 } from './word'

/** Results of an opcode that may push a frame: the caller continues, the new frame runs, or the caller fails. */
export const GOES_ON: u32 = 0
export const ENTERED: u32 = 1
export const FAILS: u32 = 2

const VALUE_TRANSFER: i64 = 9_000
const STIPEND: i64 = 2_300
const NEW_ACCOUNT: i64 = 25_000
/** The last four bytes of the address 0x…04, read as a little-endian number. */
const IDENTITY: u32 = 0x04000000
const IDENTITY_BASE: i64 = 15

const zero: usize = heap.alloc(WORD)
clearWord(zero)

function failCall(reason: u32): u32 {
  setFailure(reason)
  return FAILS
}

/**
 * Returns the code that a call of the account runs, with EIP-7702; 0 when `gas` is below the price
 * of a delegation's target.
 */
export function callCode(record: usize, gas: i64): usize {
  delegationCost = 0
  if (isPrecompile(record)) return emptyCode
  const code = codeOfAccount(record)
  if (!hasDelegations) return code
  const target = delegationOf(code)
  if (target === 0) return code
  const targetRecord = accessAddress(target, gas)
  if (targetRecord === 0) return 0
  delegationCost = accessCost
  return isPrecompile(targetRecord) ? emptyCode : codeOfAccount(targetRecord)
}

/** The price of the delegation's target in the last {@link callCode}. */
let delegationCost: i64 = 0

/** Returns the extra price of a call with value, by its kind and recipient. */
// @ts-ignore: decorator
@inline
export function valueCost(kind: u32, record: usize): i64 {
  const isNew = kind === OP_CALL && (load<u32>(record, ACCOUNT_FLAGS) & ACCOUNT_EMPTY) !== 0
  return isNew ? VALUE_TRANSFER + NEW_ACCOUNT : VALUE_TRANSFER
}

/** Returns the gas for the callee: the requested amount, but at most all but a 64th (EIP-150). */
// @ts-ignore: decorator
@inline
export function calleeGas(requested: usize, gas: i64): i64 {
  const available = gas - (gas >> 6)
  const wanted = saturatedU64(requested)
  return wanted > <u64>available ? available : <i64>wanted
}

/** Runs a call opcode of the newest frame, whose stack pointer and gas are stored in it. */
export function callOpcode(kind: u32): u32 {
  const caller = frame
  const sp = load<usize>(caller, SP)
  const hasValue = kind === OP_CALL || kind === OP_CALLCODE
  const value = hasValue ? sp - 2 * WORD : zero
  const carriesValue = hasValue && !isZero(value)
  if (kind === OP_CALL && carriesValue && load<u32>(caller, IS_STATIC) !== 0) return failCall(WRITE_PROTECTION)
  // As in geth, which charges this before it looks at the memory: a range that is too large is another failure.
  if (load<i64>(caller, GAS) < WARM_ACCESS) return failCall(OUT_OF_GAS)
  const ranges = hasValue ? sp - 3 * WORD : sp - 2 * WORD
  const inputLength = saturatedU64(ranges - WORD)
  const outputLength = saturatedU64(ranges - 3 * WORD)
  const inputEnd = rangeEnd(saturatedU64(ranges), inputLength)
  const outputEnd = rangeEnd(saturatedU64(ranges - 2 * WORD), outputLength)

  let gas = expandMemory(caller, max(inputEnd, outputEnd), load<i64>(caller, GAS))
  if (gas < 0) return FAILS
  const record = accessAccount(sp - WORD, gas)
  if (record === 0) return failCall(OUT_OF_GAS)
  gas -= accessCost
  if (carriesValue) gas -= valueCost(kind, record)
  if (gas < 0) return failCall(OUT_OF_GAS)
  const code = callCode(record, gas)
  if (code === 0) return failCall(OUT_OF_GAS)
  gas -= delegationCost
  if (gas < 0) return failCall(OUT_OF_GAS)

  let given = calleeGas(sp, gas)
  gas -= given
  if (carriesValue) given += STIPEND
  const answer = ranges - 3 * WORD
  store<usize>(caller, answer, SP)
  store<i64>(caller, gas, GAS)
  const input = load<usize>(caller, MEMORY) + <usize>(inputLength === 0 ? 0 : load<u64>(ranges))
  const refusal = refusalOf(caller, value, carriesValue)
  if (refusal !== 0) {
    setFailure(refusal)
    if ((traceFlags & TRACE_FRAMES) !== 0) {
      enter(depth() + 1, kind, caller, record, input, <u32>inputLength, given, value)
      traceExit(depth() + 1, 0, 0, 0, FAILED, refusal, 0, 0)
    }
    clearWord(answer)
    clearReturnData()
    store<i64>(caller, gas + given, GAS)
    return GOES_ON
  }

  const outputAt = outputLength === 0 ? 0 : <u32>load<u64>(answer + WORD)
  pushCall(kind, caller, record, code, given, input, <u32>inputLength, value)
  store<u32>(frame, outputAt, OUTPUT)
  store<u32>(frame, <u32>outputLength, OUTPUT_LENGTH)
  return startCall(kind, record, carriesValue)
}

function refusalOf(caller: usize, value: usize, carriesValue: bool): u32 {
  if (depth() >= MAX_DEPTH) return CALL_DEPTH
  if (!carriesValue) return 0
  const spendable = spendableOf(currentAccount(load<usize>(caller, RECORD)))
  return lt(spendable, value) ? INSUFFICIENT_BALANCE : 0
}

function pushCall(
  kind: u32,
  caller: usize,
  record: usize,
  code: usize,
  gas: i64,
  input: usize,
  inputLength: u32,
  value: usize,
): void {
  if ((traceFlags & TRACE_FRAMES) !== 0) enter(depth() + 1, kind, caller, record, input, inputLength, gas, value)
  const isStatic = kind === OP_STATICCALL ? 1 : load<u32>(caller, IS_STATIC)
  if (kind === OP_DELEGATECALL) {
    const owner = load<usize>(caller, RECORD)
    pushFrame(kind, owner, caller + CALLER, code, gas, input, inputLength, isStatic, 0)
    copyWord(frame + VALUE, caller + VALUE)
  } else {
    const owner = kind === OP_CALLCODE ? load<usize>(caller, RECORD) : record
    pushFrame(kind, owner, caller, code, gas, input, inputLength, isStatic, 0)
    copyWord(frame + VALUE, value)
  }
}

/** Reports a frame that is about to begin to the host. */
export function enter(
  at: u32,
  kind: u32,
  from: usize,
  record: usize,
  input: usize,
  length: u32,
  gas: i64,
  value: usize,
): void {
  let shown = value
  if (kind === OP_STATICCALL) shown = 0
  else if (kind === OP_DELEGATECALL) shown = from + VALUE
  traceEnter(at, kind, from, record, input, length, gas, shown, isPrecompile(record) ? 1 : 0)
}

/** Moves the value of the newest frame, whose code is that of `record`; runs it where it is a precompile. */
export function startCall(kind: u32, record: usize, carriesValue: bool): u32 {
  if (kind === OP_CALL && carriesValue) {
    openCheckpoints()
    transfer(frame + CALLER, record, frame + VALUE)
    accountsChanged()
  } else if (kind === OP_CALL || kind === OP_STATICCALL) {
    touchEmpty(record)
  }
  if (!isPrecompile(record)) return ENTERED
  return runPrecompile(kind, record)
}

/** Touches an account, which is deleted if it exists and is empty (EIP-161). */
function touchEmpty(record: usize): void {
  const flags = load<u32>(record, ACCOUNT_FLAGS)
  if ((flags & ACCOUNT_EXISTS) === 0 || (flags & ACCOUNT_EMPTY) === 0) return
  openCheckpoints()
  touch(record)
}

/**
 * Returns whether the address is that of the identity precompile, which the engine runs itself:
 * that is faster than calling the host.
 */
function isIdentity(address: usize): bool {
  return (load<u64>(address) | load<u64>(address, 8)) === 0 && load<u32>(address, 16) === IDENTITY
}

function runIdentity(called: usize): void {
  const length = load<u32>(called, INPUT_LENGTH)
  const left = load<i64>(called, GAS) - IDENTITY_BASE - copyCost(length)
  if (left >= 0) {
    endFrame(SUCCESS, left, load<usize>(called, INPUT), length)
    return
  }
  setFailure(OUT_OF_GAS)
  endFrame(FAILED, 0, 0, 0)
}

function runPrecompile(kind: u32, record: usize): u32 {
  const called = frame
  if ((load<u32>(record, ACCOUNT_FLAGS) & ACCOUNT_STATEFUL_PRECOMPILE) !== 0) {
    if (endWithoutHost(kind, record)) return GOES_ON
  } else if (isIdentity(record)) {
    runIdentity(called)
    return GOES_ON
  }
  const isDelegated = kind === OP_DELEGATECALL || kind === OP_CALLCODE
  const left = callPrecompile(
    record,
    called + CALLER,
    called + VALUE,
    load<usize>(called, INPUT),
    load<u32>(called, INPUT_LENGTH),
    load<i64>(called, GAS),
    (load<u32>(called, IS_STATIC) !== 0 ? CALL_STATIC : 0) | (isDelegated ? CALL_DELEGATED : 0),
  )
  if (left === i64.MIN_VALUE) {
    setFailure(PRECOMPILE_FAILED)
    endFrame(FAILED, 0, 0, 0)
  } else if (left < 0) {
    endFrame(REVERTED, -1 - left, returnData, returnLength)
  } else {
    endFrame(SUCCESS, left, returnData, returnLength)
  }
  return GOES_ON
}

/** Ends a call of a stateful precompile whose outcome is known: the call has too little gas for anything, or there is nothing to do. */
function endWithoutHost(kind: u32, record: usize): bool {
  const gas = load<i64>(frame, GAS)
  if (gas < load<i64>(record, ACCOUNT_LEAST_GAS)) {
    setFailure(OUT_OF_GAS)
    endFrame(FAILED, 0, 0, 0)
    return true
  }
  const isIdle = (load<u32>(record, ACCOUNT_FLAGS) & ACCOUNT_IDLE_PRECOMPILE) !== 0
  if (!isIdle || (kind === OP_CALL && !isZero(frame + VALUE))) return false
  endFrame(SUCCESS, gas, 0, 0)
  return true
}

/**
 * Called before the precompile of the newest frame changes the world: its changes can be undone,
 * and the engine reads its copies of the world again.
 */
export function prepareWrites(): void {
  openCheckpoints()
  accountsChanged()
  slotsChanged()
}
