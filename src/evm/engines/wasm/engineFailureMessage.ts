import {
  ADDRESS_COLLISION,
  CALL_DEPTH,
  CODE_SIZE,
  CODE_STORE_OUT_OF_GAS,
  GAS_OVERFLOW,
  INIT_CODE_SIZE,
  INSUFFICIENT_BALANCE,
  INVALID_CODE,
  INVALID_JUMP,
  INVALID_OPCODE,
  NONCE_OVERFLOW,
  OUT_OF_GAS,
  PRECOMPILE_FAILED,
  RETURN_DATA_OUT_OF_BOUNDS,
  STACK_OVERFLOW,
  STACK_UNDERFLOW,
  WRITE_PROTECTION,
} from '../../../../assembly/evm/constants.ts'
import {
  FAILURE_MESSAGES,
  invalidOpcodeMessage,
  stackOverflowMessage,
  stackUnderflowMessage,
} from '../failureMessages.ts'

/** Messages of failures that need no details, by failure number. */
const MESSAGES: ReadonlyMap<number, string> = new Map([
  [OUT_OF_GAS, FAILURE_MESSAGES.outOfGas],
  [INVALID_JUMP, FAILURE_MESSAGES.invalidJump],
  [WRITE_PROTECTION, FAILURE_MESSAGES.writeProtection],
  [RETURN_DATA_OUT_OF_BOUNDS, FAILURE_MESSAGES.returnDataOutOfBounds],
  [GAS_OVERFLOW, FAILURE_MESSAGES.gasOverflow],
  [CALL_DEPTH, FAILURE_MESSAGES.callDepth],
  [INSUFFICIENT_BALANCE, FAILURE_MESSAGES.insufficientBalance],
  [ADDRESS_COLLISION, FAILURE_MESSAGES.addressCollision],
  [NONCE_OVERFLOW, FAILURE_MESSAGES.nonceOverflow],
  [CODE_STORE_OUT_OF_GAS, FAILURE_MESSAGES.codeStoreOutOfGas],
  [CODE_SIZE, FAILURE_MESSAGES.codeSize],
  [INIT_CODE_SIZE, FAILURE_MESSAGES.initCodeSize],
  [INVALID_CODE, FAILURE_MESSAGES.invalidCode],
])

/** A failure as the engine reports it. */
export interface EngineFailure {
  /** a number of the engine's constants */
  readonly code: number
  /** of stack failures the height, of an invalid opcode the opcode */
  readonly detail: number
  /** of stack failures the items that the opcode takes */
  readonly need: number
}

/**
 * Returns geth's message for why a frame failed.
 * @param precompileMessage the reason of the last precompile that failed
 */
export function engineFailureMessage({ code, detail, need }: EngineFailure, precompileMessage: string): string {
  switch (code) {
    case STACK_UNDERFLOW:
      return stackUnderflowMessage(detail, need)
    case STACK_OVERFLOW:
      return stackOverflowMessage(detail)
    case INVALID_OPCODE:
      return invalidOpcodeMessage(detail)
    case PRECOMPILE_FAILED:
      return precompileMessage
    default: {
      const message = MESSAGES.get(code)
      if (message === undefined) throw new Error(`the engine has no failure ${code}`)
      return message
    }
  }
}
