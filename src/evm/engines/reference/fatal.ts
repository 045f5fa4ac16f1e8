import { ExecutionTimeout } from '../../engine.ts'

/** Whether an error is none of the code that runs: a deadline, or a failure of the database below the world state. */
export function isFatal(error: unknown): boolean {
  if (error instanceof ExecutionTimeout) return true
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && error.code.startsWith('LEVEL_')
}
