// What is reported to a tracer about an opcode before it runs: the machine, the opcode's whole price, and the failures that geth
// finds before it runs the opcode. Prices are computed here without any effect; the opcodes charge the same when they run.
import { WARM_ACCESS, accountAt, codeOfAccount, isPrecompile, peekAccessCost } from './accounts'
import { returnData, returnLength } from './buffer'
import { calleeGas, valueCost } from './calls'
import { delegationOf } from './contractCode'
import {
  ENV_REFUND_BEFORE, GAS_OVERFLOW, NO_FAILURE, OP_BALANCE, OP_CALL, OP_CALLCODE, OP_CALLDATACOPY, OP_CODECOPY,
  OP_CREATE, OP_CREATE2, OP_DELEGATECALL, OP_EXP, OP_EXTCODECOPY, OP_EXTCODEHASH, OP_EXTCODESIZE, OP_KECCAK256,
  OP_LOG0, OP_LOG1, OP_LOG2, OP_LOG3, OP_LOG4, OP_MCOPY, OP_MLOAD, OP_MSTORE, OP_MSTORE8, OP_RETURN,
  OP_RETURNDATACOPY, OP_REVERT, OP_SELFDESTRUCT, OP_SLOAD, OP_SSTORE, OP_STATICCALL, OUT_OF_GAS, STACK_OVERFLOW,
  STACK_UNDERFLOW, WRITE_PROTECTION,
} from './constants'
import { KECCAK_WORD, LOG_BYTE, copyCost } from './copyOpcodes'
import { MAX_INIT_CODE_SIZE, initCodeCost, newBeneficiaryCost, oversizeFailure } from './creation'
import { MAX_PRICED_END, OVERFLOWN, expansionCost, rangeEnd } from './evmMemory'
import { byteLength } from './exponent'
import { fail, failure, failureDetail, failureNeed, setDetailedFailure, setFailure } from './failure'
import { depth, refund, storeFrameSlots } from './frameStack'
import { traceStep } from './host'
import {
  CODE, CODE_LENGTH, GAS, IS_STATIC, MEMORY, MEMORY_SIZE, PC, RECORD, SLOT_IS_WARM, SP, STACK, STACK_LIMIT,
  TRACED_RETURN_DATA, TRACED_RETURN_LENGTH, WORD, environment,
} from './layout'
import { hasDelegations, properties } from './opcodeTable'
import { EXP_BYTE } from './pricedOpcodes'
import { isSlotWarm, slotAt } from './slots'
import { COLD_SLOT, SENTRY, WARM_SLOT, sstoreCost, sstoreRefund } from './storageOpcodes'
import { addressOfWord, isZero, saturatedU64 } from './word'

/** Reports the opcode at the frame's program counter to the host. The frame holds stack pointer and gas. */
export function reportStep(frame: usize, opcode: u32): void {
  // an account without code runs nothing, not even the STOP behind the end
  if (load<u32>(load<usize>(frame, CODE), CODE_LENGTH) === 0) return
  // a tracer may look at the world
  storeFrameSlots()
  store<usize>(frame, returnData, TRACED_RETURN_DATA)
  store<u32>(frame, returnLength, TRACED_RETURN_LENGTH)
  const sp = load<usize>(frame, SP)
  const gas = load<i64>(frame, GAS)
  const cost = priceOf(frame, opcode, sp, gas)
  traceStep(
    load<u32>(frame, PC),
    opcode,
    gas,
    cost,
    depth() + 1,
    refund + storeRefund + load<i64>(environment, ENV_REFUND_BEFORE),
    load<usize>(frame, STACK),
    sp,
    load<usize>(frame, MEMORY),
    load<u32>(frame, MEMORY_SIZE),
    frame,
    failure,
    failureDetail,
    failureNeed,
  )
}

/** Returns the opcode's price; where it fails before it runs, its fixed price, with the failure set. */
function priceOf(frame: usize, opcode: u32, sp: usize, gas: i64): i64 {
  setFailure(NO_FAILURE)
  clearStoreRefund()
  const property = load<u32>(properties + (opcode << 2))
  const fixed = <i64>(property & 0xffff) + accessPrice(opcode)
  const height = <u32>((sp + WORD - load<usize>(frame, STACK)) >> 5)
  const need = (property >> 16) & 0xff
  if (height < need) {
    setDetailedFailure(STACK_UNDERFLOW, height, need)
    return fixed
  }
  if (<i32>height + (<i32>property >> 24) > <i32>STACK_LIMIT) {
    setDetailedFailure(STACK_OVERFLOW, height, 0)
    return fixed
  }
  if (fixed > gas) {
    setFailure(OUT_OF_GAS)
    return fixed
  }
  const dynamic = dynamicPrice(frame, opcode, sp, gas - fixed)
  if (failure !== NO_FAILURE) return fixed
  if (fixed + dynamic > gas) setFailure(OUT_OF_GAS)
  return fixed + dynamic
}

const address: usize = heap.alloc(WORD)

/** Returns the part that geth counts as fixed in opcodes that read an account: the price of a warm one. */
function accessPrice(opcode: u32): i64 {
  switch (opcode) {
    case OP_BALANCE:
    case OP_EXTCODESIZE:
    case OP_EXTCODECOPY:
    case OP_EXTCODEHASH:
    case OP_CALL:
    case OP_CALLCODE:
    case OP_DELEGATECALL:
    case OP_STATICCALL:
      return WARM_ACCESS
    default:
      return 0
  }
}

/**
 * Returns the price beyond the fixed price of properties and {@link accessPrice}, from `gas`, which
 * has paid those. Sets the failure.
 */
function dynamicPrice(frame: usize, opcode: u32, sp: usize, gas: i64): i64 {
  switch (opcode) {
    case OP_EXP:
      return EXP_BYTE * <i64>byteLength(sp - WORD)
    case OP_KECCAK256:
      return memoryPrice(frame, sp, sp - WORD) + KECCAK_WORD * words(sp - WORD)
    case OP_BALANCE:
    case OP_EXTCODESIZE:
    case OP_EXTCODEHASH:
      return coldPrice(sp)
    case OP_CALLDATACOPY:
    case OP_CODECOPY:
    case OP_RETURNDATACOPY:
      return memoryPrice(frame, sp, sp - 2 * WORD) + copyCost(clamped(sp - 2 * WORD))
    case OP_EXTCODECOPY:
      return memoryPrice(frame, sp - WORD, sp - 3 * WORD) + copyCost(clamped(sp - 3 * WORD)) + coldPrice(sp)
    case OP_MLOAD:
    case OP_MSTORE:
      return rangePrice(frame, rangeEnd(saturatedU64(sp), 32))
    case OP_MSTORE8:
      return rangePrice(frame, rangeEnd(saturatedU64(sp), 1))
    case OP_SLOAD:
      return isSlotWarm(load<usize>(frame, RECORD), sp) ? WARM_SLOT : COLD_SLOT
    case OP_SSTORE:
      return storePrice(frame, sp, gas)
    case OP_MCOPY: {
      const length = saturatedU64(sp - 2 * WORD)
      const end = max(rangeEnd(saturatedU64(sp), length), rangeEnd(saturatedU64(sp - WORD), length))
      return rangePrice(frame, end) + copyCost(clamped(sp - 2 * WORD))
    }
    case OP_LOG0:
    case OP_LOG1:
    case OP_LOG2:
    case OP_LOG3:
    case OP_LOG4:
      return memoryPrice(frame, sp, sp - WORD) + LOG_BYTE * <i64>clamped(sp - WORD)
    case OP_CREATE:
    case OP_CREATE2:
      return createPrice(frame, opcode, sp)
    case OP_CALL:
    case OP_CALLCODE:
    case OP_DELEGATECALL:
    case OP_STATICCALL:
      return callPrice(frame, opcode, sp, gas)
    case OP_RETURN:
    case OP_REVERT:
      return memoryPrice(frame, sp, sp - WORD)
    case OP_SELFDESTRUCT:
      return destructPrice(frame, sp)
    default:
      return 0
  }
}

/** Returns a length for computing prices: a longer one fails anyway, since no gas pays for its memory. */
function clamped(word: usize): u64 {
  return min(saturatedU64(word), MAX_PRICED_END)
}

function words(length: usize): i64 {
  return <i64>((clamped(length) + 31) >> 5)
}

function memoryPrice(frame: usize, offset: usize, length: usize): i64 {
  return rangePrice(frame, rangeEnd(saturatedU64(offset), saturatedU64(length)))
}

function rangePrice(frame: usize, end: u64): i64 {
  const cost = expansionCost(frame, end)
  if (cost >= 0) return cost
  fail(end === OVERFLOWN ? GAS_OVERFLOW : OUT_OF_GAS)
  return 0
}

/** Returns the extra price of a cold account. */
function coldPrice(word: usize): i64 {
  addressOfWord(address, word)
  return peekAccessCost(address) - WARM_ACCESS
}

/**
 * Change of the refund counter by the SSTORE that was priced last: geth changes the counter while
 * it computes the price.
 */
let storeRefund: i64 = 0

function clearStoreRefund(): void {
  storeRefund = 0
}

function storePrice(frame: usize, sp: usize, gas: i64): i64 {
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  if (gas <= SENTRY) return fail(OUT_OF_GAS)
  const slot = slotAt(load<usize>(frame, RECORD), sp, i64.MAX_VALUE, 0)
  const cold = load<u32>(slot, SLOT_IS_WARM) !== 0 ? 0 : COLD_SLOT
  storeRefund = sstoreRefund(slot, sp - WORD)
  return cold + sstoreCost(slot, sp - WORD)
}

function createPrice(frame: usize, opcode: u32, sp: usize): i64 {
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  const length = clamped(sp - 2 * WORD)
  if (length > MAX_INIT_CODE_SIZE) {
    return fail(oversizeFailure(rangeEnd(saturatedU64(sp - WORD), saturatedU64(sp - 2 * WORD))))
  }
  return memoryPrice(frame, sp - WORD, sp - 2 * WORD) + initCodeCost(opcode === OP_CREATE2 ? OP_CREATE2 : 0, length)
}

/** Returns the price of a call with the callee's gas, as geth reports it. */
function callPrice(frame: usize, kind: u32, sp: usize, gas: i64): i64 {
  const hasValue = kind === OP_CALL || kind === OP_CALLCODE
  const carriesValue = hasValue && !isZero(sp - 2 * WORD)
  if (kind === OP_CALL && carriesValue && load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  const ranges = kind === OP_DELEGATECALL || kind === OP_STATICCALL ? sp - 2 * WORD : sp - 3 * WORD
  const inputEnd = rangeEnd(saturatedU64(ranges), saturatedU64(ranges - WORD))
  const outputEnd = rangeEnd(saturatedU64(ranges - 2 * WORD), saturatedU64(ranges - 3 * WORD))
  let price = rangePrice(frame, max(inputEnd, outputEnd)) + coldPrice(sp - WORD)
  const record = accountAt(address)
  if (carriesValue) price += valueCost(kind, record)
  if (hasDelegations && !isPrecompile(record)) {
    const target = delegationOf(codeOfAccount(record))
    if (target !== 0) price += peekAccessCost(target)
  }
  if (price > gas) return fail(OUT_OF_GAS)
  return price + calleeGas(sp, gas - price)
}

function destructPrice(frame: usize, sp: usize): i64 {
  if (load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  addressOfWord(address, sp)
  const access = peekAccessCost(address)
  return (access === WARM_ACCESS ? 0 : access) + newBeneficiaryCost(frame, accountAt(address))
}
