import { DatabaseError } from './database.ts'

/*
 * The errors for a database that has lost or changed something. No transaction and no client can cause them. They end the node, and say
 * what to do.
 */

const ADVICE =
  'check the disk, then get a good copy: stop the node, move db/ away, keep config/ and wal/, and start to join anew from the ' +
  'peers, or first `coind import` an export of another node; do not put back an older wal/ or a copy of the whole directory from ' +
  'before the last start of a validator, which could sign twice (docs/operations.md, "A damaged disk")'

/**
 * The error for a damaged file, with what to do.
 * @param offset of the first byte that is known to be wrong; undefined when the file as a whole is
 */
export function damagedFile(path: string, offset: number | undefined, what: string, cause?: unknown): DatabaseError {
  const place = offset === undefined ? path : `${path} at byte ${offset}`
  return new DatabaseError('corrupt', `${place} is damaged (${what}): ${ADVICE}`, cause)
}

/**
 * The error for contents that do not fit together: something is missing or wrong although the files could be read.
 * @param what is missing or wrong
 */
export function damagedContents(what: string, cause?: unknown): DatabaseError {
  return new DatabaseError('corrupt', `the database is damaged (${what}): ${ADVICE}`, cause)
}
