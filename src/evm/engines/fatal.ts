import { StateReadError } from '../../state/stateReadError.ts'
import { ExecutionTimeout } from '../engine.ts'

/** V8's words where memory or stack of this machine run out, which another machine may have. */
const EXHAUSTED = /allocation failed|Maximum call stack size exceeded/

/**
 * Whether an error is none of the code that runs: a deadline, a state that cannot be read, or a machine without memory. Such
 * an error must end the run: as a failed transaction it would be an outcome that other nodes do not have.
 */
export function isFatal(error: unknown): boolean {
  if (error instanceof ExecutionTimeout || error instanceof StateReadError) return true
  if (error instanceof RangeError) return EXHAUSTED.test(error.message)
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && error.code.startsWith('LEVEL_')
}
