// Opcodes whose price depends on their operands, except MLOAD, MSTORE and MSTORE8, which the loop runs itself.
import {
  OP_BALANCE, OP_CALLDATACOPY, OP_CODECOPY, OP_EXP, OP_EXTCODECOPY, OP_EXTCODEHASH, OP_EXTCODESIZE, OP_KECCAK256,
  OP_LOG0, OP_MCOPY, OP_RETURNDATACOPY, OP_SLOAD, OP_SSTORE, OP_TSTORE, OUT_OF_GAS,
} from './constants'
import { copyFrom, hashMemory, log, memoryCopy, returnDataCopy } from './copyOpcodes'
import { balance, extCodeCopy, extCodeHash, extCodeSize } from './environmentOpcodes'
import { byteLength, exp } from './exponent'
import { fail } from './failure'
import { CODE, CODE_BYTES, CODE_LENGTH, INPUT, INPUT_LENGTH, WORD } from './layout'
import { sload, sstore, tstore } from './storageOpcodes'

export const EXP_BYTE: i64 = 50

/** Runs `opcode`, whose fixed price is paid. Returns the gas that is left, or -1 with the failure set. */
export function runPriced(opcode: u32, frame: usize, sp: usize, gas: i64): i64 {
  switch (opcode) {
    case OP_EXP:
      return exponentiate(sp, gas)
    case OP_KECCAK256:
      return hashMemory(frame, sp, gas)
    case OP_BALANCE:
      return balance(sp, gas)
    case OP_CALLDATACOPY:
      return copyFrom(frame, sp, gas, load<usize>(frame, INPUT), load<u32>(frame, INPUT_LENGTH))
    case OP_CODECOPY: {
      const code = load<usize>(frame, CODE)
      return copyFrom(frame, sp, gas, load<usize>(code, CODE_BYTES), load<u32>(code, CODE_LENGTH))
    }
    case OP_EXTCODESIZE:
      return extCodeSize(sp, gas)
    case OP_EXTCODECOPY:
      return extCodeCopy(frame, sp, gas)
    case OP_RETURNDATACOPY:
      return returnDataCopy(frame, sp, gas)
    case OP_EXTCODEHASH:
      return extCodeHash(sp, gas)
    case OP_SLOAD:
      return sload(frame, sp, gas)
    case OP_SSTORE:
      return sstore(frame, sp, gas)
    case OP_TSTORE:
      return tstore(frame, sp, gas)
    case OP_MCOPY:
      return memoryCopy(frame, sp, gas)
    default:
      return log(frame, sp, gas, opcode - OP_LOG0)
  }
}

/** Runs EXP, with the price of EIP-160. */
function exponentiate(sp: usize, gas: i64): i64 {
  gas -= EXP_BYTE * <i64>byteLength(sp - WORD)
  if (gas < 0) return fail(OUT_OF_GAS)
  exp(sp, sp - WORD, sp - WORD)
  return gas
}
