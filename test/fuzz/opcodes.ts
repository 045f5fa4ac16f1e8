import { OP } from '../../src/evm/opcodes.ts'

/** Opcodes that push one word and take nothing. */
export const CONSTANTS: readonly number[] = [
  OP.ADDRESS,
  OP.ORIGIN,
  OP.CALLER,
  OP.CALLVALUE,
  OP.CALLDATASIZE,
  OP.CODESIZE,
  OP.GASPRICE,
  OP.RETURNDATASIZE,
  OP.COINBASE,
  OP.TIMESTAMP,
  OP.NUMBER,
  OP.PREVRANDAO,
  OP.GASLIMIT,
  OP.CHAINID,
  OP.SELFBALANCE,
  OP.BASEFEE,
  OP.BLOBBASEFEE,
  OP.PC,
  OP.MSIZE,
  OP.GAS,
]
/** Opcodes of two operands and one result without any other effect. */
export const BINARY: readonly number[] = [
  OP.ADD,
  OP.MUL,
  OP.SUB,
  OP.DIV,
  OP.SDIV,
  OP.MOD,
  OP.SMOD,
  OP.EXP,
  OP.SIGNEXTEND,
  OP.LT,
  OP.GT,
  OP.SLT,
  OP.SGT,
  OP.EQ,
  OP.AND,
  OP.OR,
  OP.XOR,
  OP.BYTE,
  OP.SHL,
  OP.SHR,
  OP.SAR,
]
export const TERNARY: readonly number[] = [OP.ADDMOD, OP.MULMOD]

/** Every opcode that some fork from Cancun to Osaka defines. */
export const DEFINED: readonly number[] = [
  ...range(0x00, 0x0b),
  ...range(0x10, 0x1e),
  0x20,
  ...range(0x30, 0x4a),
  ...range(0x50, 0xa4),
  ...range(0xf0, 0xf5),
  0xfa,
  0xfd,
  0xfe,
  0xff,
]

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** Bytes that follow the opcode as its operand. */
export function operandLength(opcode: number): number {
  return opcode >= OP.PUSH1 && opcode <= OP.PUSH32 ? opcode - OP.PUSH1 + 1 : 0
}
