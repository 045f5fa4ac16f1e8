import { randomBytes } from 'node:crypto'

const SEED_BYTES = 8

/** Returns a seed for the hash tables of a thread, so that no client can prepare keys that collide in them. */
export function randomSeed(): bigint {
  return randomBytes(SEED_BYTES).readBigUInt64LE()
}
