/** Error codes of the system for a server that cannot be reached. */
const SYSTEM_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // the path of a Unix socket
  'ENOENT',
])

/**
 * PostgreSQL's classes of errors that pass by themselves, or when the operator makes room: 08 connections, 53 disk, memory and connections
 * that are used up, 57 shutdown, start and cancelled statements, 58 the system's errors
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html); 25P03 a transaction that waited too long.
 */
const POSTGRES_CODES = /^(08...|53...|57...|58...|25P03|40001|40P01)$/

/** SQLite's: busy, locked, out of memory, I/O error, disk full, cannot open (https://www.sqlite.org/rescode.html). */
const SQLITE_CODES: ReadonlySet<number> = new Set([5, 6, 7, 10, 13, 14])

/** Messages of `pg` when a connection has ended; these errors have no code. */
const LOST =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

/** Whether the database failed for a reason that passes: it restarts, cannot be reached, or its disk is full. */
export function isDatabaseAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  // The low byte is the code; the others refine it.
  if (typeof errcode === 'number') return SQLITE_CODES.has(errcode & 0xff)
  if (typeof code === 'string') return SYSTEM_CODES.has(code) || POSTGRES_CODES.test(code)
  return LOST.test(error.message)
}
