import type { ServerResponse } from 'node:http'

interface PendingResponseLimits {
  /** bytes of all answers that clients have not read yet */
  readonly totalBytes: number
  /** milliseconds in which a client has to read its answer */
  readonly writeMs: number
}

/** The answers that are on their way to HTTP clients. */
export interface PendingResponses {
  track(response: ServerResponse, bytes: number): void
  /** Counts an answer until the returned function is called; `destroy` closes its connection. */
  hold(response: Destroyable, bytes: number): () => void
  close(): void
}

interface Destroyable {
  destroy(): unknown
}

interface Pending {
  readonly response: Destroyable
  readonly bytes: number
  readonly sinceMs: number
}

const CHECK_INTERVAL_MS = 1_000

/**
 * Limits the memory of answers to slow readers: the connection of an answer that is not read in time is closed, and those of the oldest
 * answers when all together are too large.
 */
export function createPendingResponses({ totalBytes, writeMs }: PendingResponseLimits): PendingResponses {
  /** in the order in which they were sent */
  const pending = new Set<Pending>()
  let total = 0

  const remove = (entry: Pending): void => {
    if (pending.delete(entry)) total -= entry.bytes
  }
  const giveUp = (entry: Pending): void => {
    remove(entry)
    entry.response.destroy()
  }
  const checks = setInterval(() => {
    const nowMs = performance.now()
    for (const entry of pending) {
      if (nowMs - entry.sinceMs <= writeMs) return
      giveUp(entry)
    }
  }, CHECK_INTERVAL_MS).unref()

  const hold = (response: Destroyable, bytes: number): (() => void) => {
    const entry = { response, bytes, sinceMs: performance.now() }
    pending.add(entry)
    total += bytes
    for (const oldest of pending) {
      if (total <= totalBytes || oldest === entry) break
      giveUp(oldest)
    }
    return () => remove(entry)
  }

  return {
    track: (response, bytes) => {
      const release = hold(response, bytes)
      // `finish`: the operating system has all of it; `close`: the connection is gone
      response.once('finish', release)
      response.once('close', release)
    },
    hold,
    close: () => clearInterval(checks),
  }
}
