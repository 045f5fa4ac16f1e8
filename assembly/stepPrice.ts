// The part of an opcode's price that its operands decide, without any effect. For tracers only.
import { accountAt, codeOfAccount, isPrecompile, peekAccessCost, WARM_ACCESS } from './accounts'
import { calleeGas, valueCost } from './calls'
import { GAS_OVERFLOW, OUT_OF_GAS, WRITE_PROTECTION } from './constants'
import { copyCost, KECCAK_WORD, LOG_BYTE } from './copyOpcodes'
import { initCodeCost, MAX_INIT_CODE_SIZE, newBeneficiaryCost, oversizeFailure } from './creation'
import { delegationOf } from './delegation'
import { expansionCost, MAX_PRICED_END, OVERFLOWN, rangeEnd } from './evmMemory'
import { byteLength } from './exponent'
import { fail } from './failure'
import { hasDelegations } from './fork'
import { IS_STATIC, RECORD, SLOT_IS_WARM, WORD } from './layout'
import { CALL, CALLCODE, CREATE2, DELEGATECALL, STATICCALL } from './opcodes'
import { EXP_BYTE } from './pricedOpcodes'
import { isSlotWarm, slotAt } from './slots'
import { COLD_SLOT, SENTRY, sstoreCost, sstoreRefund, WARM_SLOT } from './storageOpcodes'
import { isZero } from './word'
import { addressOfWord, saturatedU64 } from './wordAccess'

const address: usize = heap.alloc(WORD)

/** What geth counts as fixed in opcodes that look at an account: the price of a warm one. */
export function accessPrice(opcode: u32): i64 {
  switch (opcode) {
    case 0x31:
    case 0x3b:
    case 0x3c:
    case 0x3f:
    case 0xf1:
    case 0xf2:
    case 0xf4:
    case 0xfa:
      return WARM_ACCESS
    default:
      return 0
  }
}

/** Beyond the fixed price of properties and {@link accessPrice}, from `gas`, which has paid that. Sets the failure. */
export function dynamicPrice(frame: usize, opcode: u32, sp: usize, gas: i64): i64 {
  switch (opcode) {
    case 0x0a:
      return EXP_BYTE * <i64>byteLength(sp - WORD)
    case 0x20:
      return memoryPrice(frame, sp, sp - WORD) + KECCAK_WORD * words(sp - WORD)
    case 0x31:
    case 0x3b:
    case 0x3f:
      return coldPrice(sp)
    case 0x37:
    case 0x39:
    case 0x3e:
      return memoryPrice(frame, sp, sp - 2 * WORD) + copyCost(clamped(sp - 2 * WORD))
    case 0x3c:
      return memoryPrice(frame, sp - WORD, sp - 3 * WORD) + copyCost(clamped(sp - 3 * WORD)) + coldPrice(sp)
    case 0x51:
    case 0x52:
      return rangePrice(frame, rangeEnd(saturatedU64(sp), 32))
    case 0x53:
      return rangePrice(frame, rangeEnd(saturatedU64(sp), 1))
    case 0x54:
      return isSlotWarm(load<usize>(frame, RECORD), sp) ? WARM_SLOT : COLD_SLOT
    case 0x55:
      return storePrice(frame, sp, gas)
    case 0x5e: {
      const length = saturatedU64(sp - 2 * WORD)
      const end = max(rangeEnd(saturatedU64(sp), length), rangeEnd(saturatedU64(sp - WORD), length))
      return rangePrice(frame, end) + copyCost(clamped(sp - 2 * WORD))
    }
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa3:
    case 0xa4:
      return memoryPrice(frame, sp, sp - WORD) + LOG_BYTE * <i64>clamped(sp - WORD)
    case 0xf0:
    case 0xf5:
      return createPrice(frame, opcode, sp)
    case 0xf1:
    case 0xf2:
    case 0xf4:
    case 0xfa:
      return callPrice(frame, opcode, sp, gas)
    case 0xf3:
    case 0xfd:
      return memoryPrice(frame, sp, sp - WORD)
    case 0xff:
      return destructPrice(frame, sp)
    default:
      return 0
  }
}

/** A length that prices are reckoned with; a longer one has failed for its memory. */
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

/** What a cold account costs beyond a warm one. */
function coldPrice(word: usize): i64 {
  addressOfWord(address, word)
  return peekAccessCost(address) - WARM_ACCESS
}

/** What the SSTORE that was priced last adds to the refund counter: geth does so while it finds the price. */
export let storeRefund: i64 = 0

export function clearStoreRefund(): void {
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
  return memoryPrice(frame, sp - WORD, sp - 2 * WORD) + initCodeCost(opcode === CREATE2 ? CREATE2 : 0, length)
}

/** With the gas that the callee gets, as geth reports it. */
function callPrice(frame: usize, kind: u32, sp: usize, gas: i64): i64 {
  const hasValue = kind === CALL || kind === CALLCODE
  const carriesValue = hasValue && !isZero(sp - 2 * WORD)
  if (kind === CALL && carriesValue && load<u32>(frame, IS_STATIC) !== 0) return fail(WRITE_PROTECTION)
  const ranges = kind === DELEGATECALL || kind === STATICCALL ? sp - 2 * WORD : sp - 3 * WORD
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
