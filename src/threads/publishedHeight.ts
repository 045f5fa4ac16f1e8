/**
 * Height of the newest published block, in memory that all threads share. The executor raises it when a block is in the
 * database; a thread that reads it before it answers is never behind what another thread has shown.
 */
export type PublishedHeight = BigInt64Array<SharedArrayBuffer>

export function createPublishedHeight(): PublishedHeight {
  return new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
}

export function setPublishedHeight(cell: PublishedHeight, height: number): void {
  Atomics.store(cell, 0, BigInt(height))
}

export function getPublishedHeight(cell: PublishedHeight): number {
  return Number(Atomics.load(cell, 0))
}
