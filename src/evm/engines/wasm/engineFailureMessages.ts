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
} from '../../../../assembly/constants.ts'
import { FAILURE_WORDS, invalidOpcodeWords, stackOverflowWords, stackUnderflowWords } from '../failureMessages.ts'

/** Words by failure number, of failures that need no details. */
const WORDS: ReadonlyMap<number, string> = new Map([
  [OUT_OF_GAS, FAILURE_WORDS.outOfGas],
  [INVALID_JUMP, FAILURE_WORDS.invalidJump],
  [WRITE_PROTECTION, FAILURE_WORDS.writeProtection],
  [RETURN_DATA_OUT_OF_BOUNDS, FAILURE_WORDS.returnDataOutOfBounds],
  [GAS_OVERFLOW, FAILURE_WORDS.gasOverflow],
  [CALL_DEPTH, FAILURE_WORDS.callDepth],
  [INSUFFICIENT_BALANCE, FAILURE_WORDS.insufficientBalance],
  [ADDRESS_COLLISION, FAILURE_WORDS.addressCollision],
  [NONCE_OVERFLOW, FAILURE_WORDS.nonceOverflow],
  [CODE_STORE_OUT_OF_GAS, FAILURE_WORDS.codeStoreOutOfGas],
  [CODE_SIZE, FAILURE_WORDS.codeSize],
  [INIT_CODE_SIZE, FAILURE_WORDS.initCodeSize],
  [INVALID_CODE, FAILURE_WORDS.invalidCode],
])

/** A failure as the engine tells it. */
export interface EngineFailure {
  /** a number of the engine's constants */
  readonly code: number
  /** of stack failures the height, of an invalid opcode the opcode */
  readonly detail: number
  /** of stack failures the items that the opcode takes */
  readonly need: number
}

/**
 * Why a frame failed, in geth's words.
 * @param precompileWords what the last precompile that failed said
 */
export function engineFailureMessages({ code, detail, need }: EngineFailure, precompileWords: string): string {
  switch (code) {
    case STACK_UNDERFLOW:
      return stackUnderflowWords(detail, need)
    case STACK_OVERFLOW:
      return stackOverflowWords(detail)
    case INVALID_OPCODE:
      return invalidOpcodeWords(detail)
    case PRECOMPILE_FAILED:
      return precompileWords
    default: {
      const words = WORDS.get(code)
      if (words === undefined) throw new Error(`the engine has no failure ${code}`)
      return words
    }
  }
}
