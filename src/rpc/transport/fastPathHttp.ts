import type { Socket } from 'node:net'
import { type ClientAddresses, forwardedFor } from '../../config/clientAddress.ts'
import { type CallScope, createCaller, monotonicMs, scopeOf } from '../jsonrpc/callScope.ts'
import { type AnswerText, answerLength } from '../jsonrpc/resultText.ts'
import type { CompressedAnswer, Encoding } from './compression.ts'
import { JSON_TYPES, mediaType } from './httpMessages.ts'
import type { PendingResponses } from './pendingResponses.ts'

/** The client has to wait: an answer with the status 429. */
interface Refusal {
  readonly json: string | undefined
  readonly retryAfterSeconds: number
}

interface FastPathHttpOptions {
  /**
   * Returns the JSON text of the answer to the text of a request; undefined when it has no answer.
   * Never rejects.
   */
  readonly answer: (text: string, scope: CallScope) => Promise<AnswerText | undefined>
  readonly clients: Pick<ClientAddresses, 'of'>
  /** Returns the reason why a request is refused; undefined when it is not. */
  readonly refuse: (text: string, client: string) => Refusal | undefined
  /**
   * Compresses the answer for a client with this Accept-Encoding header; undefined: it is sent
   * uncompressed. Never rejects.
   */
  readonly compress: (
    answer: AnswerText,
    acceptEncoding: string | undefined,
    caller: () => Pick<CallScope, 'client' | 'signal'>,
  ) => Promise<CompressedAnswer | undefined> | undefined
  /** Whether the encoding of an answer of this length depends on Accept-Encoding. */
  readonly varies: (bytes: number) => boolean
  /**
   * Hands a connection over to the full server; bytes that were read but not answered are put back.
   */
  readonly handOver: (socket: Socket) => void
  /**
   * header lines of an answer, each with its line end: without Vary, with Vary, and of a compressed
   * answer
   */
  readonly headers: {
    readonly plain: string
    readonly varying: string
    readonly compressed: (encoding: Encoding) => string
  }
  /** milliseconds until an idle connection is closed */
  readonly idleMs: number
  readonly pending: Pick<PendingResponses, 'hold'>
}

/** Connections that have sent only simple requests so far. */
export interface FastPathHttp {
  take(socket: Socket): void
  /** Ends idle connections at once and the others after their answer. */
  close(): void
  /** Ends all connections at once. */
  destroy(): void
}

/** Longer bodies go to the full server, which reads them piece by piece. */
const MAX_BODY_BYTES = 131_072
/**
 * A request in more pieces goes to the full server, so that its bytes are not copied again and
 * again.
 */
const MAX_PIECES = 8
const OK = '200 OK'
/** Requests of one connection that are answered at the same time. */
const MAX_REPLIES = 32
/** Up to this length an answer and its head are written as one string. */
const SHORT_BYTES = 65_536
const CHECK_INTERVAL_MS = 1_000

/**
 * Answers the requests that make up almost all traffic, `POST /` with a short body on a persistent
 * connection, at a third of the cost of Node.js's HTTP server. The first request of a connection
 * that is of another kind, slow or faulty moves the connection to that server permanently, so the
 * rules of HTTP beyond the simple case are in one place.
 */
export function createFastPathHttp(options: FastPathHttpOptions): FastPathHttp {
  const connections = new Set<Connection>()
  let isClosing = false
  const checks = setInterval(() => {
    const nowMs = performance.now()
    for (const connection of connections) connection.check(nowMs)
  }, CHECK_INTERVAL_MS).unref()
  return {
    take: (socket) => {
      if (isClosing) return void socket.destroy()
      connections.add(new Connection(socket, options, (connection) => connections.delete(connection)))
    },
    close: () => {
      isClosing = true
      clearInterval(checks)
      for (const connection of connections) connection.close()
    },
    destroy: () => {
      for (const connection of connections) connection.destroy()
    },
  }
}

/** A request's answer; answers are sent in the order in which the requests came. */
interface Reply {
  /** start of the head: the status and headers that only this answer has */
  readonly status: string
  readonly acceptEncoding: string | undefined
  /** undefined until the answer is ready */
  content: AnswerText | CompressedAnswer | undefined
}

class Connection {
  readonly #socket: Socket
  readonly #options: FastPathHttpOptions
  readonly #onRelease: (connection: Connection) => void
  readonly #caller = createCaller()
  /** received bytes that are not read yet */
  #received: Buffer | undefined
  /** when the newest of these bytes came: nothing more is read while requests wait */
  #receivedMs = 0
  #pieces = 0
  #head: RequestHead | undefined
  /** the client that requests with this head count for */
  #client = ''
  /**
   * replies to the requests that are being answered: a client may send the next request before it
   * has the answer (RFC 9112, 9.3.2)
   */
  readonly #replies: Reply[] = []
  #isFlushing = false
  /** answers that the operating system has not taken yet */
  #writes = 0
  #hasServed = false
  /** whether the next request is for the full server */
  #isLeaving = false
  /** whether the client has stopped sending */
  #isEnding = false
  /** whether the server is closing */
  #isClosing = false
  /** when the connection started to wait for a request */
  #sinceMs = performance.now()

  constructor(socket: Socket, options: FastPathHttpOptions, onRelease: (connection: Connection) => void) {
    this.#socket = socket
    this.#options = options
    this.#onRelease = onRelease
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', ignoreError)
    socket.on('close', this.#onClose)
  }

  /**
   * Hands over a connection that sends a request slowly, and ends one that is idle for too long.
   */
  check(nowMs: number): void {
    if (this.#isBusy()) return
    const waitedMs = nowMs - this.#sinceMs
    if (this.#received !== undefined || !this.#hasServed) {
      if (waitedMs >= CHECK_INTERVAL_MS) this.#handOver()
    } else if (waitedMs > this.#options.idleMs) {
      this.#socket.destroy()
    }
  }

  close(): void {
    this.#isClosing = true
    if (!this.#isBusy()) this.#socket.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #isBusy(): boolean {
    return this.#replies.length > 0 || this.#writes > 0
  }

  /** Whether one more request of the connection may be answered now. */
  #hasRoom(): boolean {
    return this.#replies.length < MAX_REPLIES && this.#socket.writableLength <= SHORT_BYTES
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#received = this.#received === undefined ? bytes : Buffer.concat([this.#received, bytes])
    this.#receivedMs = monotonicMs()
    this.#pieces++
    this.#read()
  }

  /**
   * When the client stops sending it is treated as gone, as by Node.js's server and geth: a closed
   * connection cannot be told from a half-closed one whose client still waits. Answers that are
   * being sent are completed.
   */
  readonly #onEnd = (): void => {
    this.#isEnding = true
    this.#caller.leave()
    if (!this.#isBusy()) this.#socket.end()
  }

  readonly #onClose = (): void => {
    this.#received = undefined
    this.#caller.leave()
    this.#onRelease(this)
  }

  /** Starts to answer the received requests while there is room. */
  #read(): void {
    if (this.#isLeaving || this.#isClosing) return
    while (this.#received !== undefined) {
      if (!this.#hasRoom()) {
        this.#socket.pause()
        return
      }
      const request = readFastPathRequest(this.#received, MAX_BODY_BYTES, this.#head)
      if (request === 'other' || (request === 'incomplete' && this.#pieces >= MAX_PIECES)) {
        this.#leave()
        return
      }
      if (request === 'incomplete') break
      const { head, body, length } = request
      if (head !== this.#head) {
        this.#head = head
        this.#client = this.#options.clients.of(this.#socket.remoteAddress, head.forwardedFor)
      }
      this.#received = this.#received.length === length ? undefined : this.#received.subarray(length)
      this.#pieces = this.#received === undefined ? 0 : 1
      this.#answer(body, head)
    }
    if (this.#socket.isPaused()) this.#socket.resume()
  }

  #answer(body: string, { acceptEncoding }: RequestHead): void {
    const refusal = this.#options.refuse(body, this.#client)
    const reply: Reply = {
      status: refusal === undefined ? OK : tooManyRequests(refusal),
      acceptEncoding,
      content: undefined,
    }
    this.#replies.push(reply)
    const answering: Promise<AnswerText | undefined> =
      refusal === undefined
        ? this.#options.answer(body, scopeOf(this.#client, this.#caller.signal, this.#receivedMs))
        : Promise.resolve(refusal.json)
    const client = this.#client
    void answering.then((answer = '') => {
      const caller = () => ({ client, signal: this.#caller.signal })
      const compressing = this.#options.compress(answer, acceptEncoding, caller)
      if (compressing === undefined) this.#finish(reply, answer)
      else void compressing.then((compressed) => this.#finish(reply, compressed ?? answer))
    })
  }

  #finish(reply: Reply, content: AnswerText | CompressedAnswer): void {
    reply.content = content
    if (this.#replies[0] !== reply || this.#isFlushing) return
    if (this.#replies.length === 1) {
      this.#flush()
      return
    }
    // Answers that are ready together are written together.
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  /** Writes the answers that are ready and whose turn has come. */
  #flush(): void {
    let text = ''
    while (this.#replies[0]?.content !== undefined) {
      const { status, content } = this.#replies.shift()!
      const answer = typeof content === 'string' ? this.#shortAnswer(status, content) : undefined
      if (answer !== undefined && text.length <= SHORT_BYTES) {
        text += answer
        continue
      }
      if (text.length > 0) this.#write(text)
      text = answer ?? ''
      if (answer === undefined) this.#writeLong(status, content!)
    }
    if (text.length > 0) this.#write(text)
    this.#read()
  }

  /**
   * Returns head and answer as one text, when the answer is short and ASCII, so that it is written
   * without a conversion; else undefined.
   */
  #shortAnswer(status: string, json: string): string | undefined {
    if (json.length > SHORT_BYTES || Buffer.byteLength(json) !== json.length) return undefined
    return `${this.#headWith(status, this.#headersOf(json.length), json.length)}${json}`
  }

  #write(text: string): void {
    this.#socket.write(text, 'latin1', this.#written(text.length))
  }

  #headersOf(bytes: number): string {
    const { headers, varies } = this.#options
    return varies(bytes) ? headers.varying : headers.plain
  }

  /** Writes a head and the answer as one. */
  #writeLong(status: string, content: AnswerText | CompressedAnswer): void {
    const isCompressed = typeof content !== 'string' && 'encoding' in content
    const bytes = isCompressed ? content.bytes.length : answerLength(content)
    const headers = isCompressed ? this.#options.headers.compressed(content.encoding) : this.#headersOf(bytes)
    const written = this.#written(bytes)
    this.#socket.cork()
    this.#socket.write(this.#headWith(status, headers, bytes), 'latin1')
    if (isCompressed) this.#socket.write(content.bytes, written)
    else if (typeof content === 'string') this.#socket.write(content, 'utf8', written)
    else {
      this.#socket.write(content.start, 'utf8')
      this.#socket.write(content.result)
      this.#socket.write(content.end, 'latin1', written)
    }
    this.#socket.uncork()
  }

  #headWith(status: string, headers: string, contentLength: number): string {
    return `HTTP/1.1 ${status}\r\n${headers}content-type: application/json\r\ncontent-length: ${contentLength}\r\nDate: ${httpDate()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(this.#options.idleMs / 1000)}\r\n\r\n`
  }

  /**
   * Returns the callback for when the operating system has taken an answer; until then the answer
   * counts as pending.
   */
  #written(bytes: number): (error?: Error | null) => void {
    this.#writes++
    const release = this.#options.pending.hold(this.#socket, bytes, this.#client)
    return (error) => {
      release()
      this.#writes--
      this.#onWritten(error)
    }
  }

  #onWritten(error?: Error | null): void {
    this.#hasServed = true
    if (error || this.#socket.destroyed) return
    this.#sinceMs = performance.now()
    if (this.#isBusy()) {
      this.#read()
    } else if (this.#isClosing || (this.#isEnding && this.#received === undefined)) {
      this.#socket.end()
    } else if (this.#isLeaving) {
      this.#handOver()
    } else {
      this.#read()
    }
  }

  /** Hands the connection over once all earlier requests are answered. */
  #leave(): void {
    this.#isLeaving = true
    this.#socket.pause()
    if (!this.#isBusy()) this.#handOver()
  }

  #handOver(): void {
    const socket = this.#socket
    const received = this.#received
    this.#onRelease(this)
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('error', ignoreError)
    socket.off('close', this.#onClose)
    socket.pause()
    if (received !== undefined) socket.unshift(received)
    this.#options.handOver(socket)
    socket.resume()
  }
}

function tooManyRequests({ retryAfterSeconds }: Refusal): string {
  return `429 Too Many Requests\r\nretry-after: ${retryAfterSeconds}\r\naccess-control-expose-headers: retry-after`
}

/** The parts of a request's head that are needed. */
interface RequestHead {
  /** the head as it came, without the empty line */
  readonly text: string
  readonly contentLength: number
  readonly acceptEncoding: string | undefined
  readonly forwardedFor: string | undefined
}

/** A whole request at the start of what a connection received. */
interface FastPathRequest {
  readonly head: RequestHead
  readonly body: string
  /** in bytes, head and body */
  readonly length: number
}

const REQUEST_LINE = 'POST / HTTP/1.1\r\n'
const HEAD_END = Buffer.from('\r\n\r\n')
const HEADER = /^([\w-]+): ?([\x20-\x7e]*)$/
/** A longer head goes to the full server. */
const MAX_HEAD_BYTES = 4_096

/** Headers that change how a request has to be read or answered. */
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
 * Reads a `POST /` of JSON as programs send it: a few well-formed headers, a content length, a
 * persistent connection. `known` is the last head of the connection, since most heads of a
 * connection are the same. Returns `incomplete` when more bytes have to come, and `other` for every
 * request that may need a full HTTP server, including faulty ones.
 */
export function readFastPathRequest(
  bytes: Buffer,
  maxBodyBytes: number,
  known: RequestHead | undefined,
): FastPathRequest | 'incomplete' | 'other' {
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

function readHead(text: string): RequestHead | undefined {
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
  return {
    text,
    contentLength: Number(length),
    acceptEncoding: values.get('accept-encoding'),
    forwardedFor: forwardedFor((name) => values.get(name)),
  }
}

/** Does nothing: the socket closes by itself after an error. */
function ignoreError(): void {}

let dateText = ''
let dateSecond = -1

/** Returns the current time in HTTP's format, made once per second. */
function httpDate(): string {
  const nowMs = Date.now()
  const second = Math.floor(nowMs / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(nowMs).toUTCString()
  }
  return dateText
}
