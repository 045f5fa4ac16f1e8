// How much a run has done since its host last had a turn, in gas.

/** What entering or leaving a frame counts. */
export const FRAME_WORK: i64 = 500

export let workLeft: i64 = 0

export function setWork(amount: i64): void {
  workLeft = amount
}

export function spendWork(amount: i64): void {
  workLeft -= amount
}
