/*
 * What HTTP clients here say and decide about failures, in the same words.
 */

/** Connection errors that do not go away with time: certificates, servers that do not speak HTTP, ports that fetch refuses. */
const HOPELESS =
  /^(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HPE_|ERR_SSL_|EPROTO$|bad port$|Response does not match the HTTP)/
/** HTTP statuses after which a later attempt may succeed. */
const BUSY: readonly number[] = [408, 425, 429]

/** Returns whether a later attempt may succeed after an answer of this status. */
export function isTemporary(status: number): boolean {
  return status >= 500 || BUSY.includes(status)
}

/** Returns whether no later attempt will succeed either. @param problem a result of {@link connectionProblem} */
export function isHopeless(problem: string): boolean {
  return HOPELESS.test(problem)
}

/** Returns the URL for messages, without query and credentials, which may be secret. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

/**
 * Returns the error's code if there is one. The error `fetch failed` has its reason in `cause`,
 * which may contain several errors.
 */
export function connectionProblem(error: unknown): string {
  let cause = error
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) cause = cause.errors[0]
  if (!(cause instanceof Error)) return String(cause)
  const { code } = cause as NodeJS.ErrnoException
  return typeof code === 'string' ? code : cause.message.replaceAll(/\s+/g, ' ').slice(0, 200)
}
