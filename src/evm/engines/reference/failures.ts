import type { ExecResult } from '@ethereumjs/evm'
import { MAX_INIT_CODE_BYTES } from '../../intrinsicGas.ts'
import { FAILURE_WORDS, invalidOpcodeWords, stackOverflowWords, stackUnderflowWords } from '../failureMessages.ts'
import { COPY_WORD_GAS, MAX_MEMORY_WORDS, memoryCost, OVERFLOWN_WORDS, wordsOf } from './memoryGas.ts'

/** The error names of `@ethereumjs/evm` in geth's words; names that are missing are the same in both. */
const GETH_WORDS: Readonly<Record<string, string>> = {
  revert: FAILURE_WORDS.reverted,
  'code store out of gas': FAILURE_WORDS.codeStoreOutOfGas,
  'static state change': FAILURE_WORDS.writeProtection,
  'create collision': FAILURE_WORDS.addressCollision,
  'code size to deposit exceeds maximum code size': FAILURE_WORDS.codeSize,
  'initcode exceeds max initcode size': FAILURE_WORDS.initCodeSize,
  'invalid bytecode deployed': FAILURE_WORDS.invalidCode,
  'insufficient balance': FAILURE_WORDS.insufficientBalance,
}

const CREATE = 0xf0
const CREATE2 = 0xf5
const RETURNDATACOPY = 0x3e
/** EIP-3541: no code begins with it. */
export const FORBIDDEN_BYTE = 0xef
const RETURNDATACOPY_GAS = 3n
const INVALID = 0xfe

/** Stack items that an opcode takes (for DUP and SWAP: reaches), by opcode; 0 for the others. */
const STACK_INPUTS = stackInputs()

/** Stack items that `opcode` takes; of DUP and SWAP, how deep they reach; 0 for opcodes that do not exist. */
export function stackInputsOf(opcode: number): number {
  return STACK_INPUTS[opcode] ?? 0
}

type FrameState = NonNullable<ExecResult['runState']>
type FailedFrame = Pick<
  FrameState,
  | 'opCode'
  | 'stack'
  | 'code'
  | 'programCounter'
  | 'returnBytes'
  | 'gasLeft'
  | 'memoryWordCount'
  | 'highestMemCost'
  | 'interpreter'
>

/** Why the frame failed, in geth's words; `execution reverted` for REVERT. */
export function failureMessages(result: Pick<ExecResult, 'exceptionError' | 'runState'>): string {
  const name = result.exceptionError?.error ?? FAILURE_WORDS.internal
  if (name === FAILURE_WORDS.outOfGas && result.runState !== undefined) {
    const output = ended.get(result.runState)
    if (output !== undefined) return codeDepositWords(result.runState, output)
  }
  return frameFailureMessages(name, result.runState)
}

/** What ended well and ran out of gas all the same is a creation that cannot pay for its code; geth looks at the code first. */
function codeDepositWords({ interpreter }: FrameState, code: Uint8Array): string {
  const isForbidden = code[0] === FORBIDDEN_BYTE && interpreter._evm.common.isActivatedEIP(3541)
  return isForbidden ? FAILURE_WORDS.invalidCode : FAILURE_WORDS.codeStoreOutOfGas
}

/** What the frames gave whose code came to an end without a failure. */
const ended = new WeakMap<FrameState, Uint8Array>()

/** Frames that could not pay even the fixed part of an opcode's price. */
const unpriced = new WeakSet<object>()

/** Notes that the frame cannot pay even the fixed part of its opcode's price: then nobody looks at what else may be wrong. */
export function recordUnpriced(frame: FrameState): void {
  unpriced.add(frame)
}

/** Notes that the frame's code came to an end without a failure: `@ethereumjs/evm` may still find one in what it gave. */
export function recordEnd(frame: FrameState, output: Uint8Array): void {
  ended.set(frame, output)
}

/** As {@link failureMessages}, from the name of the error and the state of the frame that it ended (none for a precompile). */
export function frameFailureMessages(name: string, frame: FailedFrame | undefined): string {
  if (frame !== undefined) {
    switch (name) {
      case 'stack underflow':
        return stackUnderflowWords(frame.stack.length, stackInputsOf(frame.opCode))
      case 'stack overflow':
        return stackOverflowWords(frame.stack.length)
      case 'invalid opcode':
        return invalidOpcodeWords(frame.code[frame.programCounter] ?? INVALID)
      case 'value out of range':
        return FAILURE_WORDS.gasOverflow
      case 'out of gas':
        if (unpriced.has(frame)) return name
        if (frame.memoryWordCount >= OVERFLOWN_WORDS) return FAILURE_WORDS.gasOverflow
        if (isOversizedCreation(frame)) return FAILURE_WORDS.initCodeSize
        return frame.opCode === RETURNDATACOPY ? returnDataCopyWords(frame) : name
      default:
    }
  }
  // the name goes on with the place of the jump
  if (name.startsWith('invalid JUMP')) return FAILURE_WORDS.invalidJump
  // without a frame a precompile failed
  if (frame === undefined && name === 'value out of range') return 'invalid input length'
  return GETH_WORDS[name] ?? name
}

/** EIP-3860. geth charges CREATE's fixed price, sees that memory can be priced, then how long init code is, and charges last. */
function isOversizedCreation({ opCode, stack, memoryWordCount, interpreter }: FailedFrame): boolean {
  if ((opCode !== CREATE && opCode !== CREATE2) || !interpreter._evm.common.isActivatedEIP(3860)) return false
  const [, , length] = stack.peek(3) as [bigint, bigint, bigint]
  return length > MAX_INIT_CODE_BYTES && memoryWordCount <= MAX_MEMORY_WORDS
}

/**
 * Why a RETURNDATACOPY failed, which the EVM reports as out of gas in any case: it looks at the return data before it charges, geth
 * after that.
 */
function returnDataCopyWords(frame: FailedFrame): string {
  const { stack, returnBytes, gasLeft } = frame
  const [to, offset, length] = stack.peek(3) as [bigint, bigint, bigint]
  if (length > 0n && wordsOf(to + length) >= OVERFLOWN_WORDS) return FAILURE_WORDS.gasOverflow
  const price = RETURNDATACOPY_GAS + COPY_WORD_GAS * wordsOf(length) + memoryCost(frame, to, length)
  const isBeyond = offset + length > returnBytes.length
  return isBeyond && price <= gasLeft ? FAILURE_WORDS.returnDataOutOfBounds : FAILURE_WORDS.outOfGas
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
