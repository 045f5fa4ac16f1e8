import type { ExecResult } from '@ethereumjs/evm'

type PaidMemory = Pick<NonNullable<ExecResult['runState']>, 'memoryWordCount' | 'highestMemCost'>

const MEMORY_WORD_GAS = 3n
const MEMORY_QUADRATIC_DIVISOR = 512n
export const COPY_WORD_GAS = 3n
/** geth prices no memory beyond this (core/vm: memoryGasCost). */
export const MAX_MEMORY_WORDS = 0xffffffffn
/** Memory that 64 bits do not count (core/vm: ErrGasUintOverflow). */
export const OVERFLOWN_WORDS = 2n ** 59n

export function wordsOf(bytes: bigint): bigint {
  return (bytes + 31n) >> 5n
}

/** Cost of so many words of memory from none (yellow paper, appendix H.1). */
export function costOfWords(words: bigint): bigint {
  return words * MEMORY_WORD_GAS + (words * words) / MEMORY_QUADRATIC_DIVISOR
}

/** Cost of the memory up to `offset + length` beyond what is paid for. */
export function memoryCost({ memoryWordCount, highestMemCost }: PaidMemory, offset: bigint, length: bigint): bigint {
  if (length === 0n) return 0n
  const words = wordsOf(offset + length)
  return words <= memoryWordCount ? 0n : costOfWords(words) - highestMemCost
}
