import { BroadcastChannel } from 'node:worker_threads'
import { bytesKey, keyBytes } from '../primitives/bytes.ts'

/*
 * Spans of OpenTelemetry, as the threads record them. `src/node/roles/tracing/tracingThread.ts` turns them into real ones and sends them
 * to a collector. A trace follows one transaction or one block; nodes that report to the same collector add to the same traces.
 */

/** Subject of a trace. */
export type TraceSubject =
  /** 64 lowercase hex digits */
  { readonly kind: 'transaction'; readonly hash: string } | { readonly kind: 'block'; readonly height: number }

/** A part of the way that is over. */
export interface SpanRecord {
  readonly subject: TraceSubject
  readonly name: string
  /** milliseconds since the epoch, with fractions: {@link epochMs} */
  readonly startMs: number
  readonly endMs: number
  /** the subject's whole path on this node: its other spans are parts of this one */
  readonly isRoot: boolean
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** the height of a block whose trace it leads to */
  readonly block: number | undefined
}

/** A thread's post: spans, and how many it has dropped since the last post. */
export interface SpanPost {
  readonly record: SpanRecord
  readonly dropped: number
}

/** Data that threads need to record spans. */
export interface TracingChannel {
  /** of the broadcast channel */
  readonly name: string
  /** the share of transactions that are followed, from 0 to 1; blocks all are */
  readonly share: number
  /** how many posts the tracing thread has not taken yet */
  readonly waiting: Int32Array<SharedArrayBuffer>
}

/** Posts of all threads that may wait for the tracing thread, which has the lowest priority; further spans are left out. */
const MAX_WAITING = 10_000

/** @param name of the broadcast channel, of this process alone */
export function createTracingChannel(name: string, share: number): TracingChannel {
  return { name, share, waiting: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) }
}

/** Counts a post as taken by the tracing thread. */
export function countTaken({ waiting }: Pick<TracingChannel, 'waiting'>): void {
  Atomics.sub(waiting, 0, 1)
}

/** Spans of transactions that one thread records in a second: hashes can be chosen so that all are followed. */
const SPANS_A_SECOND = 1_000

/**
 * Returns the milliseconds since the epoch, with fractions, on a clock that no correction sets back
 * while the process runs.
 */
export function epochMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Opens the tracer of this thread; undefined: tracing is off. */
export function openTracer(channel: TracingChannel | undefined): Tracer | undefined {
  return channel === undefined ? undefined : new Tracer(channel)
}

/** Records spans of one thread. */
export class Tracer {
  readonly #channel: BroadcastChannel
  readonly #below: number
  readonly #waiting: TracingChannel['waiting']
  #second = 0
  #left = 0
  #dropped = 0

  constructor({ name, share, waiting }: TracingChannel) {
    this.#channel = new BroadcastChannel(name)
    this.#channel.unref()
    this.#below = share * 2 ** 32
    this.#waiting = waiting
  }

  /**
   * Whether a transaction is one of those that are followed: every node and thread with the same share chooses the same ones.
   * @param hash 32 bytes
   */
  follows(hash: Uint8Array): boolean {
    const first = ((hash[0]! << 24) | (hash[1]! << 16) | (hash[2]! << 8) | hash[3]!) >>> 0
    return first < this.#below
  }

  /**
   * A span of a transaction that is followed, which ends now.
   * @param hash 32 bytes
   * @param span `startMs` by {@link epochMs}
   */
  transaction(hash: Uint8Array, name: string, span: Ended): void {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#left = SPANS_A_SECOND
    }
    if (this.#left === 0) {
      this.#dropped++
      return
    }
    this.#left--
    this.#post({ kind: 'transaction', hash: Buffer.from(hash).toString('hex') }, name, span)
  }

  /** A span of a block, which ends now. */
  block(height: number, name: string, span: Ended): void {
    this.#post({ kind: 'block', height }, name, span)
  }

  close(): void {
    this.#channel.close()
  }

  #post(subject: TraceSubject, name: string, { startMs, endMs = epochMs(), isRoot = false, ...rest }: Ended): void {
    if (Atomics.add(this.#waiting, 0, 1) >= MAX_WAITING) {
      Atomics.sub(this.#waiting, 0, 1)
      this.#dropped++
      return
    }
    const { attributes = {}, block } = rest
    const record: SpanRecord = { subject, name, startMs, endMs, isRoot, attributes, block }
    this.#channel.postMessage({ record, dropped: this.#dropped } satisfies SpanPost)
    this.#dropped = 0
  }
}

type Ended = Pick<SpanRecord, 'startMs'> &
  Partial<Pick<SpanRecord, 'endMs' | 'isRoot' | 'attributes'>> & { readonly block?: number }

/** Where consensus is in a height. */
interface Position {
  readonly height: number
  readonly round: number
  /** CometBFT's name */
  readonly step: string
}

/** The main thread's part of blocks' traces: the steps of each round, and the whole height as their root. */
export class RoundTraces {
  readonly #tracer: Tracer
  #present: (Position & { readonly startMs: number }) | undefined
  #heightMs = 0

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /** Consensus is in another step than before. */
  entered(position: Position): void {
    const nowMs = epochMs()
    const left = this.#present
    if (left?.height !== position.height) this.#heightMs = nowMs
    if (left !== undefined) {
      const attributes = { 'coind.height': left.height, 'coind.round': left.round }
      this.#tracer.block(left.height, `consensus.${left.step}`, { startMs: left.startMs, endMs: nowMs, attributes })
    }
    this.#present = { ...position, startMs: nowMs }
  }

  /** The block is decided and executed: its height is over. */
  decided(height: number, attributes: Readonly<Record<string, string | number | boolean>>): void {
    const present = this.#present
    // In block sync there are no rounds.
    if (present?.height !== height) return
    this.#tracer.block(height, 'block', {
      startMs: this.#heightMs,
      isRoot: true,
      attributes: { 'coind.height': height, ...attributes },
    })
  }
}

/** Transactions that are followed at the same time; the oldest ones are forgotten. */
const MAX_FOLLOWED = 10_000
/** Characters of a refusal that a span has: some refusals name what the transaction has, of any length. */
const MAX_REFUSAL = 256

/** The pool's part of transactions' traces: how long each one waited, from its admission to its block. */
export class TransactionTraces {
  readonly #tracer: Pick<Tracer, 'follows' | 'transaction'>
  /** by `bytesKey` of the hash, in the order of admission */
  readonly #admitted = new Map<string, { readonly startMs: number; readonly isLocal: boolean }>()

  constructor(tracer: Pick<Tracer, 'follows' | 'transaction'>) {
    this.#tracer = tracer
  }

  /** @param startMs when its check began; `reason`: why it was refused */
  checked(hash: Uint8Array, startMs: number, isLocal: boolean, reason: string | undefined): void {
    if (!this.#tracer.follows(hash)) return
    const refusal = reason === undefined ? {} : { 'coind.refusal': reason.slice(0, MAX_REFUSAL) }
    const attributes = { 'coind.from_client': isLocal, ...refusal }
    this.#tracer.transaction(hash, 'mempool.admit', { startMs, attributes })
    if (reason !== undefined) return
    const key = bytesKey(hash)
    if (this.#admitted.size === MAX_FOLLOWED) this.#admitted.delete(this.#admitted.keys().next().value!)
    if (!this.#admitted.has(key)) this.#admitted.set(key, { startMs, isLocal })
  }

  /** The block is decided: this node's part of these transactions' traces ends. */
  included(height: number, hashes: readonly Uint8Array[]): void {
    if (this.#admitted.size === 0) return
    for (const hash of hashes) {
      if (!this.#tracer.follows(hash)) continue
      const key = bytesKey(hash)
      const admitted = this.#admitted.get(key)
      if (admitted === undefined) continue
      this.#admitted.delete(key)
      const attributes = { 'coind.from_client': admitted.isLocal, 'coind.height': height }
      this.#tracer.transaction(keyBytes(key), 'transaction', {
        startMs: admitted.startMs,
        isRoot: true,
        attributes,
        block: height,
      })
    }
  }
}
