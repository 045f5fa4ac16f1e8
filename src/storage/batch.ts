/** One write to the database. */
export type Operation =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'del'; readonly key: Uint8Array }

/**
 * Puts and deletes of one block across all columns, written at once by `Database.write`. The last operation on a key
 * wins. Keys and values must not be changed afterwards.
 */
export class WriteBatch {
  readonly operations: Operation[] = []
  /** sum of the lengths of keys and values */
  bytes = 0

  put(key: Uint8Array, value: Uint8Array): void {
    this.operations.push({ type: 'put', key, value })
    this.bytes += key.length + value.length
  }

  del(key: Uint8Array): void {
    this.operations.push({ type: 'del', key })
    this.bytes += key.length
  }
}
