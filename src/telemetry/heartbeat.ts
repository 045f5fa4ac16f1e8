import { bytesToHex } from '../primitives/bytes.ts'
import { type Ed25519Key, signEd25519 } from '../primitives/ed25519.ts'
import { HEARTBEAT_HEADERS, heartbeatMessage } from './heartbeatSignature.ts'
import type { Logger } from './logger.ts'

/** A node's report to an explorer: the JSON body of each POST, described in docs/operations.md. */
export interface HeartbeatBody {
  readonly moniker: string
  readonly network: string
  /** native chain ID */
  readonly chain_id: string
  readonly evm_chain_id: number
  /** as in /rpc/status */
  readonly node_id: string
  /** software version */
  readonly version: string
  /** of the newest block */
  readonly height: number
  /** Ethereum hash of the newest block, 0x… */
  readonly block_hash: string
  /** time of the newest block, RFC 3339 */
  readonly block_time: string
  readonly peers: number
  /** PUBLIC_RPC_URL; null when it is not set */
  readonly rpc_address: string | null
}

/** After the first report that is not taken. */
const FIRST_RETRY_MS = 1_000
/** Longest body of a refusal that is read, in characters. */
const MAX_REASON = 1_000

interface HeartbeatOptions {
  readonly url: string
  readonly status: () => HeartbeatBody
  /** the node key, by which the explorer knows that the report is of the node whose ID is in it */
  readonly key: Pick<Ed25519Key, 'publicKey' | 'keyObject'>
  readonly logger: Pick<Logger, 'debug' | 'warn' | 'info'>
  readonly intervalMs?: number
  /** time after which a request is aborted */
  readonly timeoutMs?: number
}

interface Heartbeat {
  /** Ends the reports; one that is under way is aborted. */
  stop(): void
}

/**
 * Reports to an explorer at once and then every `intervalMs` (30 s), never two reports at a time. Until the first one is taken it tries
 * again sooner, after 1 s, 2 s and so on: the explorer may be starting, too. A failure does not matter to the node: the first in a row
 * is logged as a warning (of the very first reports the second), further ones at debug level. The URL is not logged, as it may hold a
 * token.
 */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { intervalMs = 30_000, timeoutMs = 5_000, logger } = options
  const stopped = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isFailing = false
  let hasReported = false
  let firstFailures = 0

  const beat = async (): Promise<void> => {
    try {
      await report(options, AbortSignal.any([stopped.signal, AbortSignal.timeout(timeoutMs)]))
      if (isFailing) logger.info('the explorer accepts heartbeats again')
      isFailing = false
      hasReported = true
    } catch (error) {
      if (stopped.signal.aborted) return
      if (!hasReported) firstFailures++
      const isQuiet = isFailing || (!hasReported && firstFailures === 1)
      logger[isQuiet ? 'debug' : 'warn']({ reason: reasonOf(error) }, 'the explorer did not take the heartbeat')
      isFailing = !isQuiet || isFailing
    }
    if (stopped.signal.aborted) return
    const waitMs = hasReported ? intervalMs : Math.min(intervalMs, FIRST_RETRY_MS * 2 ** (firstFailures - 1))
    timer = setTimeout(beat, waitMs).unref()
  }
  void beat()
  return {
    stop: () => {
      stopped.abort()
      clearTimeout(timer)
    },
  }
}

async function report(
  { url, status, key }: Pick<HeartbeatOptions, 'url' | 'status' | 'key'>,
  signal: AbortSignal,
): Promise<void> {
  const body = Buffer.from(JSON.stringify(status()))
  const time = new Date().toISOString()
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      [HEARTBEAT_HEADERS.key]: bytesToHex(key.publicKey).slice(2),
      [HEARTBEAT_HEADERS.time]: time,
      [HEARTBEAT_HEADERS.signature]: bytesToHex(signEd25519(key, heartbeatMessage(time, body))).slice(2),
    },
    body,
    signal,
  })
  if (response.ok) return response.body?.cancel()
  throw new Error(`HTTP status ${response.status}${await readReason(response)}`)
}

/** Returns why the explorer refuses the report, if it says so: operators look for it in the log. */
async function readReason(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true })
    if (text.length > MAX_REASON) return ''
  }
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown }
    return typeof error === 'string' ? `: ${error.replaceAll(/\p{C}/gu, ' ')}` : ''
  } catch {
    return ''
  }
}

/** Returns a short reason without the URL. The useful part of a failed fetch is the cause of its error. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  const code = (cause as NodeJS.ErrnoException).code
  return typeof code === 'string' ? code : cause.message
}
