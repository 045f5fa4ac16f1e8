import { once } from 'node:events'
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import { gunzipSync } from 'node:zlib'

/** What a call of gRPC was answered with. */
export interface GrpcAnswer {
  /** the first message; undefined where there is none */
  readonly message: Uint8Array | undefined
  /** all messages of a stream */
  readonly messages: readonly Uint8Array[]
  /** `grpc-status`, a number */
  readonly status: number
  /** `grpc-message` */
  readonly text: string
  readonly headers: Readonly<Record<string, unknown>>
}

/** A message in its frame: whether it is compressed, its length, its bytes. */
export function frame(message: Uint8Array, isCompressed = false): Buffer {
  const head = Buffer.alloc(5)
  head[0] = isCompressed ? 1 : 0
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** The messages in a sequence of frames. */
export function readFrames(bytes: Buffer): Uint8Array[] {
  const out: Uint8Array[] = []
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    const message = bytes.subarray(at + 5, end)
    out.push((bytes[at]! & 1) === 1 ? gunzipSync(message) : message)
    at = end
  }
  return out
}

/** Calls by the protocol's own words (grpc/grpc, doc/PROTOCOL-HTTP2.md), over Node.js's HTTP/2 alone. */
export async function grpcCall(
  session: ClientHttp2Session,
  path: string,
  body: Buffer,
  headers: OutgoingHttpHeaders = {},
): Promise<GrpcAnswer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  let answered: Record<string, unknown> = {}
  let trailers: Record<string, unknown> = {}
  stream.on('response', (given) => {
    answered = given
  })
  stream.on('trailers', (given) => {
    trailers = given
  })
  const parts: Buffer[] = []
  stream.on('data', (part: Buffer) => parts.push(part))
  stream.end(body)
  await once(stream, 'close')
  const all = { ...answered, ...trailers }
  const messages = readFrames(Buffer.concat(parts))
  return {
    message: messages[0],
    messages,
    status: Number(all['grpc-status'] ?? Number.NaN),
    text: decodeURIComponent(String(all['grpc-message'] ?? '')),
    headers: all,
  }
}

export async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`)
  await once(session, 'connect')
  return session
}
