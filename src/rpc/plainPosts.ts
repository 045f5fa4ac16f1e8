import type { Socket } from 'node:net'
import type { PendingResponses } from './pendingResponses.ts'
import { type PlainHead, readPlainRequest } from './plainRequest.ts'

export interface PlainPostsOptions {
  /** The JSON text of the answer to the text of a request; undefined when there is none. Never rejects. */
  readonly answer: (text: string) => Promise<string | undefined>
  /** The answer as it goes to a client with this Accept-Encoding header; undefined: as it is. */
  readonly compressed: (json: string, acceptEncoding: string | undefined) => Promise<Uint8Array> | undefined
  /** Gives a connection to the server for every kind of request; what was read of it comes again. */
  readonly handOver: (socket: Socket) => void
  /** header lines of an answer, each with its end */
  readonly headers: string
  readonly compressedHeaders: string
  /** milliseconds that an idle connection is kept */
  readonly idleMs: number
  readonly pending: Pick<PendingResponses, 'hold'>
}

/** Connections that so far sent nothing but plain requests. */
export interface PlainPosts {
  take(socket: Socket): void
  /** Ends idle connections at once and the others after their answer. */
  close(): void
  /** Ends all connections at once. */
  destroy(): void
}

/** Longer bodies are left to the other server, which reads them piece by piece. */
const MAX_BODY_BYTES = 131_072
/** A request that comes in more pieces is left to the other server, so that nothing is copied over and over. */
const MAX_PIECES = 8
/** Up to here an answer is written as one text with its head. */
const SHORT_BYTES = 65_536
const CHECK_INTERVAL_MS = 1_000

/**
 * Answers the requests that almost all traffic consists of, `POST /` with a short body over a kept connection, for a third of what
 * Node.js's HTTP server takes for them. A connection goes to that server, for good, with its first request that is
 * anything else, is slow to come or faulty: rules of HTTP beyond the plain case are in one place.
 */
export function createPlainPosts(options: PlainPostsOptions): PlainPosts {
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

class Connection {
  readonly #socket: Socket
  readonly #options: PlainPostsOptions
  readonly #left: (connection: Connection) => void
  /** what was received and not yet answered */
  #received: Buffer | undefined
  #pieces = 0
  #head: PlainHead | undefined
  /** a request is being answered, or its answer written */
  #isBusy = false
  #hasServed = false
  /** the client sends no more */
  #isEnding = false
  /** the server closes */
  #isClosing = false
  /** since when the connection waits for a request */
  #sinceMs = performance.now()
  #release: (() => void) | undefined

  constructor(socket: Socket, options: PlainPostsOptions, left: (connection: Connection) => void) {
    this.#socket = socket
    this.#options = options
    this.#left = left
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', ignoreError)
    socket.on('close', this.#onClose)
  }

  /** Hands over a connection that takes its time to send a request, and ends one that is idle for too long. */
  check(nowMs: number): void {
    if (this.#isBusy) return
    const waitedMs = nowMs - this.#sinceMs
    if (this.#received !== undefined || !this.#hasServed) {
      if (waitedMs >= CHECK_INTERVAL_MS) this.#handOver()
    } else if (waitedMs > this.#options.idleMs) {
      this.#socket.destroy()
    }
  }

  close(): void {
    this.#isClosing = true
    if (!this.#isBusy) this.#socket.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#received = this.#received === undefined ? bytes : Buffer.concat([this.#received, bytes])
    this.#pieces++
    if (this.#isBusy) this.#socket.pause()
    else this.#next()
  }

  readonly #onEnd = (): void => {
    this.#isEnding = true
    if (!this.#isBusy) this.#socket.end()
  }

  readonly #onClose = (): void => {
    this.#release?.()
    this.#left(this)
  }

  #next(): void {
    const received = this.#received
    if (received === undefined) return
    const request = readPlainRequest(received, MAX_BODY_BYTES, this.#head)
    if (request === 'other' || (request === 'incomplete' && this.#pieces >= MAX_PIECES)) {
      this.#handOver()
      return
    }
    if (request === 'incomplete') return
    const { head, body, length } = request
    this.#head = head
    this.#received = received.length === length ? undefined : received.subarray(length)
    this.#pieces = this.#received === undefined ? 0 : 1
    this.#isBusy = true
    void this.#options.answer(body).then(this.#send)
  }

  readonly #send = (answer: string | undefined): void => {
    const json = answer ?? ''
    const compressed = this.#options.compressed(json, this.#head?.acceptEncoding)
    // What could not be compressed is sent as it is.
    if (compressed === undefined) this.#sendJson(json)
    else compressed.then(this.#sendCompressed, () => this.#sendJson(json))
  }

  #sendJson(json: string): void {
    const bytes = Buffer.byteLength(json)
    const head = this.#headWith(this.#options.headers, bytes)
    // Text without other letters is written without a conversion.
    const encoding = bytes === json.length ? 'latin1' : 'utf8'
    if (bytes <= SHORT_BYTES) this.#socket.write(`${head}${json}`, encoding, this.#onWritten)
    else this.#sendParts(head, () => this.#socket.write(json, encoding, this.#onWritten))
    this.#hold(bytes)
  }

  readonly #sendCompressed = (body: Uint8Array): void => {
    const head = this.#headWith(this.#options.compressedHeaders, body.length)
    this.#sendParts(head, () => this.#socket.write(body, this.#onWritten))
    this.#hold(body.length)
  }

  /** Writes a head and what follows it as one. */
  #sendParts(head: string, sendBody: () => void): void {
    this.#socket.cork()
    this.#socket.write(head, 'latin1')
    sendBody()
    this.#socket.uncork()
  }

  #headWith(headers: string, contentLength: number): string {
    return `HTTP/1.1 200 OK\r\n${headers}content-type: application/json\r\ncontent-length: ${contentLength}\r\nDate: ${httpDate()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(this.#options.idleMs / 1000)}\r\n\r\n`
  }

  /** Accounts for an answer that the operating system did not take at once. */
  #hold(bytes: number): void {
    if (this.#socket.writableLength > 0) this.#release = this.#options.pending.hold(this.#socket, bytes)
  }

  readonly #onWritten = (error?: Error | null): void => {
    this.#release?.()
    this.#release = undefined
    this.#isBusy = false
    this.#hasServed = true
    if (error || this.#socket.destroyed) return
    this.#sinceMs = performance.now()
    if (this.#isClosing || (this.#isEnding && this.#received === undefined)) {
      this.#socket.end()
      return
    }
    if (this.#received === undefined) return
    this.#socket.resume()
    this.#next()
  }

  #handOver(): void {
    const socket = this.#socket
    const received = this.#received
    this.#left(this)
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

/** A connection that breaks off is closed, which is all that there is to do. */
function ignoreError(): void {}

let dateText = ''
let dateSecond = -1

/** The present time as HTTP writes it, made once a second. */
function httpDate(): string {
  const nowMs = Date.now()
  const second = Math.floor(nowMs / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(nowMs).toUTCString()
  }
  return dateText
}
