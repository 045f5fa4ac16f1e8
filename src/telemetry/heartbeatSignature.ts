import { concatBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'

/** The headers of a signed heartbeat: docs/operations.md. */
export const HEARTBEAT_HEADERS = {
  /** the node key's public part, 64 hex digits */
  key: 'coind-node-key',
  /** when the report was signed, RFC 3339 in UTC with milliseconds */
  time: 'coind-report-time',
  /** 128 hex digits */
  signature: 'coind-report-signature',
} as const

/** Nothing else that a node key signs begins like this: a signature of a heartbeat is good for nothing else. */
const DOMAIN = 'coind heartbeat v1'

/**
 * Returns the text that the node key signs for a report: `coind heartbeat v1`, a line feed, the
 * text of the time header, a line feed, and the 32 bytes of the body's SHA-256.
 * @param time the header's text, as it was sent
 * @param body the bytes of the request's body, as they were sent
 */
export function heartbeatMessage(time: string, body: Uint8Array): Uint8Array {
  return concatBytes(Buffer.from(`${DOMAIN}\n${time}\n`), sha256(body))
}
