/** Gas of a precompile whose price is `base` and `perWord` for each 32 bytes begun. */
export function wordGas(length: number, base: number, perWord: number): bigint {
  return BigInt(base + perWord * Math.ceil(length / 32))
}
