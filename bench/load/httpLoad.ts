import { connect, type Socket } from 'node:net'

interface LoadOptions {
  readonly port: number
  /** where they are posted; / by default */
  readonly path?: string
  /** JSON-RPC bodies, sent once each in order */
  readonly bodies: readonly string[]
  /** requests under way at a time */
  readonly inFlight: number
  /** how many of them share a connection, sent one after the other without waiting; 1 by default */
  readonly pipeline?: number
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
const LENGTH_HEADER = /\r\ncontent-length: *(\d+)/i

/**
 * Sends requests over persistent connections, always `inFlight` at a time. It is a client on plain sockets, since it shares the
 * machine with the node: it takes a small part of the time that `fetch` would.
 */
export function runLoad({ port, path = '/', bodies, inFlight, pipeline = 1 }: LoadOptions): Promise<LoadResult> {
  const requests = bodies.map((body) => {
    const length = Buffer.byteLength(body)
    return Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
    )
  })
  return sendAll(port, requests, inFlight, pipeline, (answer) => answer.includes('"error"'))
}

/** Does the same with GET requests of these paths, one at a time on each connection. */
export function runGets(port: number, paths: readonly string[], inFlight: number): Promise<LoadResult> {
  const requests = paths.map((path, index) =>
    // Of many clients, as a proxy would tell: one alone may not ask for so much.
    Buffer.from(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-forwarded-for: 192.0.${index & 3}.${index % 250}\r\n\r\n`,
    ),
  )
  // As the explorer writes errors, and the API of Etherscan.
  const isError = (answer: Buffer): boolean => answer.indexOf('{"error"') === 0 || answer.includes('"NOTOK"')
  return sendAll(port, requests, inFlight, 1, isError)
}

async function sendAll(
  port: number,
  requests: readonly Buffer[],
  inFlight: number,
  pipeline: number,
  isError: (answer: Buffer) => boolean,
): Promise<LoadResult> {
  const latenciesMs = new Float64Array(requests.length)
  let next = 0
  let errors = 0
  let firstError: string | undefined
  const count = Math.ceil(Math.min(inFlight, requests.length) / pipeline)
  const sockets = await Promise.all(Array.from({ length: count }, () => open(port)))
  const beginMs = performance.now()
  const runConnection = (socket: Socket): Promise<void> =>
    new Promise((resolve, reject) => {
      /** requests without an answer yet, in order */
      const waiting: number[] = []
      const fill = (): void => {
        const batch: Buffer[] = []
        const now = performance.now()
        while (waiting.length < pipeline && next < requests.length) {
          latenciesMs[next] = now
          waiting.push(next)
          batch.push(requests[next++]!)
        }
        if (batch.length > 0) socket.write(batch.length === 1 ? batch[0]! : Buffer.concat(batch))
        else if (waiting.length === 0) resolve()
      }
      readAnswers(socket, (answers) => {
        const now = performance.now()
        for (const answer of answers) {
          const index = waiting.shift()!
          latenciesMs[index] = now - latenciesMs[index]!
          if (!isError(answer)) continue
          errors++
          firstError ??= answer.toString('utf8', 0, 300)
        }
        fill()
      })
      socket.on('close', () => reject(new Error('the server closed a connection')))
      socket.on('error', reject)
      fill()
    })
  await Promise.all(sockets.map(runConnection))
  const elapsedMs = performance.now() - beginMs
  for (const socket of sockets) socket.destroy()
  return { elapsedMs, latenciesMs: latenciesMs.sort(), errors, firstError }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Calls back with the bodies of all answers that are complete, in order. */
function readAnswers(socket: Socket, onAnswers: (bodies: readonly Buffer[]) => void): void {
  let rest: Buffer | undefined
  /** bytes that the answer at the start of `rest` has in all, when its head is known */
  let needed = 0
  socket.on('data', (chunk: Buffer) => {
    let received = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    const answers: Buffer[] = []
    while (received.length > 0 && received.length >= needed) {
      const headEnd = received.indexOf(HEADER_END)
      if (headEnd < 0) break
      const bodyStart = headEnd + HEADER_END.length
      const end = bodyStart + contentLength(received.toString('latin1', 0, headEnd))
      needed = end
      if (received.length < end) break
      answers.push(received.subarray(bodyStart, end))
      received = received.subarray(end)
      needed = 0
    }
    rest = received.length === 0 ? undefined : received
    if (answers.length > 0) onAnswers(answers)
  })
}

function contentLength(head: string): number {
  const length = LENGTH_HEADER.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without its length: ${head}`)
  return Number(length)
}
