// What a tracer is told of an opcode before it runs: the machine, the opcode's whole price, and the failures that geth finds
// before it runs the opcode. The prices are those that the opcodes then charge.
import { returnData, returnLength } from './buffer'
import { ENV_REFUND_BEFORE, NO_FAILURE, OUT_OF_GAS, STACK_OVERFLOW, STACK_UNDERFLOW } from './constants'
import { failure, failureDetail, failureNeed, setDetailedFailure, setFailure } from './failure'
import { depth, refund, storeFrameSlots } from './frameStack'
import { traceStep } from './host'
import {
  CODE,
  CODE_LENGTH,
  environment,
  GAS,
  MEMORY,
  MEMORY_SIZE,
  PC,
  SP,
  STACK,
  STACK_LIMIT,
  TRACED_RETURN_DATA,
  TRACED_RETURN_LENGTH,
  WORD,
} from './layout'
import { properties } from './opcodes'
import { accessPrice, clearStoreRefund, dynamicPrice, storeRefund } from './stepPrice'

/** Tells the host of the opcode at the frame's program counter; stack pointer and gas are stored in the frame. */
export function reportStep(frame: usize, opcode: u32): void {
  // no code is not run, not even the STOP behind it
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

/** The opcode's price; where it fails before it runs, its fixed price, with the failure set. */
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
