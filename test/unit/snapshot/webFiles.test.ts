import { createHash } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { encodeManifest } from '../../../src/snapshot/manifest.ts'
import { publicFiles, SNAPSHOT_FILES } from '../../../src/snapshot/publicFiles.ts'
import { SLOW_WINDOW_BYTES, SLOW_WINDOW_MS, WebFiles, type WebFilesOptions } from '../../../src/snapshot/webFiles.ts'
import { testManifest } from '../../support/snapshot/testManifest.ts'
import { closedAddress, endless, httpServer } from '../../support/sync/httpServers.ts'

const BYTES = new Uint8Array(600_000).map((_, i) => i * 7 + (i >> 9))
const known = { bytes: BYTES.length, sha256: new Uint8Array(createHash('sha256').update(BYTES).digest()) }
const FILE = { name: 'chunk.zst', maxBytes: known.bytes, known }
const HALF = BYTES.length / 2
const ETAG = '"one"'

/** Time that passes when somebody sleeps. What watches the speed of requests sees it pass only when it is let to. */
class FakeTime {
  nowMs = 0
  readonly pauses: number[] = []
  readonly #watching = new Set<() => void>()

  readonly sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted()
    if (ms === SLOW_WINDOW_MS) {
      await new Promise<void>((resolve, reject) => {
        this.#watching.add(resolve)
        signal.addEventListener('abort', () => {
          this.#watching.delete(resolve)
          reject(signal.reason)
        })
      })
      return
    }
    this.pauses.push(ms)
    this.nowMs += ms
    await new Promise((resolve) => setImmediate(resolve))
    signal.throwIfAborted()
  }

  /** The time of all requests that are running is over. */
  endWindows(): void {
    for (const resolve of this.#watching) resolve()
    this.#watching.clear()
  }
}

const { signal } = new AbortController()

function filesOf(
  url: string,
  mirrors: readonly string[] = [],
  options: Partial<WebFilesOptions> = {},
  time = new FakeTime(),
) {
  const files = new WebFiles({ address: new URL(url), signal, sleep: time.sleep, nowMs: () => time.nowMs, ...options })
  files.addMirrors(mirrors)
  return files
}

const read = async (url: string, ...more: [string[]?, Partial<WebFilesOptions>?, FakeTime?]) =>
  Buffer.from((await filesOf(url, ...more).read(FILE)) ?? []).equals(BYTES)

/** Answers as static web servers do; `bytes` may be other ones. */
function honest(request: IncomingMessage, response: ServerResponse, bytes: Uint8Array = BYTES): void {
  const from = rangeOf(request)
  const isSame = request.headers['if-range'] === undefined || request.headers['if-range'] === ETAG
  if (from === undefined || !isSame) {
    response.writeHead(200, { etag: ETAG, 'content-length': bytes.length })
    response.end(bytes)
    return
  }
  response.writeHead(206, {
    etag: ETAG,
    'content-length': bytes.length - from,
    'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`,
  })
  response.end(bytes.subarray(from))
}

const rangeOf = ({ headers }: IncomingMessage) =>
  headers.range === undefined ? undefined : Number(/^bytes=(\d+)-$/.exec(headers.range)![1])

/** Sends half of the file, and then cuts the connection. */
function half(response: ServerResponse, bytes: Uint8Array = BYTES): void {
  response.writeHead(200, { etag: ETAG, 'content-length': bytes.length })
  response.write(bytes.subarray(0, HALF), () => setImmediate(() => response.destroy()))
}

/** A server that answers its first requests in turn by these, and all others as it should. */
async function server(...first: RequestListener[]) {
  const requests: IncomingMessage[] = []
  const url = await httpServer((request, response) => {
    requests.push(request)
    const listener = first[requests.length - 1] ?? ((_request, answer) => honest(request, answer))
    listener(request, response)
  })
  return { url: `${url}/9/`, requests }
}

const always = (listener: RequestListener) => httpServer(listener).then((url) => `${url}/9/`)
const status =
  (code: number, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(code, headers)
    response.end()
  }

describe('a file from one server', () => {
  test('is asked for as it is, in the directory of the manifest, with the query of the address', async () => {
    const { url, requests } = await server()
    expect(await read(`${url}manifest.json?token=t`)).toBe(true)
    expect(requests.map(({ url: path }) => path)).toEqual(['/9/chunk.zst?token=t'])
    expect(requests[0]!.headers).toMatchObject({ 'accept-encoding': 'identity' })
  })

  test('goes on where a connection was cut', async () => {
    const { url, requests } = await server((_request, response) => half(response))
    expect(await read(url)).toBe(true)
    const from = rangeOf(requests[1]!)!
    expect(from).toBeGreaterThan(0)
    expect(from).toBeLessThanOrEqual(HALF)
    expect(requests[1]!.headers['if-range']).toBe(ETAG)
    expect(requests).toHaveLength(2)
  })

  test('goes on after a server that stops in the middle', async () => {
    const time = new FakeTime()
    const large = new Uint8Array(16 << 20).fill(5)
    const hash = new Uint8Array(createHash('sha256').update(large).digest())
    const asked: (number | undefined)[] = []
    let hasWritten = false
    let isCut = false
    const url = await always((request, response) => {
      asked.push(rangeOf(request))
      if (asked.at(-1) !== undefined) return honest(request, response, large)
      response.writeHead(200, { etag: ETAG, 'content-length': large.length })
      response.on('close', () => {
        isCut = true
      })
      // More than the sockets hold: once it is written the other side has read some.
      response.write(large.subarray(0, 15 << 20), () => {
        hasWritten = true
      })
    })
    const reading = filesOf(url, [], {}, time).read({ ...FILE, known: { bytes: large.length, sha256: hash } })
    await until(() => {
      if (hasWritten && !isCut) time.endWindows()
      return asked.length > 1
    })
    expect((await reading)?.length).toBe(large.length)
    expect(asked.at(-1)).toBeGreaterThan(0)
  })

  test.each<[string, RequestListener]>([
    ['has no ranges', (_request, response) => response.end(BYTES)],
    [
      'has another file by now',
      (request, response) => honest({ ...request, headers: {} } as IncomingMessage, response),
    ],
    [
      'answers with another range',
      (request, response) => {
        const from = rangeOf(request)! - 1
        response.writeHead(206, { 'content-range': `bytes ${from}-${BYTES.length - 1}/${BYTES.length}` })
        response.end(BYTES.subarray(from))
      },
    ],
    [
      'answers with a range of a larger file',
      (_request, response) => status(206, { 'content-range': 'bytes 1-2/3' })(_request, response),
    ],
    ['answers with a range without saying which', status(206)],
    ['says that there is no such range', status(416)],
  ])('begins anew where the server %s', async (_, second) => {
    const { url } = await server((_request, response) => half(response), second)
    expect(await read(url)).toBe(true)
  })

  test.each([500, 502, 503, 429, 408])('is asked for again after status %i', async (code) => {
    const { url, requests } = await server(status(code), status(code))
    const time = new FakeTime()
    expect(await read(url, [], {}, time)).toBe(true)
    expect(requests).toHaveLength(3)
    expect(time.pauses).toEqual([500, 1000])
  })

  test.each([
    ['7', 7000],
    ['100000', 60_000],
    ['-5', 500],
    ['Wed, 21 Oct 2037 07:28:00 GMT', 500],
  ])('waits as long as the server asks for, within bounds: Retry-After %s', async (text, pauseMs) => {
    const { url } = await server(status(429, { 'retry-after': text }))
    const time = new FakeTime()
    expect(await read(url, [], {}, time)).toBe(true)
    expect(time.pauses).toEqual([pauseMs])
  })

  test.each<[string, RequestListener, RegExp]>([
    [
      'a flipped byte',
      (request, response) => honest(request, response, BYTES.with(5, BYTES[5]! ^ 1)),
      /^chunk\.zst cannot be fetched: http:\/\/127\.0\.0\.1:\d+\/9\/ sent a damaged chunk\.zst: its bytes do not have its hash$/,
    ],
    ['a swapped file', (request, response) => honest(request, response, BYTES.toReversed()), /do not have its hash$/],
    [
      'a truncated file',
      (request, response) => honest(request, response, BYTES.subarray(1)),
      /a file of 599999 bytes, not of 600000$/,
    ],
    [
      'a truncated file of unknown length',
      (_request, response) => {
        response.write(BYTES.subarray(1))
        response.end()
      },
      /a file of 599999 bytes, not of 600000$/,
    ],
    [
      'a longer file',
      (request, response) => honest(request, response, new Uint8Array(600_001)),
      /a file of 600001 bytes, not/,
    ],
    ['bytes without end', (_request, response) => endless(response), /sends more than 600000 bytes$/],
    [
      'a compressed file',
      (_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' })
        response.end(gzipSync(BYTES))
      },
      /answers with content-encoding gzip, it must serve files as they are$/,
    ],
    ['status 403', status(403), /answers with status 403$/],
    ['status 304', status(304), /answers with status 304$/],
  ])('is refused: %s', async (_, listener, message) => {
    await expect(read(await always(listener))).rejects.toThrow(message)
  })

  test.each([404, 410])('is missing: status %i', async (code) => {
    expect(await filesOf(await always(status(code))).read(FILE)).toBeUndefined()
  })

  test.each<[string, RequestListener | undefined, RegExp]>([
    ['cuts each answer', (_request, response) => half(response), /cut its answer \(ECONNRESET\)$/],
    ['only fails', status(500), /answers with status 500$/],
    ['is not there', undefined, /cannot be reached \(ECONNREFUSED\)$/],
  ])('is given up where the server %s', async (_, listener, message) => {
    const url = listener === undefined ? await closedAddress() : await always(listener)
    const time = new FakeTime()
    // Each time it begins anew: ranges would be progress.
    await expect(filesOf(url, [], {}, time).read({ name: 'manifest.json', maxBytes: 1 << 20 })).rejects.toThrow(message)
    expect(time.nowMs).toBeGreaterThan(15_000)
    expect(time.nowMs).toBeLessThan(40_000)
  })

  test('is given up at once where the server does not speak TLS', async () => {
    const time = new FakeTime()
    const url = (await always(status(200))).replace('http:', 'https:')
    await expect(read(url, [], {}, time)).rejects.toThrow(/\/9\/ cannot be reached \((ERR_SSL_\w+|EPROTO)\)$/)
    expect(time.pauses).toEqual([])
  })

  test('of unknown bytes is only continued under the same ETag', async () => {
    const wanted = { name: 'manifest.json', maxBytes: 1 << 20 }
    const { url, requests } = await server((_request, response) => half(response))
    expect(await filesOf(url).read(wanted)).toHaveLength(BYTES.length)
    expect(rangeOf(requests[1]!)).toBeGreaterThan(0)
    const { url: other, requests: others } = await server((_request, response) => {
      response.writeHead(200, { etag: 'W/"weak"', 'content-length': BYTES.length })
      response.write(BYTES.subarray(0, HALF), () => setImmediate(() => response.destroy()))
    })
    expect(await filesOf(other).read(wanted)).toHaveLength(BYTES.length)
    expect(rangeOf(others[1]!)).toBeUndefined()
    await expect(filesOf(await always((_request, response) => endless(response))).read(wanted)).rejects.toThrow(
      /sends more than 1048576 bytes$/,
    )
  })

  test('ends when its signal or that of all files is aborted', async () => {
    for (const which of ['own', 'all']) {
      const stop = new AbortController()
      const url = await always(() => stop.abort(new Error('stopped')))
      const files = filesOf(url, [], which === 'all' ? { signal: stop.signal } : {})
      await expect(files.read(FILE, which === 'own' ? stop.signal : undefined)).rejects.toThrow('stopped')
    }
  })
})

describe('a file from mirrors', () => {
  test('comes from another one when the first has it not, lies, is encoded or gone', async () => {
    const bad: RequestListener[] = [
      status(404),
      status(500),
      (request, response) => honest(request, response, BYTES.with(5, BYTES[5]! ^ 1)),
      (_request, response) => status(200, { 'content-encoding': 'br' })(_request, response),
    ]
    for (const listener of bad) {
      const mirror = await server()
      expect(await read(await always(listener), [mirror.url])).toBe(true)
    }
    const mirror = await server()
    expect(await read(await closedAddress(), [mirror.url])).toBe(true)
  })

  test('never comes again from a server that lied', async () => {
    let lies = 0
    const liar = await always((request, response) => {
      lies++
      honest(request, response, BYTES.with(0, BYTES[0]! ^ 1))
    })
    const mirror = await server()
    const files = filesOf(liar, [mirror.url])
    for (let i = 0; i < 4; i++) expect(Buffer.from((await files.read(FILE))!).equals(BYTES)).toBe(true)
    expect(lies).toBe(1)
  })

  test('goes on at another one, and begins anew when one of the two has lied', async () => {
    const mirror = await server()
    expect(await read(await always((_request, response) => half(response)), [mirror.url])).toBe(true)
    expect(rangeOf(mirror.requests[0]!)).toBeGreaterThan(0)
    expect(mirror.requests[0]!.headers['if-range']).toBeUndefined()

    const second = await server()
    expect(await read(await always((_request, response) => half(response, BYTES.with(0, 99))), [second.url])).toBe(true)
    expect(second.requests.map(rangeOf).at(-1)).toBeUndefined()
  })

  test('comes from another one when the first is too slow', async () => {
    const time = new FakeTime()
    const mirror = await server()
    let isAsked = false
    let isCut = false
    const slow = await always((_request, response) => {
      isAsked = true
      response.on('close', () => {
        isCut = true
      })
      response.writeHead(200, { 'content-length': BYTES.length })
      response.write(BYTES.subarray(0, SLOW_WINDOW_BYTES / 8))
    })
    const reading = read(slow, [mirror.url], {}, time)
    await until(() => {
      if (isAsked && !isCut) time.endWindows()
      return mirror.requests.length > 0
    })
    expect(await reading).toBe(true)
  })

  test('several at a time come from several servers', async () => {
    const servers = await Promise.all([server(), server(), server()])
    const files = filesOf(servers[0].url, [servers[1].url, servers[2].url, servers[1].url])
    await Promise.all(Array.from({ length: 6 }, () => files.read(FILE)))
    expect(servers.map(({ requests }) => requests.length)).toEqual([2, 2, 2])
  })

  test('one line names the servers when none is left, without queries and passwords', async () => {
    const [own, mirror] = [await always(status(404)), await always(status(403))]
    const secret = own.replace('http://', 'http://user:secret@')
    const error = await read(`${secret}?token=secret`, [`${mirror}?key=secret`]).catch((reason: Error) => reason)
    expect(String(error)).toMatch(
      /^SnapshotError: chunk\.zst cannot be fetched: http:\/\/127.0.0.1:\d+\/9\/ answers with status 404; http:\/\/127.0.0.1:\d+\/9\/ answers with status 403$/,
    )
  })
})

describe('a snapshot at an address', () => {
  const at = (url: string, time = new FakeTime()) =>
    publicFiles(new URL(url), SNAPSHOT_FILES, signal, { sleep: time.sleep, nowMs: () => time.nowMs })

  test('has chunks from the mirrors in its manifest', async () => {
    const mirror = await server()
    const manifest = encodeManifest(testManifest({ mirrors: [mirror.url.slice(0, -1)] }))
    const own = await always((request, response) => {
      if (request.url === '/9/manifest.json') honest(request, response, manifest)
      else status(404)(request, response)
    })
    const snapshot = at(own)
    expect(await snapshot.manifest()).toMatchObject({ height: 5000 })
    expect(Buffer.from(await snapshot.fetch(known, signal)).equals(BYTES)).toBe(true)
    expect(mirror.requests[0]!.url).toBe(`/9/${Buffer.from(known.sha256).toString('hex')}.zst`)
  })

  test.each<[string, RequestListener, RegExp]>([
    [
      'is not there',
      status(404),
      /^http:\/\/127\.0\.0\.1:\d+\/9\/: there is no manifest\.json: check SNAPSHOT_MANIFEST_URL$/,
    ],
    ['never ends', (_request, response) => endless(response), /sends more than 16777216 bytes$/],
    ['cannot be served at present', status(500), /^manifest\.json cannot be fetched: .* answers with status 500$/],
    ['is refused', status(403), /^manifest\.json cannot be fetched: .* answers with status 403$/],
    [
      'is none',
      (_request, response) => response.end('<html>'),
      /^the manifest of the snapshot cannot be used: it is not JSON$/,
    ],
  ])('ends with one line when the manifest %s', async (_, listener, message) => {
    await expect(at(await always(listener)).manifest()).rejects.toThrow(message)
  })

  test('that waiting may help is said by the class of the error, which decides the exit code', async () => {
    for (const [code, name] of [
      [500, 'SnapshotUnavailableError'],
      [429, 'SnapshotUnavailableError'],
      [403, 'SnapshotError'],
      [404, 'SnapshotError'],
    ] as const) {
      await expect(at(await always(status(code))).manifest()).rejects.toMatchObject({ name })
    }
  })

  test('says which chunk is missing', async () => {
    await expect(at(await always(status(404))).fetch(known, signal)).rejects.toThrow(/: there is no [0-9a-f]{64}\.zst$/)
  })
})

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 1))
}
