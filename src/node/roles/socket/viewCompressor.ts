import { monotonicMs } from '../../../rpc/jsonrpc/callScope.ts'
import type { Compressor, Encoding } from '../../../rpc/transport/compression.ts'
import { ThreadStopped } from '../../wire/port.ts'
import { createHeavyQueue, TaskDropped } from '../view/heavyQueue.ts'

/** The part of a view thread that compresses answers. Work whose `signal` is aborted stops at its next turn. */
interface RemoteCompressor {
  compress(encoding: Encoding, bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
}

interface ViewCompressorOptions {
  /**
   * most answers of one socket thread that are compressed at a time, of all clients and of one:
   * each is in memory twice
   */
  readonly maxRunning?: { readonly all: number; readonly client: number }
  /** bytes of the answers that are being compressed or wait for it */
  readonly maxBytes?: number
  /** milliseconds from the answer to its compressed form, with {@link BYTES_PER_MS} */
  readonly waitMs?: number
}

/**
 * A longer answer may wait longer, because its own compression takes longer: gzip makes twice as
 * many bytes per millisecond.
 */
const BYTES_PER_MS = 32_768

const DEFAULTS = {
  maxRunning: { all: 4, client: 2 },
  maxBytes: 64 * 1_048_576,
  waitMs: 250,
} as const satisfies ViewCompressorOptions

/**
 * Compresses answers in the view threads; with more than one, not in the first, which admits
 * transactions. Clients take turns. An answer that cannot be compressed in time is sent
 * uncompressed: when view threads are busy, compression costs a client no more than the wait.
 */
export function createViewCompressor(
  views: readonly RemoteCompressor[],
  options: ViewCompressorOptions = {},
): Compressor {
  const { maxRunning, maxBytes, waitMs } = { ...DEFAULTS, ...options }
  const [first, ...others] = views
  if (first === undefined) throw new Error('there is no view thread')
  const threads = (others.length > 0 ? others : [first]).map((view) => ({ view, running: 0 }))
  const queue = createHeavyQueue({ maxRunning: { ...maxRunning, traces: 0 }, maxWaitingBytes: maxBytes, monotonicMs })
  let heldBytes = 0

  const run = async (encoding: Encoding, bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array> => {
    const chosen = threads.reduce((best, thread) => (thread.running < best.running ? thread : best))
    chosen.running++
    try {
      return await chosen.view.compress(encoding, bytes, signal)
    } finally {
      chosen.running--
    }
  }

  return {
    compress: async (encoding, { length, read }, { client, signal: left }) => {
      if (heldBytes > 0 && heldBytes + length > maxBytes) return undefined
      // One controller for both ends of the wait. Node.js retains what `AbortSignal.any` makes, and the answer with it, while it has a
      // listener and is not aborted; a connection's signal lasts for many answers.
      const end = new AbortController()
      const { signal } = end
      const abort = (): void => end.abort()
      if (left.aborted) abort()
      left.addEventListener('abort', abort)
      const mostMs = waitMs + length / BYTES_PER_MS
      const timer = setTimeout(abort, mostMs)
      heldBytes += length
      const place = { client, kind: 'heavy', bytes: () => length, deadlineMs: monotonicMs() + mostMs, signal } as const
      const running = queue
        .run(place, () => run(encoding, read(), signal))
        .finally(() => {
          heldBytes -= length
        })
      // The answer does not wait for a thread that is busy with something long; its place in the
      // queue does.
      const ended = new Promise<undefined>((resolve) => {
        if (signal.aborted) resolve(undefined)
        signal.addEventListener('abort', () => resolve(undefined), { once: true })
      })
      try {
        return await Promise.race([running.catch((error: unknown) => unlessDropped(error, signal)), ended])
      } finally {
        clearTimeout(timer)
        left.removeEventListener('abort', abort)
      }
    },
  }
}

/** Ignores errors that leave an answer uncompressed. @throws every other error */
function unlessDropped(error: unknown, signal: AbortSignal): undefined {
  if (signal.aborted || error instanceof TaskDropped || error instanceof ThreadStopped) return undefined
  throw error
}
