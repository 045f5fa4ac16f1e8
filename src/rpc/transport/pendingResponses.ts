import type { ServerResponse } from 'node:http'

interface PendingResponseLimits {
  /** most bytes of all answers that clients have not read yet */
  readonly totalBytes: number
  /** milliseconds in which a client has to read its answer */
  readonly writeMs: number
}

/** The answers that are being sent to HTTP clients. */
export interface PendingResponses {
  track(response: ServerResponse, bytes: number, client: string): void
  /** Counts an answer to `client` until the returned function is called; `destroy` closes its connection. */
  hold(response: Destroyable, bytes: number, client: string): () => void
  close(): void
}

interface Destroyable {
  destroy(): unknown
}

interface Pending {
  readonly response: Destroyable
  readonly bytes: number
  readonly client: string
  readonly sinceMs: number
}

/** The answers to one client, in the order in which they were sent. */
interface PendingOfClient {
  readonly entries: Set<Pending>
  bytes: number
}

const CHECK_INTERVAL_MS = 1_000

/**
 * Limits the memory of answers to slow readers. The connection of an answer that is not read in
 * time is closed. When all answers together are too large, the client with the most bytes loses its
 * connections, oldest answers first.
 */
export function createPendingResponses({ totalBytes, writeMs }: PendingResponseLimits): PendingResponses {
  /** in the order in which they were sent */
  const pending = new Set<Pending>()
  const byClient = new Map<string, PendingOfClient>()
  let total = 0

  const add = (entry: Pending): void => {
    const own = byClient.get(entry.client) ?? { entries: new Set(), bytes: 0 }
    byClient.set(entry.client, own)
    own.entries.add(entry)
    own.bytes += entry.bytes
    pending.add(entry)
    total += entry.bytes
  }
  const remove = (entry: Pending): void => {
    if (!pending.delete(entry)) return
    total -= entry.bytes
    const own = byClient.get(entry.client)!
    own.entries.delete(entry)
    own.bytes -= entry.bytes
    if (own.entries.size === 0) byClient.delete(entry.client)
  }
  /** Returns the oldest answer of the client with the most bytes; never `newest`. */
  const worst = (newest: Pending): Pending | undefined => {
    let most: PendingOfClient | undefined
    for (const own of byClient.values()) {
      const hasOthers = own.entries.size > 1 || !own.entries.has(newest)
      if (hasOthers && own.bytes > (most?.bytes ?? -1)) most = own
    }
    return most?.entries.values().next().value
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

  const hold = (response: Destroyable, bytes: number, client: string): (() => void) => {
    const entry = { response, bytes, client, sinceMs: performance.now() }
    add(entry)
    while (total > totalBytes) {
      const loser = worst(entry)
      if (loser === undefined) break
      giveUp(loser)
    }
    return () => remove(entry)
  }

  return {
    track: (response, bytes, client) => {
      const release = hold(response, bytes, client)
      // `finish`: the operating system has the whole answer; `close`: the connection is gone.
      response.once('finish', release)
      response.once('close', release)
    },
    hold,
    close: () => clearInterval(checks),
  }
}
