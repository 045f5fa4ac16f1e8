import type { NativeStore } from '../../state/world.ts'

/** Work that may be done: up to this count of the meter (`native.work.done`). What is left waits for a later block. */
export interface Budget {
  readonly end: number
}

export function budgetOf(native: Pick<NativeStore, 'work'>, gas: number): Budget {
  return { end: native.work.done + gas }
}

/** Whether a budget is spent. @param pending gas of work that what was done already makes necessary */
export function isSpent(native: Pick<NativeStore, 'work'>, { end }: Budget, pending = 0): boolean {
  return native.work.done + pending >= end
}
