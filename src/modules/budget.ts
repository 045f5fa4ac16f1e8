import type { NativeStore } from '../state/world.ts'

/** Work that a part of a block's start or end may do. The rest waits for a later block. */
export interface Budget {
  /** count of the meter (`native.work.done`) at which it is spent */
  readonly end: number
}

/** Creates a budget of this much gas, from now on. */
export function budgetOf(native: Pick<NativeStore, 'work'>, gas: number): Budget {
  return { end: native.work.done + gas }
}

/**
 * Whether a budget is spent.
 * @param pending gas of further work that the completed work makes necessary
 */
export function isSpent(native: Pick<NativeStore, 'work'>, { end }: Budget, pending = 0): boolean {
  return native.work.done + pending >= end
}
