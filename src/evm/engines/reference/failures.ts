import type { ExecResult } from '@ethereumjs/evm'

/** The error names of `@ethereumjs/evm` in geth's words (core/vm/errors.go); names that are missing are the same in both. */
const GETH_WORDS: Readonly<Record<string, string>> = {
  revert: 'execution reverted',
  'code store out of gas': 'contract creation code storage out of gas',
  'static state change': 'write protection',
  'create collision': 'contract address collision',
  'code size to deposit exceeds maximum code size': 'max code size exceeded',
  'initcode exceeds max initcode size': 'max initcode size exceeded',
  'invalid bytecode deployed': 'invalid code: must not begin with 0xef',
  'insufficient balance': 'insufficient balance for transfer',
}

const STACK_LIMIT = 1024
const RETURNDATACOPY = 0x3e
const INVALID = 0xfe

/** Stack items that an opcode takes (for DUP and SWAP: reaches), by opcode; 0 for the others. */
const STACK_INPUTS = stackInputs()

/** Stack items that `opcode` takes; of DUP and SWAP, how deep they reach; 0 for opcodes that do not exist. */
export function stackInputsOf(opcode: number): number {
  return STACK_INPUTS[opcode] ?? 0
}

type FrameState = NonNullable<ExecResult['runState']>

/** Why the frame failed, in geth's words; `execution reverted` for REVERT. */
export function failureWords(result: Pick<ExecResult, 'exceptionError' | 'runState'>): string {
  const name = result.exceptionError?.error ?? 'internal error'
  return frameFailureWords(name, result.runState)
}

/** As {@link failureWords}, from the name of the error and the state of the frame that it ended (none for a precompile). */
export function frameFailureWords(
  name: string,
  frame: Pick<FrameState, 'opCode' | 'stack' | 'code' | 'programCounter' | 'returnBytes'> | undefined,
): string {
  if (frame !== undefined) {
    switch (name) {
      case 'stack underflow':
        return `stack underflow (${frame.stack.length} <=> ${stackInputsOf(frame.opCode)})`
      case 'stack overflow':
        return `stack limit reached ${frame.stack.length} (${STACK_LIMIT - 1})`
      case 'invalid opcode':
        return `invalid opcode: ${opcodeText(frame.code[frame.programCounter] ?? INVALID)}`
      case 'value out of range':
        return 'gas uint64 overflow'
      case 'out of gas':
        return copiesBeyondReturnData(frame) ? 'return data out of bounds' : name
      default:
    }
  }
  // the name goes on with the place of the jump
  if (name.startsWith('invalid JUMP')) return 'invalid jump destination'
  // without a frame a precompile failed
  if (frame === undefined && name === 'value out of range') return 'invalid input length'
  return GETH_WORDS[name] ?? name
}

/** RETURNDATACOPY of more than there is, which the EVM reports as out of gas. */
function copiesBeyondReturnData({
  opCode,
  stack,
  returnBytes,
}: Pick<FrameState, 'opCode' | 'stack' | 'returnBytes'>): boolean {
  if (opCode !== RETURNDATACOPY || stack.length < 3) return false
  const [, offset, length] = stack.peek(3) as [bigint, bigint, bigint]
  return offset + length > returnBytes.length
}

function opcodeText(opcode: number): string {
  return opcode === INVALID ? 'INVALID' : `opcode 0x${opcode.toString(16)} not defined`
}

function stackInputs(): Uint8Array {
  const inputs = new Uint8Array(256)
  const groups: readonly (readonly [number, readonly number[]])[] = [
    [1, [0x15, 0x19, 0x1e, 0x31, 0x35, 0x3b, 0x3f, 0x40, 0x49, 0x50, 0x51, 0x54, 0x56, 0x5c, 0xff]],
    [2, [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a]],
    [2, [0x1b, 0x1c, 0x1d, 0x20, 0x52, 0x53, 0x55, 0x57, 0x5d, 0xa0, 0xf3, 0xfd]],
    [3, [0x08, 0x09, 0x37, 0x39, 0x3e, 0x5e, 0xa1, 0xf0]],
    [4, [0x3c, 0xa2, 0xf5]],
    [5, [0xa3]],
    [6, [0xa4, 0xf4, 0xfa]],
    [7, [0xf1, 0xf2]],
  ]
  for (const [count, opcodes] of groups) for (const opcode of opcodes) inputs[opcode] = count
  for (let i = 0; i < 16; i++) {
    inputs[0x80 + i] = i + 1
    inputs[0x90 + i] = i + 2
  }
  return inputs
}
