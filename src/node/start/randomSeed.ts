import { randomBytes } from 'node:crypto'

const SEED_BYTES = 8

/** For the hash tables of a thread: nobody can prepare keys that collide in them. */
export function randomSeed(): bigint {
  return randomBytes(SEED_BYTES).readBigUInt64LE()
}
