import { EVMError } from '@ethereumjs/evm'
import { stackInputsOf } from './failures.ts'

const STACK_LIMIT = 1024

/** Opcodes that leave one item more than they take, but for PUSH and DUP. */
const GROWING = new Set([
  0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a, 0x3d, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x4a, 0x58, 0x59,
  0x5a,
])

/** Whether an opcode finds too few items on the stack or has no room for its result: geth looks before it charges gas. */
export function stackFault(
  opcode: number,
  length: number,
): typeof EVMError.errorMessages.STACK_UNDERFLOW | typeof EVMError.errorMessages.STACK_OVERFLOW | undefined {
  if (length < stackInputsOf(opcode)) return EVMError.errorMessages.STACK_UNDERFLOW
  if (length < STACK_LIMIT) return undefined
  const grows = (opcode >= 0x5f && opcode <= 0x8f) || GROWING.has(opcode)
  return grows ? EVMError.errorMessages.STACK_OVERFLOW : undefined
}
