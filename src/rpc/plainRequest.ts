import { JSON_TYPES, mediaType } from './httpChecks.ts'

/** What matters of a request's head. */
export interface PlainHead {
  /** the head as it came, without the empty line */
  readonly text: string
  readonly contentLength: number
  readonly acceptEncoding: string | undefined
}

/** A whole request at the start of what a connection received. */
export interface PlainRequest {
  readonly head: PlainHead
  readonly body: string
  /** bytes that it takes */
  readonly length: number
}

const REQUEST_LINE = 'POST / HTTP/1.1\r\n'
const HEAD_END = Buffer.from('\r\n\r\n')
const HEADER = /^([\w-]+): ?([\x20-\x7e]*)$/
/** A longer head is not read here. */
const MAX_HEAD_BYTES = 4_096

/** Headers that change how a request is to be read or answered. */
const SPECIAL_HEADERS = new Set([
  'transfer-encoding',
  'content-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'origin',
  'proxy-connection',
])

/**
 * Reads a `POST /` of JSON as programs send it: a few well-formed headers, the length announced, the connection kept. `known` is
 * the last head of the connection, as most heads of a connection are the same. Gives `incomplete` when more bytes are to
 * come, and `other` for any request that needs, or may need, more than this of an HTTP server: also for every faulty one.
 */
export function readPlainRequest(
  bytes: Buffer,
  maxBodyBytes: number,
  known: PlainHead | undefined,
): PlainRequest | 'incomplete' | 'other' {
  const headLength = bytes.indexOf(HEAD_END)
  if (headLength < 0) {
    const start = bytes.toString('latin1', 0, REQUEST_LINE.length)
    return bytes.length <= MAX_HEAD_BYTES && REQUEST_LINE.startsWith(start) ? 'incomplete' : 'other'
  }
  if (headLength > MAX_HEAD_BYTES) return 'other'
  const text = bytes.toString('latin1', 0, headLength)
  const head = text === known?.text ? known : readHead(text)
  if (head === undefined || head.contentLength > maxBodyBytes) return 'other'
  const start = headLength + HEAD_END.length
  const length = start + head.contentLength
  if (bytes.length < length) return 'incomplete'
  return { head, body: bytes.toString('utf8', start, length), length }
}

function readHead(text: string): PlainHead | undefined {
  if (!text.startsWith(REQUEST_LINE)) return undefined
  const values = new Map<string, string>()
  for (const line of text.slice(REQUEST_LINE.length).split('\r\n')) {
    const [, name, value] = HEADER.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    const key = name.toLowerCase()
    if (SPECIAL_HEADERS.has(key) || values.has(key)) return undefined
    values.set(key, value.trim())
  }
  const length = values.get('content-length')
  if (length === undefined || !/^\d{1,9}$/.test(length)) return undefined
  if (!values.get('host')) return undefined
  if (!JSON_TYPES.has(mediaType(values.get('content-type')))) return undefined
  if ((values.get('connection') ?? 'keep-alive').toLowerCase() !== 'keep-alive') return undefined
  return { text, contentLength: Number(length), acceptEncoding: values.get('accept-encoding') }
}
