import type { Connection } from '@libp2p/interface'
import type { ConnectionMeter } from './connectionMeter.ts'
import type { Hello } from './hello.ts'
import { LIMITS, TokenBucket } from './limits.ts'
import type { PeerAddress } from './peerAddress.ts'
import type { SendQueue } from './sendQueue.ts'

/** A connected peer of this chain, after the handshake (connections.ts). */
export interface Session {
  /** node ID */
  readonly id: string
  /** number of this session in messages between threads */
  readonly handle: number
  readonly connection: Connection
  readonly isOutbound: boolean
  /** address of the connection's other side */
  readonly remote: PeerAddress
  readonly hello: Hello
  /** consensus address of the validator that it has proved to be */
  readonly validatorAddress: Uint8Array | undefined
  /** the operator has named it in PERSISTENT_PEERS or UNCONDITIONAL_PEER_IDS */
  readonly isConfigured: boolean
  /** one side is a seed node: addresses are exchanged and nothing else, then it ends */
  readonly isVisit: boolean
  readonly meter: ConnectionMeter
  readonly budgets: SessionBudgets
  /** resolves when messages can be sent; never rejects */
  readonly joined: PromiseWithResolvers<void>
  /** streams to it; undefined until it has joined */
  queues: { readonly consensus: SendQueue; readonly parts: SendQueue } | undefined
}

/** Budgets of the peer. Their rates are in {@link LIMITS}, the consequences of exceeding them in misbehaviour.ts. */
interface SessionBudgets {
  readonly messages: TokenBucket
  readonly parts: TokenBucket
  readonly offHeightMessages: TokenBucket
  readonly waiting: TokenBucket
  /** requests that it did not answer in time */
  readonly failures: TokenBucket
}

export function createBudgets(nowMs: number): SessionBudgets {
  return {
    messages: new TokenBucket(LIMITS.messages, nowMs),
    parts: new TokenBucket(LIMITS.parts, nowMs),
    offHeightMessages: new TokenBucket(LIMITS.offHeightMessages, nowMs),
    waiting: new TokenBucket(LIMITS.waiting, nowMs),
    failures: new TokenBucket(LIMITS.failures, nowMs),
  }
}
