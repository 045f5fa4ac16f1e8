/** The voting power of all validators; less than a third is faulty: n = 3f + 1 in the paper. */
interface PowerTotal {
  readonly totalPower: bigint
}

/** Whether this power is more than two thirds of the total: 2f + 1. */
export function isQuorum(power: bigint, { totalPower }: PowerTotal): boolean {
  return power * 3n > totalPower * 2n
}

/** Whether this power must include an honest validator: f + 1. */
export function exceedsThird(power: bigint, { totalPower }: PowerTotal): boolean {
  return power * 3n > totalPower
}
