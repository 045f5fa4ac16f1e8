import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { httpUrl, text } from '../../src/config/valueKind.ts'
import { decodeUtf8, hexToBytes } from '../../src/primitives/bytes.ts'
import { ed25519Address, verifyEd25519 } from '../../src/primitives/ed25519.ts'
import { HEARTBEAT_HEADERS, heartbeatMessage } from '../../src/telemetry/heartbeatSignature.ts'

/** How far the clock of a node may be from that of the explorer. */
const MAX_CLOCK_OFFSET_MS = 120_000
const MAX_HEIGHT = 2 ** 40
const MAX_PEERS = 100_000
const MAX_URL = 300

/** `HeartbeatBody` of src/telemetry/heartbeat.ts. Fields that a later version adds are left out. */
const bodySchema = z.object({
  moniker: text(70).schema,
  network: text(32).schema,
  chain_id: text(64).schema,
  evm_chain_id: z.int().min(0),
  node_id: z.string().regex(/^[0-9a-f]{40}$/, 'must be 40 hex digits'),
  version: text(64).schema,
  height: z.int().min(0).max(MAX_HEIGHT),
  block_hash: z.string().regex(/^0x[0-9a-f]{64}$/, 'must be 0x followed by 64 hex digits'),
  block_time: z.iso.datetime(),
  peers: z.int().min(0).max(MAX_PEERS),
  rpc_address: z
    .string()
    .max(MAX_URL)
    .pipe(httpUrl.schema)
    .refine((url) => !hasCredentials(url), 'must not have a user or password')
    .nullable(),
})

/** A node's report about itself. It may be false; a signature proves only that the node with this ID sent it. */
export interface Report {
  readonly moniker: string
  readonly chainId: string
  readonly evmChainId: number
  readonly nodeId: Uint8Array
  readonly version: string
  readonly height: number
  readonly blockHash: Uint8Array
  readonly blockTimeMs: number
  readonly peers: number
  readonly rpcAddress: string | null
  /** when it was signed; undefined: it is not signed */
  readonly signedAtMs: number | undefined
}

/** Why a report is refused: an HTTP status, and a line for the operator of the node. */
export interface ReportRefusal {
  readonly status: 400 | 401 | 429 | 503
  readonly error: string
}

/** Reads a heartbeat as docs/operations.md describes it, and checks its signature, if it has one. */
export function readReport(body: Uint8Array, headers: IncomingHttpHeaders, nowMs: number): Report | ReportRefusal {
  const parsed = bodySchema.safeParse(parseJson(body))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { status: 400, error: `${issue!.path.join('.') || 'the report'}: ${issue!.message}` }
  }
  const { data } = parsed
  const nodeId = hexToBytes(`0x${data.node_id}`)
  const signedAtMs = checkSignature(body, headers, nodeId, nowMs)
  if (typeof signedAtMs === 'object') return signedAtMs
  const blockTimeMs = Date.parse(data.block_time)
  if (!(blockTimeMs >= 0 && blockTimeMs <= nowMs + MAX_CLOCK_OFFSET_MS)) {
    return { status: 400, error: 'block_time: must be between 1970 and now' }
  }
  return {
    moniker: data.moniker,
    chainId: data.chain_id,
    evmChainId: data.evm_chain_id,
    nodeId,
    version: data.version,
    height: data.height,
    blockHash: hexToBytes(data.block_hash),
    blockTimeMs,
    peers: data.peers,
    rpcAddress: data.rpc_address,
    signedAtMs,
  }
}

/** @returns when the report was signed, undefined when it is not, or why its signature is not taken */
function checkSignature(
  body: Uint8Array,
  headers: IncomingHttpHeaders,
  nodeId: Uint8Array,
  nowMs: number,
): number | undefined | ReportRefusal {
  const names = [HEARTBEAT_HEADERS.key, HEARTBEAT_HEADERS.time, HEARTBEAT_HEADERS.signature]
  const [key, time, signature] = names.map((name) => headers[name])
  if (key === undefined && time === undefined && signature === undefined) return undefined
  if (typeof key !== 'string' || typeof time !== 'string' || typeof signature !== 'string') {
    return { status: 400, error: `a signed report must have each of the headers ${names.join(', ')} once` }
  }
  if (!/^[0-9a-f]{64}$/.test(key) || !/^[0-9a-f]{128}$/.test(signature)) {
    return { status: 400, error: 'the key must be 64 hex digits and the signature 128' }
  }
  const timeMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time) ? Date.parse(time) : Number.NaN
  if (Number.isNaN(timeMs)) {
    return { status: 400, error: `${HEARTBEAT_HEADERS.time} must be a time such as 2026-01-01T00:00:00.000Z` }
  }
  if (Math.abs(timeMs - nowMs) > MAX_CLOCK_OFFSET_MS) {
    return {
      status: 401,
      error: "the report's signing time is more than 2 minutes off: check the node's clock",
    }
  }
  const publicKey = hexToBytes(`0x${key}`)
  if (!Buffer.from(ed25519Address(publicKey)).equals(nodeId)) {
    return { status: 401, error: 'node_id is not the ID of the signing key' }
  }
  if (!isSigned(publicKey, heartbeatMessage(time, body), hexToBytes(`0x${signature}`))) {
    return { status: 401, error: 'the signature is wrong for this key, body and time' }
  }
  return timeMs
}

function isSigned(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verifyEd25519(publicKey, message, signature)
  } catch {
    // OpenSSL takes no key that is not a point of the curve.
    return false
  }
}

/** @returns undefined for invalid JSON, which the schema refuses */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(decodeUtf8(body) ?? '')
  } catch {
    return undefined
  }
}

function hasCredentials(url: string): boolean {
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}
