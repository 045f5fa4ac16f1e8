// The loop over opcodes. What is short is done here on local variables; what is long gets frame, stack pointer and gas.
import { blobHash, blockHashOf } from './accountOpcodes'
import { enterBlock, enterNext } from './blocks'
import { callOpcode, FAILS } from './calls'
import { jumpsOf } from './codes'
import {
  INVALID_JUMP,
  INVALID_OPCODE,
  REVERTED,
  SUCCESS,
} from './constants'
import { pushContext } from './contextOpcodes'
import { callDataLoad } from './copyOpcodes'
import { createOpcode, selfDestructOpcode } from './creation'
import { addmod, div, mod, mulmod, sdiv, smod } from './division'
import { endFrame } from './ending'
import { expandMemory, rangeEnd } from './evmMemory'
import { setDetailedFailure, setFailure } from './failure'
import { hasCountLeadingZeros } from './fork'
import {
  CODE,
  CODE_BLOCKS,
  CODE_BYTES,
  CODE_JUMPS,
  CODE_LENGTH,
  GAS,
  MEMORY,
  MEMORY_SIZE,
  PC,
  SP,
  STACK,
  STACK_LIMIT,
  WORD,
} from './layout'
import { afterCall, endFailed, endUnfit, leaveBlocks, save } from './leaving'
import { isBlockLoop, isHot, isTracedLoop } from './loops'
import { endings, properties } from './opcodes'
import { runPriced } from './pricedOpcodes'
import { pushImmediate } from './pushImmediate'
import { reportStep } from './stepReport'
import { tload } from './storageOpcodes'
import { add, and, byte, clz, eq, gt, isZero, lt, mul, not, or, sar, sgt, shl, shr, signExtend, slt, sub, xor } from './word'
import { copyWord, fitsU64, reverseWord, saturatedU64, setWord, swapWords } from './wordAccess'

/** What a jump's target word names: the offset of a JUMPDEST, or the largest usize. */
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
 * Runs the newest frame until it ends, makes another one, or has used `slice` gas at a jump. Gives the gas that it used. To
 * be called again while there are frames: a call begins where the last one stopped.
 */
export function interpret<Loop>(frame: usize, slice: i64): i64 {
  const entry = load<usize>(frame, CODE)
  const code = load<usize>(entry, CODE_BYTES)
  const codeLength = load<u32>(entry, CODE_LENGTH)
  const blocks = load<usize>(entry, CODE_BLOCKS)
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
  let growth: i32 = 0
  if (isBlockLoop<Loop>()) {
    const rest = enterNext(entry, blocks, ip, (sp - floor) >> 5, gas)
    if (rest < 0) return leaveBlocks(frame, ip - code, sp, gas, 0)
    gas = rest
  }

  while (true) {
    const opcode = <u32>load<u8>(ip)
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
      case 0x00:
        endFrame(SUCCESS, gas, 0, 0)
        return gasBefore - gas
      case 0x01:
        add(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x02:
        mul(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x03:
        sub(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x04:
        div(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x05:
        sdiv(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x06:
        mod(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x07:
        smod(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x08:
        addmod(sp, sp - WORD, sp - 2 * WORD, sp - 2 * WORD)
        sp -= 2 * WORD
        continue
      case 0x09:
        mulmod(sp, sp - WORD, sp - 2 * WORD, sp - 2 * WORD)
        sp -= 2 * WORD
        continue
      case 0x0b:
        signExtend(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x10:
        setBool(sp - WORD, lt(sp, sp - WORD))
        sp -= WORD
        continue
      case 0x11:
        setBool(sp - WORD, gt(sp, sp - WORD))
        sp -= WORD
        continue
      case 0x12:
        setBool(sp - WORD, slt(sp, sp - WORD))
        sp -= WORD
        continue
      case 0x13:
        setBool(sp - WORD, sgt(sp, sp - WORD))
        sp -= WORD
        continue
      case 0x14:
        setBool(sp - WORD, eq(sp, sp - WORD))
        sp -= WORD
        continue
      case 0x15:
        setBool(sp, isZero(sp))
        continue
      case 0x16:
        and(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x17:
        or(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x18:
        xor(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x19:
        not(sp, sp)
        continue
      case 0x1a:
        byte(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x1b:
        shl(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x1c:
        shr(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x1d:
        sar(sp, sp - WORD, sp - WORD)
        sp -= WORD
        continue
      case 0x1e:
        if (!hasCountLeadingZeros) {
          setDetailedFailure(INVALID_OPCODE, opcode, 0)
          break
        }
        clz(sp, sp)
        continue
      case 0x30: case 0x32: case 0x33: case 0x34: case 0x36: case 0x38: case 0x3a: case 0x3d:
      case 0x41: case 0x42: case 0x43: case 0x44: case 0x45: case 0x46: case 0x47: case 0x48:
      case 0x4a:
        sp += WORD
        pushContext(opcode, frame, sp)
        continue
      case 0x35:
        callDataLoad(frame, sp)
        continue
      case 0x40:
        blockHashOf(sp)
        continue
      case 0x49:
        blobHash(sp)
        continue
      case 0x50:
        sp -= WORD
        continue
      case 0x51: {
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
      case 0x52: {
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
      case 0x53: {
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
      case 0x56:
      case 0x57: {
        const isTaken = opcode === 0x56 || !isZero(sp - WORD)
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
        sp -= opcode === 0x56 ? WORD : 2 * WORD
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
      case 0x58:
        sp += WORD
        setWord(sp, ip - code - 1)
        continue
      case 0x59:
        sp += WORD
        setWord(sp, memorySize)
        continue
      case 0x5a:
        sp += WORD
        setWord(sp, gas)
        if (isBlockLoop<Loop>()) {
          const rest = enterNext(entry, blocks, ip, (sp - floor) >> 5, gas)
          if (rest < 0) return leaveBlocks(frame, ip - code, sp, gas, gasBefore - gas)
          gas = rest
        }
        continue
      case 0x5b:
        if (isBlockLoop<Loop>()) {
          const rest = enterBlock(entry, blocks, ip - code - 1, (sp - floor) >> 5, gas)
          if (rest < 0) return leaveBlocks(frame, ip - code - 1, sp, gas, gasBefore - gas)
          gas = rest
        }
        continue
      case 0x5c:
        tload(frame, sp)
        continue
      case 0x5f:
        sp += WORD
        setWord(sp, 0)
        continue
      case 0x60:
        sp += WORD
        setWord(sp, load<u8>(ip))
        ip++
        continue
      case 0x61: case 0x62: case 0x63: case 0x64: case 0x65: case 0x66: case 0x67: case 0x68:
      case 0x69: case 0x6a: case 0x6b: case 0x6c: case 0x6d: case 0x6e: case 0x6f: case 0x70:
      case 0x71: case 0x72: case 0x73: case 0x74: case 0x75: case 0x76: case 0x77: case 0x78:
      case 0x79: case 0x7a: case 0x7b: case 0x7c: case 0x7d: case 0x7e: case 0x7f:
        sp += WORD
        pushImmediate(sp, ip, opcode - 0x5f)
        ip += opcode - 0x5f
        continue
      case 0x80: case 0x81: case 0x82: case 0x83: case 0x84: case 0x85: case 0x86: case 0x87:
      case 0x88: case 0x89: case 0x8a: case 0x8b: case 0x8c: case 0x8d: case 0x8e: case 0x8f:
        copyWord(sp + WORD, sp - ((opcode - 0x80) << 5))
        sp += WORD
        continue
      case 0x90: case 0x91: case 0x92: case 0x93: case 0x94: case 0x95: case 0x96: case 0x97:
      case 0x98: case 0x99: case 0x9a: case 0x9b: case 0x9c: case 0x9d: case 0x9e: case 0x9f:
        swapWords(sp, sp - ((opcode - 0x8f) << 5))
        continue
      case 0x0a: case 0x20: case 0x31: case 0x37: case 0x39: case 0x3b: case 0x3c: case 0x3e:
      case 0x3f: case 0x54: case 0x55: case 0x5d: case 0x5e: case 0xa0: case 0xa1: case 0xa2:
      case 0xa3: case 0xa4:
        gas = runPriced(opcode, frame, sp, gas)
        if (gas < 0) break
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
      case 0xf0:
      case 0xf5:
        save(frame, ip - code, sp, gas)
        return createOpcode(opcode) === FAILS ? endFailed(gasBefore - gas) : gasBefore - gas
      case 0xf1:
      case 0xf2:
      case 0xf4:
      case 0xfa:
        save(frame, ip - code, sp, gas)
        return afterCall(callOpcode(opcode), frame, gasBefore, gas)
      case 0xf3:
      case 0xfd: {
        const length = saturatedU64(sp - WORD)
        gas = expandMemory(frame, rangeEnd(saturatedU64(sp), length), gas)
        if (gas < 0) break
        const output = load<usize>(frame, MEMORY) + <usize>(length === 0 ? 0 : load<u64>(sp))
        endFrame(opcode === 0xf3 ? SUCCESS : REVERTED, gas, output, <u32>length)
        return gasBefore - gas
      }
      case 0xff:
        gas = selfDestructOpcode(sp, gas)
        if (gas < 0) break
        endFrame(SUCCESS, gas, 0, 0)
        return gasBefore - gas
      default:
        setDetailedFailure(INVALID_OPCODE, opcode, 0)
    }
    return endFailed(gasBefore)
  }
}
