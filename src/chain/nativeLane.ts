/** Native transactions of a block may use so much less gas than EVM transactions. */
const LANE_DIVISOR = 4n

/** Gas that the native transactions of one block may use, beside what its EVM transactions use. */
export function nativeGasLimit(blockGasLimit: bigint): bigint {
  return blockGasLimit / LANE_DIVISOR
}
