import type { Common } from '@ethereumjs/common'
import type { ExecResult } from '@ethereumjs/evm'
import { bigIntToBytes } from '../../../primitives/bytes.ts'
import { OP } from '../../opcodes.ts'

type FrameState = NonNullable<ExecResult['runState']>

/** Returns the cost of an opcode from its base cost; records what it warms and how far memory grows. */
type GasHandler = (frame: FrameState, gas: bigint, common: Common) => bigint

const KECCAK_WORD_GAS = 6n
export const COPY_WORD_GAS = 3n

function peek1(frame: FrameState): bigint {
  return frame.stack.peek(1)[0]!
}

function peek2(frame: FrameState): [bigint, bigint] {
  return frame.stack.peek(2) as [bigint, bigint]
}

const oneWord: GasHandler = (frame, gas) => gas + memoryGas(frame, peek1(frame), 32n)
const oneByte: GasHandler = (frame, gas) => gas + memoryGas(frame, peek1(frame), 1n)

const range: GasHandler = (frame, gas) => {
  const [offset, length] = peek2(frame)
  return gas + memoryGas(frame, offset, length)
}

const keccak: GasHandler = (frame, gas) => {
  const [offset, length] = peek2(frame)
  return gas + memoryGas(frame, offset, length) + KECCAK_WORD_GAS * wordsOf(length)
}

const copy: GasHandler = (frame, gas) => {
  const [offset, , length] = frame.stack.peek(3) as [bigint, bigint, bigint]
  return gas + memoryGas(frame, offset, length) + COPY_WORD_GAS * wordsOf(length)
}

/** SLOAD: EIP-2929; before it the price is fixed. */
const sload: GasHandler = (frame, gas, common) => {
  const slot = bigIntToBytes(peek1(frame), 32)
  if (!common.isActivatedEIP(2929)) return gas
  const address = frame.env.address.bytes
  const { journal } = frame.interpreter
  if (journal.isWarmedStorage(address, slot)) return gas + common.param('warmstoragereadGas')
  journal.addWarmedStorage(address, slot)
  return gas + common.param('coldsloadGas')
}

/**
 * What the opcodes cost in the reference engine. Opcodes that are missing here keep the gas handlers of `@ethereumjs/evm`
 * (opcodes/gas.js); SSTORE's, for EIP-2200, EIP-2929 and EIP-3529, is among those. These are synchronous replacements for handlers
 * that are asynchronous without waiting for anything, the same in every fork. {@link FrameInterpreter} charges what they return.
 */
export const GAS_HANDLERS: ReadonlyMap<number, GasHandler> = new Map<number, GasHandler>([
  [OP.KECCAK256, keccak],
  [OP.CALLDATACOPY, copy],
  [OP.CODECOPY, copy],
  [OP.MLOAD, oneWord],
  [OP.MSTORE, oneWord],
  [OP.MSTORE8, oneByte],
  [OP.SLOAD, sload],
  [OP.RETURN, range],
  [OP.REVERT, range],
])

/** Charges the memory up to `offset + length`: returns its cost beyond what is paid for. */
function memoryGas(frame: FrameState, offset: bigint, length: bigint): bigint {
  const cost = memoryCost(frame, offset, length)
  if (cost === 0n) return 0n
  frame.highestMemCost += cost
  frame.memoryWordCount = wordsOf(offset + length)
  return cost
}

type PaidMemory = Pick<NonNullable<ExecResult['runState']>, 'memoryWordCount' | 'highestMemCost'>

const MEMORY_WORD_GAS = 3n
const MEMORY_QUADRATIC_DIVISOR = 512n
/** geth prices no memory beyond this (core/vm: memoryGasCost). */
export const MAX_MEMORY_WORDS = 0xffffffffn
/** Words of memory whose bytes 64 bits cannot count (core/vm: ErrGasUintOverflow). */
export const OVERFLOWN_WORDS = 2n ** 59n

export function wordsOf(bytes: bigint): bigint {
  return (bytes + 31n) >> 5n
}

/** Returns the cost of the first `words` words of memory (yellow paper, appendix H.1). */
function costOfWords(words: bigint): bigint {
  return words * MEMORY_WORD_GAS + (words * words) / MEMORY_QUADRATIC_DIVISOR
}

/** Returns the cost of the memory up to `offset + length` beyond what is paid for. */
export function memoryCost({ memoryWordCount, highestMemCost }: PaidMemory, offset: bigint, length: bigint): bigint {
  if (length === 0n) return 0n
  const words = wordsOf(offset + length)
  return words <= memoryWordCount ? 0n : costOfWords(words) - highestMemCost
}

/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH and calls: geth's fixed part of their price is that of a warm account. */
const WARM_PRICED: ReadonlySet<number> = new Set<number>([
  OP.BALANCE,
  OP.EXTCODESIZE,
  OP.EXTCODECOPY,
  OP.EXTCODEHASH,
  OP.CALL,
  OP.CALLCODE,
  OP.DELEGATECALL,
  OP.STATICCALL,
])
const WARM_ACCESS = 100n
const LOG_GAS = 375n

/**
 * Returns the part of an opcode's price that is charged before memory and warmth are looked at. As
 * in geth, except for LOG, which has no such part there: only the failure message of a LOG that can
 * pay neither itself nor its memory depends on it.
 * @param fee that of `@ethereumjs/evm`  @param hasWarmth EIP-2929 is in force
 */
export function constantGas(opcode: number, fee: bigint, hasWarmth: boolean): bigint {
  if (opcode >= OP.LOG0 && opcode <= OP.LOG4) return LOG_GAS * BigInt(opcode - OP.LOG0 + 1)
  return hasWarmth && WARM_PRICED.has(opcode) ? WARM_ACCESS : fee
}
