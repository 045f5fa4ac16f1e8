import { isLoopback } from '../../config/clientAddress.ts'

/** Counts the requests of each client. */
export interface RateLimit {
  /**
   * Counts a request of `bytes` bytes (of its body or message) before it is read. Returns 0 when it
   * is admitted, otherwise the whole seconds after which the client may come again.
   */
  admit(client: string, bytes: number): number
  /**
   * Counts the remaining calls of an admitted batch: in full, even when the client has fewer left.
   */
  charge(client: string, calls: number): void
}

interface RateLimitOptions {
  /** requests per second of a client; 0: no limit */
  readonly perSecond: number
  /** seconds for which a quiet client may save up requests */
  readonly burstSeconds?: number
  /** most clients that are remembered */
  readonly clients?: number
  /** milliseconds of a monotonic clock */
  readonly now?: () => number
  /** called for each request that is refused */
  readonly onRefused?: () => void
}

/** A page that opens, or an indexer that catches up, sends many requests at once. */
const DEFAULT_BURST_SECONDS = 10
/** Each further piece of this size counts as one more request: long texts take time to read. */
const BYTES_PER_REQUEST = 65_536
const DEFAULT_CLIENTS = 50_000

/** A client's remaining requests; below zero when it has used them in advance. */
interface Bucket {
  tokens: number
  /** when `tokens` was current */
  atMs: number
}

/**
 * Creates a token bucket for each client, except those on the node's own machine. A full bucket is
 * not remembered, and when there are too many buckets, the least recently used one is forgotten: a
 * client with very many addresses can have more than its share, but no more memory.
 */
export function createRateLimit({
  perSecond,
  burstSeconds = DEFAULT_BURST_SECONDS,
  clients = DEFAULT_CLIENTS,
  now = () => performance.now(),
  onRefused,
}: RateLimitOptions): RateLimit {
  const capacity = perSecond * burstSeconds
  /** in the order of their last use, oldest first */
  const buckets = new Map<string, Bucket>()

  const tokensAt = ({ tokens, atMs }: Bucket, nowMs: number): number =>
    Math.min(capacity, tokens + ((nowMs - atMs) * perSecond) / 1000)
  const take = (client: string, tokens: number, nowMs: number): void => {
    buckets.delete(client)
    buckets.set(client, { tokens, atMs: nowMs })
    for (const [oldest, bucket] of buckets) {
      if (buckets.size <= clients && tokensAt(bucket, nowMs) < capacity) return
      buckets.delete(oldest)
    }
  }
  const tokensOf = (client: string, nowMs: number): number => {
    const bucket = buckets.get(client)
    return bucket === undefined ? capacity : tokensAt(bucket, nowMs)
  }
  const isFree = (client: string): boolean => perSecond === 0 || isLoopback(client)

  return {
    admit: (client, bytes) => {
      if (isFree(client)) return 0
      const nowMs = now()
      const tokens = tokensOf(client, nowMs)
      if (tokens >= 1) {
        take(client, tokens - 1 - Math.floor(bytes / BYTES_PER_REQUEST), nowMs)
        return 0
      }
      onRefused?.()
      return Math.max(1, Math.ceil((1 - tokens) / perSecond))
    },
    charge: (client, calls) => {
      if (calls === 0 || isFree(client)) return
      const nowMs = now()
      take(client, tokensOf(client, nowMs) - calls, nowMs)
    },
  }
}
