import { DAMAGE_ADVICE, DatabaseError, type KeyReader } from './database.ts'

/*
 * The errors for a database that has lost or changed something. No transaction and no client can cause them. They end the node, and say
 * what to do.
 */

/**
 * Returns the error for a damaged file, with what to do.
 * @param offset of the first byte that is known to be wrong; undefined when the file as a whole is
 */
export function damagedFile(path: string, offset: number | undefined, what: string, cause?: unknown): DatabaseError {
  const place = offset === undefined ? path : `${path} at byte ${offset}`
  return new DatabaseError('corrupt', `${place} is damaged (${what}): ${DAMAGE_ADVICE}`, cause)
}

/**
 * Returns the error for contents that do not fit together: something is missing or wrong although
 * the files could be read.
 * @param what is missing or wrong
 */
export function damagedContents(what: string, cause?: unknown): DatabaseError {
  return new DatabaseError('corrupt', `the database is damaged (${what}): ${DAMAGE_ADVICE}`, cause)
}

/**
 * Returns an error like {@link damagedContents}, and notifies the thread that opened the database:
 * the code that catches this error may take it for the failure of a single request.
 */
export function damagedIn(reader: KeyReader, what: string): DatabaseError {
  const error = damagedContents(what)
  reader.onDamage?.(error)
  return error
}

/** Returns what is damaged, without the advice: for a list of several. */
export function withoutAdvice({ message }: DatabaseError): string {
  const advice = `: ${DAMAGE_ADVICE}`
  return message.endsWith(advice) ? message.slice(0, -advice.length) : message
}
