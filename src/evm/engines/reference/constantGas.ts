/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH and calls: geth's fixed part of their price is that of a warm account. */
const WARM_PRICED: ReadonlySet<number> = new Set([0x31, 0x3b, 0x3c, 0x3f, 0xf1, 0xf2, 0xf4, 0xfa])
const WARM_ACCESS = 100n
const LOG0 = 0xa0
const LOG4 = 0xa4
const LOG_GAS = 375n

/**
 * The part of an opcode's price that is charged before anybody looks at memory and at what is warm. As in geth, but for LOG,
 * which has no such part there: only the words for a LOG that can pay neither itself nor its memory depend on it.
 * @param fee that of `@ethereumjs/evm`  @param hasWarmth EIP-2929 is in force
 */
export function constantGas(opcode: number, fee: bigint, hasWarmth: boolean): bigint {
  if (opcode >= LOG0 && opcode <= LOG4) return LOG_GAS * BigInt(opcode - LOG0 + 1)
  return hasWarmth && WARM_PRICED.has(opcode) ? WARM_ACCESS : fee
}
