import type { NativeEvent } from './nativeEvent.ts'

/** How a native transaction that started fared: abci.ExecTxResult. */
export interface NativeResult {
  /** 0: success; else all effects of its messages are undone, but it paid and its sequence is used */
  readonly code: number
  /** '' when the code is 0 */
  readonly codespace: string
  /** '' when the code is 0, else why it failed */
  readonly log: string
  /** protobuf of cosmos.base.abci.v1beta1.TxMsgData; empty when it failed */
  readonly data: Uint8Array
  readonly gasWanted: bigint
  readonly gasUsed: bigint
  readonly events: readonly NativeEvent[]
}
