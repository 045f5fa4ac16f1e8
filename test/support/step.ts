/**
 * Runs one step of a case whose steps need each other in their order. An error names the step in which it came.
 * @returns what the step yields
 */
export async function step<T>(name: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error))
    failure.message = `${name}: ${failure.message}`
    throw failure
  }
}
