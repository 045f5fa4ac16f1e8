// Opcodes with a price that depends on their operands, but for those of memory words, which the loop does itself.
import { balance, extCodeCopy, extCodeHash, extCodeSize } from './accountOpcodes'
import { OUT_OF_GAS } from './constants'
import { copyFrom, hashMemory, log, memoryCopy, returnDataCopy } from './copyOpcodes'
import { byteLength, exp } from './exponent'
import { fail } from './failure'
import { CODE, CODE_BYTES, CODE_LENGTH, INPUT, INPUT_LENGTH, WORD } from './layout'
import { sload, sstore, tstore } from './storageOpcodes'

export const EXP_BYTE: i64 = 50
const LOG0: u32 = 0xa0

/** Runs `opcode`, whose fixed price is paid. Gives the gas that is left, or -1 with the failure set. */
export function runPriced(opcode: u32, frame: usize, sp: usize, gas: i64): i64 {
  switch (opcode) {
    case 0x0a:
      return exponentiate(sp, gas)
    case 0x20:
      return hashMemory(frame, sp, gas)
    case 0x31:
      return balance(sp, gas)
    case 0x37:
      return copyFrom(frame, sp, gas, load<usize>(frame, INPUT), load<u32>(frame, INPUT_LENGTH))
    case 0x39: {
      const code = load<usize>(frame, CODE)
      return copyFrom(frame, sp, gas, load<usize>(code, CODE_BYTES), load<u32>(code, CODE_LENGTH))
    }
    case 0x3b:
      return extCodeSize(sp, gas)
    case 0x3c:
      return extCodeCopy(frame, sp, gas)
    case 0x3e:
      return returnDataCopy(frame, sp, gas)
    case 0x3f:
      return extCodeHash(sp, gas)
    case 0x54:
      return sload(frame, sp, gas)
    case 0x55:
      return sstore(frame, sp, gas)
    case 0x5d:
      return tstore(frame, sp, gas)
    case 0x5e:
      return memoryCopy(frame, sp, gas)
    default:
      return log(frame, sp, gas, opcode - LOG0)
  }
}

/** EIP-160. */
function exponentiate(sp: usize, gas: i64): i64 {
  gas -= EXP_BYTE * <i64>byteLength(sp - WORD)
  if (gas < 0) return fail(OUT_OF_GAS)
  exp(sp, sp - WORD, sp - WORD)
  return gas
}
