import type { IncomingMessage } from 'node:http'
import { equalBytes } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import { connectionProblem, isHopeless, isTemporary, shownUrl } from '../primitives/httpProblems.ts'
import { type Addresses, RefusedRequest } from '../primitives/publicAddresses.ts'
import { GuardedHttp } from './guardedHttp.ts'
import { MANIFEST_NAME, SnapshotError, SnapshotUnavailableError } from './manifest.ts'

export interface WebFilesOptions {
  /** http or https: of the manifest of a snapshot, or of its directory */
  readonly address: URL
  readonly signal: AbortSignal
  /** @throws the signal's reason */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** milliseconds, monotonic */
  readonly nowMs: () => number
  readonly addresses?: Addresses
}

export interface WantedFile {
  readonly name: string
  readonly maxBytes: number
  /** what is known of its bytes; undefined when nothing is */
  readonly known?: { readonly bytes: number; readonly sha256: Uint8Array }
}

/** Pause of a server after a request that failed, doubled with each further one. */
const PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** A server may ask for a longer pause (Retry-After, in seconds), up to this. */
const LONGEST_RETRY_AFTER_MS = 60_000
/** A request is ended when nothing came in this time, or too little where another server can be asked. */
export const SLOW_WINDOW_MS = 20_000
/** 16 KiB per second */
export const SLOW_WINDOW_BYTES = 20 * 16_384
/** Fewer bytes are not progress: a server that sends one byte per request counts as failed. */
const PROGRESS_BYTES = 65_536
/** A file is given up when nothing more arrived in this time, from any server. */
const PATIENCE_MS = 90_000
/** The same for the first file, for which a wrong address is the likeliest reason. */
const MANIFEST_PATIENCE_MS = 15_000
/** Servers in one message. */
const MAX_NAMED = 5
const FIRST_BUFFER_BYTES = 1 << 20
const ABSENT: readonly number[] = [404, 410]

/** `absent` and `unfit`: do not ask this server for this file again; `never`: for no file. The message follows the server's name. */
class ServerError extends Error {
  readonly kind: 'later' | 'absent' | 'unfit' | 'never'
  readonly retryAfterMs: number

  constructor(kind: ServerError['kind'], message: string, retryAfterMs = 0) {
    super(message)
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }
}

/** A directory on a web server. */
interface WebServer {
  readonly directory: URL
  /** for messages */
  readonly name: string
  /** requests that it answers now */
  requests: number
  lastAskedMs: number
  /** requests that brought nothing since the last one that did */
  failures: number
  /** it is not asked before */
  pausedUntilMs: number
  /** why it is not asked any more */
  isOut: ServerError | undefined
}

/** The received part of a file, and the servers that are not asked for it any more. */
class Download {
  readonly file: WantedFile
  readonly failed = new Map<WebServer, ServerError>()
  /** servers that sent the bytes; several only where their hash is known */
  readonly senders = new Set<WebServer>()
  /** strong ETag of the last answer */
  etag: string | undefined
  /** whether bytes of one server may follow those of another */
  mayMix = true
  length = 0
  /** bytes that came, those that were dropped again included */
  received = 0
  /** the largest `length`: a larger one shows progress, unlike a server that starts again each time */
  longest = 0
  #buffer: Uint8Array

  constructor(file: WantedFile) {
    this.file = file
    this.#buffer = new Uint8Array(file.known?.bytes ?? Math.min(file.maxBytes, FIRST_BUFFER_BYTES))
  }

  /** @throws ServerError when it gets too long */
  add(part: Uint8Array, from: WebServer): void {
    const length = this.length + part.length
    const most = this.file.known?.bytes ?? this.file.maxBytes
    if (length > most) throw new ServerError('unfit', `sends more than ${most} bytes`)
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(Math.min(most, Math.max(length, this.#buffer.length * 2)))
      larger.set(this.#buffer)
      this.#buffer = larger
    }
    // Copied: a server may send its bytes one by one, and each part as an object would take a hundred times its size.
    this.#buffer.set(part, this.length)
    this.length = length
    this.received += part.length
    this.longest = Math.max(this.longest, length)
    this.senders.add(from)
  }

  reset(): void {
    this.length = 0
    this.etag = undefined
    this.senders.clear()
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.length)
  }
}

/**
 * Files of one snapshot from untrusted web servers: the operator's and mirrors. A file is requested
 * from the server with the fewest requests. A server that fails is paused, longer each time. The
 * received part of the file is retained, and the rest is requested with a range, from the same or
 * another server. A server that sends bytes with a wrong hash is not asked again.
 */
export class WebFiles {
  readonly #options: WebFilesOptions
  readonly #http: GuardedHttp
  readonly #servers: WebServer[]

  constructor(options: WebFilesOptions) {
    this.#options = options
    this.#http = new GuardedHttp(options.address, options.addresses)
    this.#servers = [serverAt(directoryOf(options.address))]
  }

  /** The operator's server, for messages. */
  get name(): string {
    return this.#servers[0]!.name
  }

  /** @param urls http or https, of directories with the same files */
  addMirrors(urls: readonly string[]): void {
    for (const url of urls) {
      const server = serverAt(directoryOf(new URL(url)))
      if (!this.#servers.some(({ directory }) => directory.href === server.directory.href)) this.#servers.push(server)
    }
  }

  /**
   * Reads the bytes of a file, with their hash where it is known; undefined when no server has it.
   * May be called several times at once.
   * @throws SnapshotError, or SnapshotUnavailableError where waiting may help: one line that names the servers; the reason of `stop` or of
   * the signal
   */
  async read(file: WantedFile, stop: AbortSignal = this.#options.signal): Promise<Uint8Array | undefined> {
    const { nowMs, signal, sleep } = this.#options
    const either = AbortSignal.any([signal, stop])
    const download = new Download(file)
    const patienceMs = file.name === MANIFEST_NAME ? MANIFEST_PATIENCE_MS : PATIENCE_MS
    let progress = { atMs: nowMs(), bytes: 0 }
    for (;;) {
      either.throwIfAborted()
      const askable = this.#servers.filter(
        (server) => server.isOut === undefined && !isFinal(download.failed.get(server)),
      )
      if (askable.length === 0) return this.#nobodyHas(download)
      if (download.longest - progress.bytes >= PROGRESS_BYTES) progress = { atMs: nowMs(), bytes: download.longest }
      if (nowMs() - progress.atMs > patienceMs) throw this.#unavailable(download)
      const server = nextOf(askable, nowMs())
      if (server === undefined) {
        const untilMs = Math.min(...askable.map(({ pausedUntilMs }) => pausedUntilMs))
        await sleep(Math.max(1, untilMs - nowMs()), either)
        continue
      }
      const bytes = await this.#ask(server, download, askable.length === 1, either)
      if (bytes !== undefined) return bytes
    }
  }

  /**
   * Makes one request. @returns undefined when the file is not complete: the server is paused, or
   * not asked for it again
   */
  async #ask(
    server: WebServer,
    download: Download,
    isOnly: boolean,
    stop: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const { nowMs } = this.#options
    const { longest } = download
    server.requests++
    server.lastAskedMs = nowMs()
    try {
      await this.#request(server, download, isOnly, stop)
      const bytes = checked(download)
      server.failures = 0
      return bytes
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      download.failed.set(server, error)
      if (error.kind === 'never') server.isOut = error
      if (error.kind !== 'later') {
        if (download.senders.has(server)) download.reset()
        return undefined
      }
      server.failures = download.longest - longest >= PROGRESS_BYTES ? 1 : server.failures + 1
      const pauseMs = Math.min(PAUSE_MS * 2 ** (server.failures - 1), LONGEST_PAUSE_MS)
      server.pausedUntilMs = nowMs() + Math.max(pauseMs, Math.min(error.retryAfterMs, LONGEST_RETRY_AFTER_MS))
      return undefined
    } finally {
      server.requests--
    }
  }

  /** @throws ServerError; the reason of `stop` */
  async #request(server: WebServer, download: Download, isOnly: boolean, stop: AbortSignal): Promise<void> {
    const { known, name } = download.file
    const isSame = download.senders.size === 1 && download.senders.has(server)
    // Without a hash or an ETag, nothing shows whether the rest belongs to the bytes that are there.
    const goesOn = isSame ? known !== undefined || download.etag !== undefined : known !== undefined && download.mayMix
    if (!goesOn) download.reset()
    const headers: Record<string, string> = { 'accept-encoding': 'identity' }
    if (download.length > 0) headers['range'] = `bytes=${download.length}-`
    if (download.length > 0 && isSame && download.etag !== undefined) headers['if-range'] = download.etag
    const tooSlow = new AbortController()
    const end = new AbortController()
    const watching = this.#watch(download, isOnly, tooSlow, AbortSignal.any([end.signal, stop]))
    let hasAnswered = false
    try {
      const url = new URL(server.directory)
      url.pathname += name
      const response = await this.#http.get(url, headers, AbortSignal.any([tooSlow.signal, stop]))
      hasAnswered = true
      try {
        await receive(response, server, download)
      } finally {
        response.destroy()
      }
    } catch (error) {
      stop.throwIfAborted()
      if (tooSlow.signal.aborted) throw new ServerError('later', 'is too slow')
      if (error instanceof ServerError) throw error
      if (error instanceof RefusedRequest) throw new ServerError('never', error.message)
      const problem = connectionProblem(error)
      if (hasAnswered) throw new ServerError('later', `cut its answer (${problem})`)
      throw new ServerError(isHopeless(problem) ? 'never' : 'later', `cannot be reached (${problem})`)
    } finally {
      end.abort()
      await watching
    }
  }

  /** Ends a request that brings nothing, or too little although another server can be asked. */
  async #watch(download: Download, isOnly: boolean, tooSlow: AbortController, signal: AbortSignal): Promise<void> {
    const needed = isOnly ? 1 : SLOW_WINDOW_BYTES
    for (;;) {
      const { received } = download
      try {
        await this.#options.sleep(SLOW_WINDOW_MS, signal)
      } catch (error) {
        if (signal.aborted) return
        throw error
      }
      if (signal.aborted) return
      if (download.received - received < needed) return tooSlow.abort()
    }
  }

  #nobodyHas(download: Download): undefined {
    const errors = this.#servers.map((server) => server.isOut ?? download.failed.get(server))
    if (errors.every((error) => error?.kind === 'absent')) return undefined
    throw this.#unavailable(download)
  }

  #unavailable({ file, failed }: Download): SnapshotError | SnapshotUnavailableError {
    const errorOf = (server: WebServer): ServerError | undefined => server.isOut ?? failed.get(server)
    const reasons = this.#servers.map((server) => {
      const error = errorOf(server)
      return `${server.name} ${error?.message ?? 'was busy with other files'}`
    })
    const others = reasons.length - MAX_NAMED
    const more = others > 0 ? `; and ${others} more` : ''
    const message = `${file.name} cannot be fetched: ${reasons.slice(0, MAX_NAMED).join('; ')}${more}`
    const mayHelpToWait = this.#servers.some((server) => (errorOf(server)?.kind ?? 'later') === 'later')
    return mayHelpToWait ? new SnapshotUnavailableError(message) : new SnapshotError(message)
  }
}

/** Returns the directory of a manifest, or of a directory. */
function directoryOf(address: URL): URL {
  const directory = new URL(address)
  directory.hash = ''
  if (directory.pathname.endsWith(`/${MANIFEST_NAME}`))
    directory.pathname = directory.pathname.slice(0, -MANIFEST_NAME.length)
  else if (!directory.pathname.endsWith('/')) directory.pathname += '/'
  return directory
}

function serverAt(directory: URL): WebServer {
  return {
    directory,
    name: shownUrl(directory),
    requests: 0,
    lastAskedMs: Number.NEGATIVE_INFINITY,
    failures: 0,
    pausedUntilMs: Number.NEGATIVE_INFINITY,
    isOut: undefined,
  }
}

/**
 * Returns the server with the fewest requests, and of those the one that was asked longest ago;
 * undefined when all have a pause.
 */
function nextOf(servers: readonly WebServer[], nowMs: number): WebServer | undefined {
  return servers
    .filter(({ pausedUntilMs }) => pausedUntilMs <= nowMs)
    .sort((a, b) => a.requests - b.requests || Math.sign(a.lastAskedMs - b.lastAskedMs) || 0)[0]
}

function isFinal(error: ServerError | undefined): boolean {
  return error !== undefined && error.kind !== 'later'
}

/** Adds the body of an answer. @throws ServerError; errors of the connection */
async function receive(response: IncomingMessage, server: WebServer, download: Download): Promise<void> {
  const { statusCode: status = 0, headers } = response
  const encoding = headers['content-encoding'] ?? 'identity'
  if (status === 200) download.reset()
  else if (status === 206) checkRange(headers['content-range'], download)
  else failWith(status, headers['retry-after'], download)
  if (encoding !== 'identity') {
    throw new ServerError(
      'unfit',
      `answers with content-encoding ${encoding.slice(0, 40).replaceAll(/[^\x20-\x7e]/g, '?')}, it must serve files as they are`,
    )
  }
  const { known } = download.file
  const announced = headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
  if (status === 200 && known !== undefined && announced !== undefined && announced !== known.bytes) {
    throw new ServerError('unfit', `has a file of ${announced} bytes, not of ${known.bytes}`)
  }
  const { etag } = headers
  download.etag = etag?.startsWith('"') ? etag : undefined
  for await (const part of response) download.add(part as Uint8Array, server)
  if (known === undefined || download.length === known.bytes) return
  // Without a length, the end of the connection may be the end of the file or not.
  const isWhole = announced !== undefined || headers['transfer-encoding'] !== undefined
  if (isWhole) throw new ServerError('unfit', `has a file of ${download.length} bytes, not of ${known.bytes}`)
  throw new ServerError('later', `ended the file after ${download.length} bytes`)
}

/** @throws ServerError when the answer is not the rest of the file: the next request is for the whole file */
function checkRange(range: string | undefined, download: Download): void {
  const [, from, to, size] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(range ?? '') ?? []
  const total = download.file.known?.bytes ?? Number(to) + 1
  const isRest =
    Number(from) === download.length && Number(to) === total - 1 && (size === '*' || Number(size) === total)
  if (download.length > 0 && isRest) return
  download.reset()
  throw new ServerError('later', 'answers with a range that it was not asked for')
}

function failWith(status: number, retryAfter: string | undefined, download: Download): never {
  const message = `answers with status ${status}`
  if (ABSENT.includes(status)) throw new ServerError('absent', message)
  if (status === 416 && download.length > 0) {
    download.reset()
    throw new ServerError('later', message)
  }
  throw isTemporary(status)
    ? new ServerError('later', message, Number(retryAfter ?? 0) * 1000 || 0)
    : new ServerError('unfit', message)
}

/** @throws ServerError when the bytes are not the known ones */
function checked(download: Download): Uint8Array {
  const { known } = download.file
  const bytes = download.bytes()
  if (known === undefined || equalBytes(sha256(bytes), known.sha256)) return bytes
  if (download.senders.size > 1) {
    // It is not known which of these servers has lied: the next one sends the whole file.
    download.mayMix = false
    download.reset()
    throw new ServerError('later', 'or another server sent bytes that do not have their hash')
  }
  throw new ServerError('never', `sent a damaged ${download.file.name}: its bytes do not have its hash`)
}
