import { expect } from 'vitest'

/**
 * Byte arrays are equal when their bytes are. Vitest alone makes a list of all indices of both and compares element by element: a second
 * for a few megabytes. Other kinds of arrays, and two of different classes, are left to it. Imported by the setup of a worker's tests,
 * where it takes effect once.
 */
function haveEqualBytes(left: unknown, right: unknown): boolean | undefined {
  if (!(left instanceof Uint8Array) || !(right instanceof Uint8Array)) return undefined
  if (left.constructor !== right.constructor) return undefined
  return Buffer.compare(left, right) === 0
}

expect.addEqualityTesters([haveEqualBytes])
