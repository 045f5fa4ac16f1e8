import { OP } from '../opcodes.ts'

/** geth's messages for why a frame failed (core/vm/errors.go). Both engines and the tracers use them. */
export const FAILURE_MESSAGES = {
  reverted: 'execution reverted',
  outOfGas: 'out of gas',
  invalidJump: 'invalid jump destination',
  writeProtection: 'write protection',
  returnDataOutOfBounds: 'return data out of bounds',
  gasOverflow: 'gas uint64 overflow',
  callDepth: 'max call depth exceeded',
  insufficientBalance: 'insufficient balance for transfer',
  addressCollision: 'contract address collision',
  nonceOverflow: 'nonce uint64 overflow',
  codeStoreOutOfGas: 'contract creation code storage out of gas',
  codeSize: 'max code size exceeded',
  initCodeSize: 'max initcode size exceeded',
  invalidCode: 'invalid code: must not begin with 0xef',
  /** not geth's: a precompile of ours failed for a reason that has no message */
  internal: 'internal error',
} as const

const STACK_LIMIT = 1024

/** @param height items on the stack  @param need items that the opcode takes */
export function stackUnderflowMessage(height: number, need: number): string {
  return `stack underflow (${height} <=> ${need})`
}

/** @param height items on the stack, which has no room for another */
export function stackOverflowMessage(height: number): string {
  return `stack limit reached ${height} (${STACK_LIMIT - 1})`
}

export function invalidOpcodeMessage(opcode: number): string {
  return `invalid opcode: ${opcode === OP.INVALID ? 'INVALID' : `opcode 0x${opcode.toString(16)} not defined`}`
}
