import type { PeerDescription } from '../consensus/transport.ts'
import type { Priority } from '../p2p/sendQueue.ts'
import type { PackedBytes } from './packedBytes.ts'

/** What happened in the network thread, in order. A session has a number in place of its peer's long ID. */
export type NetworkEvent =
  | { readonly kind: 'joined'; readonly handle: number; readonly peer: PeerDescription }
  | { readonly kind: 'left'; readonly handle: number }
  /** encoded messages; `handles` says whose each is */
  | { readonly kind: 'messages'; readonly handles: Uint32Array; readonly packed: PackedBytes }

/** From the network thread to main; answered with its number once it is handled. */
export interface NetworkReport {
  readonly number: number
  readonly events: readonly NetworkEvent[]
}

/** An encoded message to send to some sessions. */
export interface Sending {
  readonly handles: readonly number[]
  readonly priority: Priority | 'part'
  readonly bytes: Uint8Array
}

/** From main to the network thread: a report was handled, or messages are to be sent. */
export type MainMessage = number | readonly Sending[]
