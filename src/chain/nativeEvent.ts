/** A Cosmos SDK event. */
export interface NativeEvent {
  readonly type: string
  readonly attributes: readonly { readonly key: string; readonly value: string }[]
}
