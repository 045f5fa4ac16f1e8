/**
 * Two engines came to different results for the same block. One of them is wrong, and nobody knows which: the block must not be
 * committed. The message is the whole report, since nothing else of an error reaches the thread that logs it.
 */
export class ShadowMismatchError extends Error {
  override readonly name = 'ShadowMismatchError'
}
