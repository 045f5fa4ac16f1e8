import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  readonly port: number
  /** JSON-RPC bodies, sent once each in order */
  readonly bodies: readonly string[]
  /** requests under way at a time, each on a connection of its own that is kept */
  readonly inFlight: number
}

export interface LoadResult {
  /** milliseconds from the first request to the last answer */
  readonly elapsedMs: number
  /** of each request, ascending */
  readonly latenciesMs: Float64Array
  /** answers that hold an error, and the first of them */
  readonly errors: number
  readonly firstError: string | undefined
}

const HEADER_END = Buffer.from('\r\n\r\n')

/**
 * Sends requests over kept connections, always `inFlight` at a time. A client of its own on plain sockets: it shares the
 * machine with the node, and takes a tenth of what `fetch` would.
 */
export async function runLoad({ port, bodies, inFlight }: LoadOptions): Promise<LoadResult> {
  const requests = bodies.map((body) => requestBytes(port, body))
  const latenciesMs = new Float64Array(requests.length)
  let next = 0
  let errors = 0
  let firstError: string | undefined
  const note = (answer: Buffer): void => {
    if (!answer.includes('"error"')) return
    errors++
    firstError ??= answer.toString('utf8', 0, 300)
  }
  const sockets = await Promise.all(Array.from({ length: Math.min(inFlight, requests.length) }, () => open(port)))
  const beginMs = performance.now()
  await Promise.all(
    sockets.map(async (socket) => {
      const ask = createAsker(socket)
      while (next < requests.length) {
        const index = next++
        const sentMs = performance.now()
        note(await ask(requests[index]!))
        latenciesMs[index] = performance.now() - sentMs
      }
    }),
  )
  const elapsedMs = performance.now() - beginMs
  for (const socket of sockets) socket.destroy()
  return { elapsedMs, latenciesMs: latenciesMs.sort(), errors, firstError }
}

function requestBytes(port: number, body: string): Buffer {
  const content = Buffer.from(body)
  const head = `POST / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${content.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), content])
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Sends a request and gives the answer's body; one at a time. */
function createAsker(socket: Socket): (request: Buffer) => Promise<Buffer> {
  let received: Buffer = Buffer.alloc(0)
  let bodyStart = -1
  let end = 0
  let settle: { resolve: (body: Buffer) => void; reject: (error: Error) => void } | undefined
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    if (bodyStart < 0) {
      const headEnd = received.indexOf(HEADER_END)
      if (headEnd < 0) return
      bodyStart = headEnd + HEADER_END.length
      end = bodyStart + contentLength(received.toString('latin1', 0, headEnd))
    }
    if (received.length < end) return
    const body = received.subarray(bodyStart, end)
    received = Buffer.alloc(0)
    bodyStart = -1
    settle?.resolve(body)
  })
  socket.on('close', () => settle?.reject(new Error('the server closed a connection')))
  socket.on('error', (error) => settle?.reject(error))
  return (request) =>
    new Promise((resolve, reject) => {
      settle = { resolve, reject }
      socket.write(request)
    })
}

function contentLength(head: string): number {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without its length: ${head}`)
  return Number(length)
}
