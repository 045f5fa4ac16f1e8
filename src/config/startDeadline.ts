/**
 * How long a thread may take until its first answer, from the moment at which it has what it waits for. In that time the
 * executor may make the state of a genesis with millions of accounts, and the explorer's index may migrate the tables of a
 * long chain. The others load their modules and open their ports.
 */
export const START_MS = { executor: 3_600_000, explorerIndex: 3_600_000, other: 120_000 } as const

/** A thread that neither answers nor dies. The message is one line for the operator. */
class ThreadStartTimeout extends Error {
  override readonly name = 'ThreadStartTimeout'
}

/**
 * Waits for a thread's first answer, which comes when the thread is ready.
 * @throws ThreadStartTimeout; what `answer` rejects with
 */
export function startedInTime<T>(name: string, answer: Promise<T>, timeoutMs: number = START_MS.other): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const waited = `it has not answered for ${timeoutMs / 1000} seconds`
    late.reject(
      new ThreadStartTimeout(`the ${name} thread does not start: ${waited}; its last line in the log may say why`),
    )
  }, timeoutMs).unref()
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}
