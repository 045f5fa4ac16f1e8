// The loop over opcodes. Short ones run here, on local variables; longer ones get frame, stack pointer and gas.
//
// Gas: the fixed price of an opcode is charged here, at each opcode or (in the block loop) once for a basic block; the part that
// depends on operands is charged by the function that runs the opcode. SSTORE and SLOAD are in storageOpcodes.ts.
import { enterBlock, enterNext } from './blocks'
import { boundFrame, drop, dropBelow } from './bounds'
import { moveBytes } from './byteRanges'
import { ENTERED, FAILS, callOpcode } from './calls'
import { fusedOffset, hasRoomForBlocks, jumpsOf } from './contractCode'
import {
  ENV_LOOP, FAILED, INVALID_JUMP, INVALID_OPCODE, LOOP_PLAIN, OP_ADD, OP_ADDMOD, OP_ADDRESS, OP_AND, OP_BALANCE,
  OP_BASEFEE, OP_BLOBBASEFEE, OP_BLOBHASH, OP_BLOCKHASH, OP_BYTE, OP_CALL, OP_CALLCODE, OP_CALLDATACOPY,
  OP_CALLDATALOAD, OP_CALLDATASIZE, OP_CALLER, OP_CALLVALUE, OP_CHAINID, OP_CLZ, OP_CODECOPY, OP_CODESIZE,
  OP_COINBASE, OP_CREATE, OP_CREATE2, OP_DELEGATECALL, OP_DIV, OP_DUP1, OP_DUP2, OP_DUP3, OP_DUP4, OP_DUP5, OP_DUP6,
  OP_DUP7, OP_DUP8, OP_DUP9, OP_DUP10, OP_DUP11, OP_DUP12, OP_DUP13, OP_DUP14, OP_DUP15, OP_DUP16, OP_EQ, OP_EXP,
  OP_EXTCODECOPY, OP_EXTCODEHASH, OP_EXTCODESIZE, OP_GAS, OP_GASLIMIT, OP_GASPRICE, OP_GT, OP_ISZERO, OP_JUMP,
  OP_JUMPDEST, OP_JUMPI, OP_KECCAK256, OP_LOG0, OP_LOG1, OP_LOG2, OP_LOG3, OP_LOG4, OP_LT, OP_MCOPY, OP_MLOAD, OP_MOD,
  OP_MSIZE, OP_MSTORE, OP_MSTORE8, OP_MUL, OP_MULMOD, OP_NOT, OP_NUMBER, OP_OR, OP_ORIGIN, OP_PC, OP_POP,
  OP_PREVRANDAO, OP_PUSH0, OP_PUSH1, OP_PUSH2, OP_PUSH3, OP_PUSH4, OP_PUSH5, OP_PUSH6, OP_PUSH7, OP_PUSH8, OP_PUSH9,
  OP_PUSH10, OP_PUSH11, OP_PUSH12, OP_PUSH13, OP_PUSH14, OP_PUSH15, OP_PUSH16, OP_PUSH17, OP_PUSH18, OP_PUSH19,
  OP_PUSH20, OP_PUSH21, OP_PUSH22, OP_PUSH23, OP_PUSH24, OP_PUSH25, OP_PUSH26, OP_PUSH27, OP_PUSH28, OP_PUSH29,
  OP_PUSH30, OP_PUSH31, OP_PUSH32, OP_RETURN, OP_RETURNDATACOPY, OP_RETURNDATASIZE, OP_REVERT, OP_SAR, OP_SDIV,
  OP_SELFBALANCE, OP_SELFDESTRUCT, OP_SGT, OP_SHL, OP_SHR, OP_SIGNEXTEND, OP_SLOAD, OP_SLT, OP_SMOD, OP_SSTORE,
  OP_STATICCALL, OP_STOP, OP_SUB, OP_SWAP1, OP_SWAP2, OP_SWAP3, OP_SWAP4, OP_SWAP5, OP_SWAP6, OP_SWAP7, OP_SWAP8,
  OP_SWAP9, OP_SWAP10, OP_SWAP11, OP_SWAP12, OP_SWAP13, OP_SWAP14, OP_SWAP15, OP_SWAP16, OP_TIMESTAMP, OP_TLOAD,
  OP_TSTORE, OP_XOR, OUT_OF_GAS, REVERTED, STACK_OVERFLOW, STACK_UNDERFLOW, SUCCESS,
} from './constants'
import { callDataLoad, copyCost } from './copyOpcodes'
import { createOpcode, selfDestructOpcode } from './creation'
import { div, mod, sdiv, smod } from './division'
import { blobHash, blockHashOf, pushContext } from './environmentOpcodes'
import { expandMemory, rangeEnd } from './evmMemory'
import { setDetailedFailure, setFailure } from './failure'
import { endFrame } from './frameStack'
import {
  DUP_ADD, DUP_AND, DUP_DUP, DUP_PUSH1, EQ_PUSH_JUMPI, ISZERO_PUSH_JUMPI, MASK, MASK_AND, MASK_DUP_AND, POP_POP, PUSH1_ADD,
  PUSH1_DUP, PUSH1_MLOAD, PUSH1_MSTORE, PUSH1_PUSH1, PUSH1_SHL, PUSH1_SHR, PUSH_JUMP, PUSH_JUMPI, SELECTOR_JUMPI, SWAP_POP,
  SWAP_SWAP,
} from './fusion'
import {
  CODE, CODE_BLOCKS, CODE_BYTES, CODE_HEAT, CODE_JUMPS, CODE_LENGTH, FRAME_SIZE, GAS, IS_PLAIN, MEMORY, MEMORY_SIZE,
  PC, SP, STACK, STACK_LIMIT, WORD, environment,
} from './layout'
import { addmod, mulmod } from './modular'
import { endings, hasCountLeadingZeros, properties } from './opcodeTable'
import { runPriced } from './pricedOpcodes'
import { reportStep } from './stepReport'
import { tload } from './storageOpcodes'
import {
  add, addSmall, and, byte, clz, copyWord, eq, fitsU64, gt, isZero, lt, maskAddress, mul, not, or, reverseWord, reversed, sar, saturatedU64,
  setLimbs, setWord, sgt, shiftLeft, shiftRight, shl, shr, signExtend, slt, sub, swapWords, xor,
} from './word'

// The function `interpret` is compiled three times, once for each of these types, so that no loop
// has the others' checks.

/** Checks gas and stack at every opcode. */
export type PlainLoop = i32
/** Checks them once for each basic block (see blocks.ts). */
export type BlockLoop = i64
/** As the plain loop, and reports every opcode to the host. */
export type TracedLoop = f64

// @ts-ignore: decorator
@inline
function isBlockLoop<Loop>(): bool {
  return isInteger<Loop>() && sizeof<Loop>() === 8
}

// @ts-ignore: decorator
@inline
function isTracedLoop<Loop>(): bool {
  return isFloat<Loop>()
}

/** The number of jumps after which a code gets a table of its blocks. */
const HOT: u32 = 32

/** Returns whether a code has jumped so often that it gets a table of its blocks, if there is room for one. */
export function isWorthBlocks(entry: usize): bool {
  return load<u32>(entry, CODE_HEAT) >= HOT && hasRoomForBlocks(entry)
}

/** Counts a jump of the plain loop; whether the block loop should take over. */
function isHot(frame: usize, entry: usize): bool {
  store<u32>(entry, load<u32>(entry, CODE_HEAT) + 1, CODE_HEAT)
  return isWorthBlocks(entry) && load<u32>(frame, IS_PLAIN) === 0 && load<u32>(environment, ENV_LOOP) !== LOOP_PLAIN
}

/** Returns the offset of the JUMPDEST that a word names, or the largest usize when it names none. */
// @ts-ignore: decorator
@inline
function destination(target: usize, jumps: usize, codeLength: u32): usize {
  const offset = load<u64>(target)
  const isValid = fitsU64(target) && offset < <u64>codeLength && load<u8>(jumps + <usize>offset) !== 0
  return isValid ? <usize>offset : usize.MAX_VALUE
}

// @ts-ignore: decorator
@inline
function setBool(word: usize, value: bool): void {
  setWord(word, value ? 1 : 0)
}

/**
 * Runs the newest frame until it ends, makes another one, or has used `slice` gas at a jump.
 * Returns the gas that it used. To be called again while there are frames: a call begins where the
 * last one stopped.
 */
export function interpret<Loop>(frame: usize, slice: i64): i64 {
  const entry = load<usize>(frame, CODE)
  const code = load<usize>(entry, CODE_BYTES)
  const codeLength = load<u32>(entry, CODE_LENGTH)
  const blocks = load<usize>(entry, CODE_BLOCKS)
  /** from an opcode to what the block loop runs in its place */
  const toFused = blocks + fusedOffset(codeLength) - code
  let jumps = load<usize>(entry, CODE_JUMPS)
  /** where `sp` is when the stack is empty */
  const floor = load<usize>(frame, STACK) - WORD
  let memory = load<usize>(frame, MEMORY)
  let memorySize = <u64>load<u32>(frame, MEMORY_SIZE)
  let ip = code + <usize>load<u32>(frame, PC)
  let sp = load<usize>(frame, SP)
  let gas = load<i64>(frame, GAS)
  const gasBefore = gas
  const pauseAt = gas - slice
  boundFrame(pauseAt)
  let growth: i32 = 0
  if (isBlockLoop<Loop>()) {
    const rest = enterNext(entry, blocks, ip, (sp - floor) >> 5, gas)
    if (rest < 0) return leaveBlocks(frame, ip - code, sp, gas, 0)
    gas = rest
  }

  while (true) {
    const opcode = <u32>load<u8>(isBlockLoop<Loop>() ? ip + toFused : ip)
    if (!isBlockLoop<Loop>()) {
      if (isTracedLoop<Loop>()) {
        save(frame, ip - code, sp, gas)
        reportStep(frame, opcode)
      }
      const property = load<u32>(properties + (opcode << 2))
      const height = (sp - floor) >> 5
      const need = (property >> 16) & 0xff
      growth = <i32>property >> 24
      if (height < <usize>need || <i32>height + growth > <i32>STACK_LIMIT) {
        return endUnfit(gasBefore - gas, height, need, false)
      }
      gas -= <i64>(property & 0xffff)
      if (gas < 0) return endUnfit(gasBefore, height, need, true)
    }
    ip++
    switch (opcode) {
      case OP_STOP:
        endFrame(SUCCESS, gas, 0, 0)
        return gasBefore - gas
      case OP_ADD:
        add(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_MUL:
        mul(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_SUB:
        sub(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_DIV:
        div(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_SDIV:
        sdiv(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_MOD:
        mod(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_SMOD:
        smod(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_ADDMOD:
        addmod(sp, sp - WORD, sp - 2 * WORD, sp - 2 * WORD)
        sp -= 2 * WORD
        continue
      case OP_MULMOD:
        mulmod(sp, sp - WORD, sp - 2 * WORD, sp - 2 * WORD)
        sp -= 2 * WORD
        continue
      case OP_SIGNEXTEND:
        signExtend(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_LT:
        setBool(sp - WORD, lt(sp, sp - WORD))
        sp -= WORD
        continue
      case OP_GT:
        setBool(sp - WORD, gt(sp, sp - WORD))
        sp -= WORD
        continue
      case OP_SLT:
        setBool(sp - WORD, slt(sp, sp - WORD))
        sp -= WORD
        continue
      case OP_SGT:
        setBool(sp - WORD, sgt(sp, sp - WORD))
        sp -= WORD
        continue
      case OP_EQ:
        setBool(sp - WORD, eq(sp, sp - WORD))
        sp -= WORD
        continue
      case OP_ISZERO:
        setBool(sp, isZero(sp))
        continue
      case OP_AND:
        and(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_OR:
        or(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_XOR:
        xor(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_NOT:
        not(sp, sp)
        continue
      case OP_BYTE:
        byte(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_SHL:
        shl(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_SHR:
        shr(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_SAR:
        sar(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case OP_CLZ:
        if (!hasCountLeadingZeros) {
          setDetailedFailure(INVALID_OPCODE, opcode, 0)
          break
        }
        clz(sp, sp)
        continue
      case OP_ADDRESS: case OP_ORIGIN: case OP_CALLER: case OP_CALLVALUE: case OP_CALLDATASIZE: case OP_CODESIZE: case OP_GASPRICE: case OP_RETURNDATASIZE:
      case OP_COINBASE: case OP_TIMESTAMP: case OP_NUMBER: case OP_PREVRANDAO: case OP_GASLIMIT: case OP_CHAINID: case OP_SELFBALANCE: case OP_BASEFEE:
      case OP_BLOBBASEFEE:
        sp += WORD
        pushContext(opcode, frame, sp)
        continue
      case OP_CALLDATALOAD:
        callDataLoad(frame, sp)
        continue
      case OP_BLOCKHASH:
        blockHashOf(sp)
        continue
      case OP_BLOBHASH:
        blobHash(sp)
        continue
      case OP_POP:
        sp -= WORD
        continue
      case OP_MLOAD: {
        const at = saturatedU64(sp)
        if (at + 32 > memorySize || at > memorySize) {
          gas = expandMemory(frame, rangeEnd(at, 32), gas)
          if (gas < 0) break
          memory = load<usize>(frame, MEMORY)
          memorySize = <u64>load<u32>(frame, MEMORY_SIZE)
        }
        reverseWord(sp, memory + <usize>at)
        continue
      }
      case OP_MSTORE: {
        const at = saturatedU64(sp)
        if (at + 32 > memorySize || at > memorySize) {
          gas = expandMemory(frame, rangeEnd(at, 32), gas)
          if (gas < 0) break
          memory = load<usize>(frame, MEMORY)
          memorySize = <u64>load<u32>(frame, MEMORY_SIZE)
        }
        reverseWord(memory + <usize>at, sp - WORD)
        sp -= 2 * WORD
        continue
      }
      case OP_MSTORE8: {
        const at = saturatedU64(sp)
        if (at >= memorySize) {
          gas = expandMemory(frame, rangeEnd(at, 1), gas)
          if (gas < 0) break
          memory = load<usize>(frame, MEMORY)
          memorySize = <u64>load<u32>(frame, MEMORY_SIZE)
        }
        store<u8>(memory + <usize>at, load<u8>(sp - WORD))
        sp -= 2 * WORD
        continue
      }
      case OP_JUMP:
      case OP_JUMPI: {
        const isTaken = opcode === OP_JUMP || !isZero(sp - WORD)
        if (!isTaken) {
          sp -= 2 * WORD
          if (isBlockLoop<Loop>()) {
            const rest = enterNext(entry, blocks, ip, (sp - floor) >> 5, gas)
            if (rest < 0) return leaveBlocks(frame, ip - code, sp, gas, gasBefore - gas)
            gas = rest
          }
          continue
        }
        if (!isBlockLoop<Loop>() && jumps === 0) jumps = jumpsOf(entry)
        const target = destination(sp, jumps, codeLength)
        if (target === usize.MAX_VALUE) {
          setFailure(INVALID_JUMP)
          break
        }
        sp -= opcode === OP_JUMP ? WORD : 2 * WORD
        ip = code + target
        if (gas < pauseAt || (!isBlockLoop<Loop>() && !isTracedLoop<Loop>() && isHot(frame, entry))) {
          save(frame, target, sp, gas)
          return gasBefore - gas
        }
        if (isBlockLoop<Loop>()) {
          const rest = enterBlock(entry, blocks, target, (sp - floor) >> 5, gas)
          if (rest < 0) return leaveBlocks(frame, target, sp, gas, gasBefore - gas)
          gas = rest
          ip++
        }
        continue
      }
      case OP_PC:
        sp += WORD
        setWord(sp, ip - code - 1)
        continue
      case OP_MSIZE:
        sp += WORD
        setWord(sp, memorySize)
        continue
      case OP_GAS:
        sp += WORD
        setWord(sp, gas)
        if (isBlockLoop<Loop>()) {
          const rest = enterNext(entry, blocks, ip, (sp - floor) >> 5, gas)
          if (rest < 0) return leaveBlocks(frame, ip - code, sp, gas, gasBefore - gas)
          gas = rest
        }
        continue
      case OP_JUMPDEST:
        if (isBlockLoop<Loop>()) {
          const rest = enterBlock(entry, blocks, ip - code - 1, (sp - floor) >> 5, gas)
          if (rest < 0) return leaveBlocks(frame, ip - code - 1, sp, gas, gasBefore - gas)
          gas = rest
        }
        continue
      case OP_TLOAD:
        tload(frame, sp)
        continue
      case OP_PUSH0:
        sp += WORD
        setWord(sp, 0)
        continue
      case OP_PUSH1:
        sp += WORD
        setWord(sp, load<u8>(ip))
        ip++
        continue
      case OP_PUSH2: case OP_PUSH3: case OP_PUSH4: case OP_PUSH5: case OP_PUSH6: case OP_PUSH7: case OP_PUSH8: case OP_PUSH9:
      case OP_PUSH10: case OP_PUSH11: case OP_PUSH12: case OP_PUSH13: case OP_PUSH14: case OP_PUSH15: case OP_PUSH16: case OP_PUSH17:
      case OP_PUSH18: case OP_PUSH19: case OP_PUSH20: case OP_PUSH21: case OP_PUSH22: case OP_PUSH23: case OP_PUSH24: case OP_PUSH25:
      case OP_PUSH26: case OP_PUSH27: case OP_PUSH28: case OP_PUSH29: case OP_PUSH30: case OP_PUSH31: case OP_PUSH32:
        sp += WORD
        pushImmediate(sp, ip, opcode - OP_PUSH0)
        ip += opcode - OP_PUSH0
        continue
      case OP_DUP1: case OP_DUP2: case OP_DUP3: case OP_DUP4: case OP_DUP5: case OP_DUP6: case OP_DUP7: case OP_DUP8:
      case OP_DUP9: case OP_DUP10: case OP_DUP11: case OP_DUP12: case OP_DUP13: case OP_DUP14: case OP_DUP15: case OP_DUP16:
        copyWord(sp + WORD, sp - ((opcode - OP_DUP1) << 5))
        sp += WORD
        continue
      case OP_SWAP1: case OP_SWAP2: case OP_SWAP3: case OP_SWAP4: case OP_SWAP5: case OP_SWAP6: case OP_SWAP7: case OP_SWAP8:
      case OP_SWAP9: case OP_SWAP10: case OP_SWAP11: case OP_SWAP12: case OP_SWAP13: case OP_SWAP14: case OP_SWAP15: case OP_SWAP16:
        swapWords(sp, sp - ((opcode - OP_SWAP1 + 1) << 5))
        continue
      case OP_MCOPY: {
        const to = saturatedU64(sp)
        const from = saturatedU64(sp - WORD)
        const length = saturatedU64(sp - 2 * WORD)
        if (length <= memorySize && max(to, from) <= memorySize - length) {
          gas -= copyCost(length)
          if (gas < 0) {
            setFailure(OUT_OF_GAS)
            break
          }
          if (gas < dropBelow) {
            drop()
            return gasBefore - gas
          }
          moveBytes(memory + <usize>to, memory + <usize>from, <usize>length)
          sp -= 3 * WORD
          continue
        }
      }
      // where memory grows
      case OP_EXP: case OP_KECCAK256: case OP_BALANCE: case OP_CALLDATACOPY: case OP_CODECOPY: case OP_EXTCODESIZE: case OP_EXTCODECOPY: case OP_RETURNDATACOPY:
      case OP_EXTCODEHASH: case OP_SLOAD: case OP_SSTORE: case OP_TSTORE: case OP_LOG0: case OP_LOG1: case OP_LOG2: case OP_LOG3: case OP_LOG4:
        gas = runPriced(opcode, frame, sp, gas)
        if (gas < 0) break
        if (gas < dropBelow) {
          drop()
          return gasBefore - gas
        }
        memory = load<usize>(frame, MEMORY)
        memorySize = <u64>load<u32>(frame, MEMORY_SIZE)
        if (isBlockLoop<Loop>()) growth = <i32>load<u32>(properties + (opcode << 2)) >> 24
        sp += growth << 5
        if (isBlockLoop<Loop>() && load<u8>(endings + opcode) !== 0) {
          const rest = enterNext(entry, blocks, ip, (sp - floor) >> 5, gas)
          if (rest < 0) return leaveBlocks(frame, ip - code, sp, gas, gasBefore - gas)
          gas = rest
        }
        continue
      case OP_CREATE:
      case OP_CREATE2:
        save(frame, ip - code, sp, gas)
        return createOpcode(opcode) === FAILS ? endFailed(gasBefore - gas) : gasBefore - gas
      case OP_CALL:
      case OP_CALLCODE:
      case OP_DELEGATECALL:
      case OP_STATICCALL:
        save(frame, ip - code, sp, gas)
        return afterCall(callOpcode(opcode), frame, gasBefore, gas)
      case OP_RETURN:
      case OP_REVERT: {
        const length = saturatedU64(sp - WORD)
        gas = expandMemory(frame, rangeEnd(saturatedU64(sp), length), gas)
        if (gas < 0) break
        const output = load<usize>(frame, MEMORY) + <usize>(length === 0 ? 0 : load<u64>(sp))
        endFrame(opcode === OP_RETURN ? SUCCESS : REVERTED, gas, output, <u32>length)
        return gasBefore - gas
      }
      case OP_SELFDESTRUCT:
        gas = selfDestructOpcode(sp, gas)
        if (gas < 0) break
        endFrame(SUCCESS, gas, 0, 0)
        return gasBefore - gas
      // In the other loops the numbers of fused opcodes are invalid opcodes: each case falls through to the last one, and must.
      case PUSH_JUMP:
      case PUSH_JUMPI:
      case ISZERO_PUSH_JUMPI:
      case EQ_PUSH_JUMPI:
      case SELECTOR_JUMPI:
        if (isBlockLoop<Loop>()) {
          const ends = load<u64>(blocks + ((ip - code) << 3))
          let isTaken = true
          if (opcode === SELECTOR_JUMPI) {
            isTaken = fitsU64(sp) && load<u64>(sp) === <u64>bswap<u32>(load<u32>(ip, 1))
          } else if (opcode === EQ_PUSH_JUMPI) {
            isTaken = eq(sp, sp - WORD)
            sp -= 2 * WORD
          } else if (opcode !== PUSH_JUMP) {
            isTaken = isZero(sp) === (opcode === ISZERO_PUSH_JUMPI)
            sp -= WORD
          }
          if (!isTaken) {
            ip = code + <usize>(ends >> 32)
            const rest = enterNext(entry, blocks, ip, (sp - floor) >> 5, gas)
            if (rest < 0) return leaveBlocks(frame, ip - code, sp, gas, gasBefore - gas)
            gas = rest
            continue
          }
          const target = <usize>(ends & 0xffffffff)
          if (gas < pauseAt) {
            save(frame, target, sp, gas)
            return gasBefore - gas
          }
          const rest = enterBlock(entry, blocks, target, (sp - floor) >> 5, gas)
          if (rest < 0) return leaveBlocks(frame, target, sp, gas, gasBefore - gas)
          gas = rest
          ip = code + target + 1
          continue
        }
      case PUSH1_ADD:
        if (isBlockLoop<Loop>()) {
          addSmall(sp, load<u8>(ip))
          ip += 2
          continue
        }
      case PUSH1_SHL:
        if (isBlockLoop<Loop>()) {
          shiftLeft(load<u8>(ip), sp, sp)
          ip += 2
          continue
        }
      case PUSH1_SHR:
        if (isBlockLoop<Loop>()) {
          shiftRight(load<u8>(ip), sp, sp, 0)
          ip += 2
          continue
        }
      case PUSH1_MLOAD:
        if (isBlockLoop<Loop>()) {
          const at = <u64>load<u8>(ip)
          ip++
          sp += WORD
          if (at + 32 <= memorySize) {
            reverseWord(sp, memory + <usize>at)
            ip++
          } else {
            setWord(sp, at) // MLOAD itself grows the memory
          }
          continue
        }
      case PUSH1_MSTORE:
        if (isBlockLoop<Loop>()) {
          const at = <u64>load<u8>(ip)
          ip++
          if (at + 32 <= memorySize) {
            reverseWord(memory + <usize>at, sp)
            sp -= WORD
            ip++
          } else {
            sp += WORD
            setWord(sp, at)
          }
          continue
        }
      case MASK:
        if (isBlockLoop<Loop>()) {
          sp += WORD
          setLimbs(sp, u64.MAX_VALUE, u64.MAX_VALUE, u32.MAX_VALUE, 0)
          ip += 7
          continue
        }
      case MASK_AND:
        if (isBlockLoop<Loop>()) {
          maskAddress(sp, sp)
          ip += 8
          continue
        }
      case MASK_DUP_AND:
        if (isBlockLoop<Loop>()) {
          sp += WORD
          maskAddress(sp, sp - ((<usize>load<u8>(ip, 7) - OP_DUP1) << 5))
          ip += 9
          continue
        }
      case DUP_ADD:
        if (isBlockLoop<Loop>()) {
          add(sp - ((<usize>load<u8>(ip - 1) - OP_DUP1) << 5), sp, sp)
          ip++
          continue
        }
      case DUP_AND:
        if (isBlockLoop<Loop>()) {
          and(sp - ((<usize>load<u8>(ip - 1) - OP_DUP1) << 5), sp, sp)
          ip++
          continue
        }
      case SWAP_SWAP:
        if (isBlockLoop<Loop>()) {
          swapWords(sp, sp - ((<usize>load<u8>(ip - 1) - OP_SWAP1 + 1) << 5))
          swapWords(sp, sp - ((<usize>load<u8>(ip) - OP_SWAP1 + 1) << 5))
          ip++
          continue
        }
      case PUSH1_PUSH1:
        if (isBlockLoop<Loop>()) {
          setWord(sp + WORD, load<u8>(ip))
          setWord(sp + 2 * WORD, load<u8>(ip, 2))
          sp += 2 * WORD
          ip += 3
          continue
        }
      case PUSH1_DUP:
        if (isBlockLoop<Loop>()) {
          setWord(sp + WORD, load<u8>(ip))
          copyWord(sp + 2 * WORD, sp + WORD - ((<usize>load<u8>(ip, 1) - OP_DUP1) << 5))
          sp += 2 * WORD
          ip += 2
          continue
        }
      case DUP_PUSH1:
        if (isBlockLoop<Loop>()) {
          copyWord(sp + WORD, sp - ((<usize>load<u8>(ip - 1) - OP_DUP1) << 5))
          setWord(sp + 2 * WORD, load<u8>(ip, 1))
          sp += 2 * WORD
          ip += 2
          continue
        }
      case DUP_DUP:
        if (isBlockLoop<Loop>()) {
          copyWord(sp + WORD, sp - ((<usize>load<u8>(ip - 1) - OP_DUP1) << 5))
          copyWord(sp + 2 * WORD, sp + WORD - ((<usize>load<u8>(ip) - OP_DUP1) << 5))
          sp += 2 * WORD
          ip++
          continue
        }
      case SWAP_POP:
        if (isBlockLoop<Loop>()) {
          copyWord(sp - ((<usize>load<u8>(ip - 1) - OP_SWAP1 + 1) << 5), sp)
          sp -= WORD
          ip++
          continue
        }
      case POP_POP:
        if (isBlockLoop<Loop>()) {
          sp -= 2 * WORD
          ip++
          continue
        }
      default:
        setDetailedFailure(INVALID_OPCODE, <u32>load<u8>(ip - 1), 0)
    }
    return endFailed(gasBefore)
  }
}

// How the loop leaves a frame: finally, for another frame, or for the plain loop. Each returns the gas that counts as work.

// @ts-ignore: decorator
@inline
function save(frame: usize, pc: usize, sp: usize, gas: i64): void {
  store<u32>(frame, <u32>pc, PC)
  store<usize>(frame, sp, SP)
  store<i64>(frame, gas, GAS)
}

/** Ends the newest frame with the failure that is set. Returns the work that was done. */
function endFailed(work: i64): i64 {
  endFrame(FAILED, 0, 0, 0)
  return work
}

/** Ends the newest frame before an opcode for which the stack does not fit or the gas is too little. */
function endUnfit(work: i64, height: usize, need: u32, isOutOfGas: bool): i64 {
  if (isOutOfGas) setFailure(OUT_OF_GAS)
  else setDetailedFailure(height < <usize>need ? STACK_UNDERFLOW : STACK_OVERFLOW, <u32>height, need)
  return endFailed(work)
}

/** Returns the work of a loop that a call ended. The gas that the callee was given is not used yet. */
function afterCall(outcome: u32, frame: usize, gasBefore: i64, gas: i64): i64 {
  if (outcome === FAILS) return endFailed(gasBefore - gas)
  const left = load<i64>(frame, GAS)
  return gasBefore - (outcome === ENTERED ? left + load<i64>(frame + FRAME_SIZE, GAS) : left)
}

/** Leaves the block loop finally in this frame: the plain loop finds the opcode of the block that fails. */
function leaveBlocks(frame: usize, pc: usize, sp: usize, gas: i64, work: i64): i64 {
  save(frame, pc, sp, gas)
  store<u32>(frame, 1, IS_PLAIN)
  return work
}

/** Masks for PUSH2 to PUSH32: 32 bytes for each length from 0 to 32, with as many low bytes set. */
const masks: usize = heap.alloc(33 * WORD)

for (let length: usize = 0; length <= 32; length++) {
  memory.fill(masks + length * WORD, 0, WORD)
  memory.fill(masks + length * WORD, 0xff, length)
}

/**
 * Writes the word of `length` big-endian bytes. Reads the 32 bytes that end with them: there is
 * room for it before and after all bytecode (see contractCode.ts), and what is missing at its end
 * is zero.
 */
// @ts-ignore: decorator
@inline
function pushImmediate(word: usize, bytes: usize, length: usize): void {
  const end = bytes + length
  const mask = masks + length * WORD
  v128.store(word, v128.and(reversed(v128.load(end - 16)), v128.load(mask)))
  v128.store(word, v128.and(reversed(v128.load(end - 32)), v128.load(mask, 16)), 16)
}
