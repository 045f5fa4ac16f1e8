/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH and calls: geth's fixed part of their price is that of a warm account. */
const WARM_PRICED: ReadonlySet<number> = new Set([0x31, 0x3b, 0x3c, 0x3f, 0xf1, 0xf2, 0xf4, 0xfa])
const WARM_ACCESS = 100n

/**
 * The part of an opcode's price that geth charges before it looks at memory and at what is warm.
 * @param fee that of `@ethereumjs/evm`  @param hasWarmth EIP-2929 is in force
 */
export function constantGas(opcode: number, fee: bigint, hasWarmth: boolean): bigint {
  return hasWarmth && WARM_PRICED.has(opcode) ? WARM_ACCESS : fee
}
