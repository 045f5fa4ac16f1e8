import { setFlagsFromString } from 'node:v8'

/** Ten times V8's own number. */
const CALLS_BEFORE_LAST_TIER = 30_000

/**
 * Lets V8 wait longer before it compiles a function with its slowest compiler. Every thread compiles for itself, and right
 * after the start all of them do: with V8's own setting that took a sixth of all processor time in the first seconds of full
 * load. What is called that often is compiled a little later; the tier before is nearly as fast.
 */
export function tuneCompiler(): void {
  setFlagsFromString(`--invocation-count-for-turbofan=${CALLS_BEFORE_LAST_TIER}`)
}
