import type { ExecResult } from '@ethereumjs/evm'
import { MAX_INIT_CODE_BYTES } from '../../intrinsicGas.ts'
import { OP } from '../../opcodes.ts'
import {
  FAILURE_MESSAGES,
  invalidOpcodeMessage,
  stackOverflowMessage,
  stackUnderflowMessage,
} from '../failureMessages.ts'
import { COPY_WORD_GAS, MAX_MEMORY_WORDS, memoryCost, OVERFLOWN_WORDS, wordsOf } from './opcodeGas.ts'
import { stackInputsOf } from './stackBounds.ts'

/** geth's messages for the error names of `@ethereumjs/evm`; names that are missing are the same in both. */
const GETH_MESSAGES: Readonly<Record<string, string>> = {
  revert: FAILURE_MESSAGES.reverted,
  'code store out of gas': FAILURE_MESSAGES.codeStoreOutOfGas,
  'static state change': FAILURE_MESSAGES.writeProtection,
  'create collision': FAILURE_MESSAGES.addressCollision,
  'code size to deposit exceeds maximum code size': FAILURE_MESSAGES.codeSize,
  'initcode exceeds max initcode size': FAILURE_MESSAGES.initCodeSize,
  'invalid bytecode deployed': FAILURE_MESSAGES.invalidCode,
  'insufficient balance': FAILURE_MESSAGES.insufficientBalance,
}

/** EIP-3541: no code begins with it. */
export const FORBIDDEN_BYTE = 0xef
const RETURNDATACOPY_GAS = 3n

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

/** Returns geth's message for why the frame failed; `execution reverted` for REVERT. */
export function failureMessage(result: Pick<ExecResult, 'exceptionError' | 'runState'>): string {
  const name = result.exceptionError?.error ?? FAILURE_MESSAGES.internal
  if (name === FAILURE_MESSAGES.outOfGas && result.runState !== undefined) {
    const output = ended.get(result.runState)
    if (output !== undefined) return codeDepositMessage(result.runState, output)
  }
  return frameFailureMessage(name, result.runState)
}

/**
 * Returns the message for a creation that cannot pay for its code: its frame ended well and still
 * ran out of gas. geth checks the code first.
 */
function codeDepositMessage({ interpreter }: FrameState, code: Uint8Array): string {
  const isForbidden = code[0] === FORBIDDEN_BYTE && interpreter._evm.common.isActivatedEIP(3541)
  return isForbidden ? FAILURE_MESSAGES.invalidCode : FAILURE_MESSAGES.codeStoreOutOfGas
}

/** The outputs of frames whose code came to an end without a failure. */
const ended = new WeakMap<FrameState, Uint8Array>()

/** Frames that could not pay even the fixed part of an opcode's price. */
const unpriced = new WeakSet<object>()

/** Records that the frame cannot pay even the fixed part of its opcode's price: other faults are then not checked. */
export function recordUnpriced(frame: FrameState): void {
  unpriced.add(frame)
}

/** Records that the frame's code came to an end without a failure: `@ethereumjs/evm` may still find one in its output. */
export function recordEnd(frame: FrameState, output: Uint8Array): void {
  ended.set(frame, output)
}

/**
 * Returns the same as {@link failureMessage}, from the name of the error and the state of the frame
 * that it ended (undefined for a precompile).
 */
export function frameFailureMessage(name: string, frame: FailedFrame | undefined): string {
  if (frame !== undefined) {
    switch (name) {
      case 'stack underflow':
        return stackUnderflowMessage(frame.stack.length, stackInputsOf(frame.opCode))
      case 'stack overflow':
        return stackOverflowMessage(frame.stack.length)
      case 'invalid opcode':
        return invalidOpcodeMessage(frame.code[frame.programCounter] ?? OP.INVALID)
      case 'value out of range':
        return FAILURE_MESSAGES.gasOverflow
      case 'out of gas':
        if (unpriced.has(frame)) return name
        if (frame.memoryWordCount >= OVERFLOWN_WORDS) return FAILURE_MESSAGES.gasOverflow
        if (isOversizedCreation(frame)) return FAILURE_MESSAGES.initCodeSize
        return frame.opCode === OP.RETURNDATACOPY ? returnDataCopyMessage(frame) : name
      default:
    }
  }
  // the name ends with the offset of the jump
  if (name.startsWith('invalid JUMP')) return FAILURE_MESSAGES.invalidJump
  // without a frame a precompile failed
  if (frame === undefined && name === 'value out of range') return 'invalid input length'
  return GETH_MESSAGES[name] ?? name
}

/**
 * Returns whether init code is too long (EIP-3860). geth charges CREATE's fixed price, computes the
 * price of its memory, checks the length of init code, and charges last.
 */
function isOversizedCreation({ opCode, stack, memoryWordCount, interpreter }: FailedFrame): boolean {
  if ((opCode !== OP.CREATE && opCode !== OP.CREATE2) || !interpreter._evm.common.isActivatedEIP(3860)) return false
  const [, , length] = stack.peek(3) as [bigint, bigint, bigint]
  return length > MAX_INIT_CODE_BYTES && memoryWordCount <= MAX_MEMORY_WORDS
}

/**
 * Returns why a RETURNDATACOPY failed, which the EVM reports as out of gas in any case: it looks at
 * the return data before it charges, geth after that.
 */
function returnDataCopyMessage(frame: FailedFrame): string {
  const { stack, returnBytes, gasLeft } = frame
  const [to, offset, length] = stack.peek(3) as [bigint, bigint, bigint]
  if (length > 0n && wordsOf(to + length) >= OVERFLOWN_WORDS) return FAILURE_MESSAGES.gasOverflow
  const price = RETURNDATACOPY_GAS + COPY_WORD_GAS * wordsOf(length) + memoryCost(frame, to, length)
  const isBeyond = offset + length > returnBytes.length
  return isBeyond && price <= gasLeft ? FAILURE_MESSAGES.returnDataOutOfBounds : FAILURE_MESSAGES.outOfGas
}
