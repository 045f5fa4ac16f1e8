import { EVMError } from '@ethereumjs/evm'
import { OP } from '../../opcodes.ts'

const STACK_LIMIT = 1024

/** Opcodes by the number of stack items that they take (yellow paper, appendix H), except DUP and SWAP. */
const INPUTS: readonly (readonly [count: number, opcodes: readonly number[]])[] = [
  [
    1,
    [
      OP.ISZERO,
      OP.NOT,
      OP.CLZ,
      OP.BALANCE,
      OP.CALLDATALOAD,
      OP.EXTCODESIZE,
      OP.EXTCODEHASH,
      OP.BLOCKHASH,
      OP.BLOBHASH,
      OP.POP,
      OP.MLOAD,
      OP.SLOAD,
      OP.JUMP,
      OP.TLOAD,
      OP.SELFDESTRUCT,
    ],
  ],
  [
    2,
    [
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
    ],
  ],
  [
    2,
    [
      OP.SHL,
      OP.SHR,
      OP.SAR,
      OP.KECCAK256,
      OP.MSTORE,
      OP.MSTORE8,
      OP.SSTORE,
      OP.JUMPI,
      OP.TSTORE,
      OP.LOG0,
      OP.RETURN,
      OP.REVERT,
    ],
  ],
  [3, [OP.ADDMOD, OP.MULMOD, OP.CALLDATACOPY, OP.CODECOPY, OP.RETURNDATACOPY, OP.MCOPY, OP.LOG1, OP.CREATE]],
  [4, [OP.EXTCODECOPY, OP.LOG2, OP.CREATE2]],
  [5, [OP.LOG3]],
  [6, [OP.LOG4, OP.DELEGATECALL, OP.STATICCALL]],
  [7, [OP.CALL, OP.CALLCODE]],
]

const STACK_INPUTS = stackInputs()

/** Opcodes that leave one item more than they take, except PUSH and DUP. */
const GROWING = new Set<number>([
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
])

/**
 * Returns whether an opcode finds too few items on the stack or has no room for its result: geth
 * looks before it charges gas.
 */
export function stackFault(
  opcode: number,
  length: number,
): typeof EVMError.errorMessages.STACK_UNDERFLOW | typeof EVMError.errorMessages.STACK_OVERFLOW | undefined {
  if (length < stackInputsOf(opcode)) return EVMError.errorMessages.STACK_UNDERFLOW
  if (length < STACK_LIMIT) return undefined
  const grows = (opcode >= OP.PUSH0 && opcode <= OP.DUP16) || GROWING.has(opcode)
  return grows ? EVMError.errorMessages.STACK_OVERFLOW : undefined
}

/**
 * Returns the number of stack items that `opcode` takes; for DUP and SWAP how deep they reach; 0
 * for opcodes that do not exist.
 */
export function stackInputsOf(opcode: number): number {
  return STACK_INPUTS[opcode] ?? 0
}

function stackInputs(): Uint8Array {
  const inputs = new Uint8Array(256)
  for (const [count, opcodes] of INPUTS) for (const opcode of opcodes) inputs[opcode] = count
  for (let i = 0; i < 16; i++) {
    inputs[OP.DUP1 + i] = i + 1
    inputs[OP.SWAP1 + i] = i + 2
  }
  return inputs
}
