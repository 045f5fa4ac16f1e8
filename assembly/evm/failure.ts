// The reason why the last failed frame failed.

export let failure: u32 = 0
/** of a stack failure the height, of an invalid opcode the opcode */
export let failureDetail: u32 = 0
/** of a stack failure the words that the opcode takes */
export let failureNeed: u32 = 0

export function setFailure(reason: u32): void {
  failure = reason
  failureDetail = 0
  failureNeed = 0
}

export function setDetailedFailure(reason: u32, detail: u32, need: u32): void {
  failure = reason
  failureDetail = detail
  failureNeed = need
}

/** Sets the failure and returns -1, for functions that return the gas that is left. */
export function fail(reason: u32): i64 {
  setFailure(reason)
  return -1
}
