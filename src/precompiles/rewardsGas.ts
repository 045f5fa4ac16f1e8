import { slashEventsFrom } from '../modules/distribution/slashEvents.ts'
import { getStartingInfo } from '../modules/distribution/startingInfo.ts'
import type { Address } from '../primitives/address.ts'
import type { FunctionContext } from './dispatch.ts'

/** Gas of one slash between the start of a delegation and now, at each of which its rewards are computed. */
const SLASH_GAS = 1_000n

/**
 * Takes the gas of going through a delegation's slashes, which a change of it or a look at its rewards does: the only
 * part of that work that grows. False when there is not enough.
 */
export function chargeForSlashes(
  { world: { native }, charge }: Pick<FunctionContext, 'world' | 'charge'>,
  delegator: Address,
  operator: Address,
): boolean {
  const start = getStartingInfo(native, operator, delegator)
  if (start === undefined) return true
  for (const _ of slashEventsFrom(native, operator, start.previousPeriod + 1n)) {
    if (!charge(SLASH_GAS)) return false
  }
  return true
}
