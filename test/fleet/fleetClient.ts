import { randomBytes } from 'node:crypto'
import { Agent, type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import type { Duplex } from 'node:stream'

/** A client with an address of its own on the loopback interface, so that a proxy can tell it from others. */
export interface FleetClient {
  readonly address: string
  /** @throws Error of the connection */
  send(body: string, headers?: Readonly<Record<string, string>>): Promise<FleetAnswer>
  /** @throws Error of the connection */
  get(path: string): Promise<FleetAnswer>
  /** The result of a method. @throws Error for an answer that is not 200, or has an error */
  call<T>(method: string, ...params: readonly unknown[]): Promise<T>
  /** Subscribes to new heads over a WebSocket; `onHead` gets their heights. Resolves when the connection has ended. */
  followHeads(onHead: (height: number) => void, signal: AbortSignal): Promise<void>
  close(): void
}

interface FleetAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** An answer without a result. */
class FleetError extends Error {
  override readonly name = 'FleetError'
}

const ANSWER_MS = 20_000
const MAX_SOCKETS = 50

/** @param port of the proxy on this machine */
export function createFleetClient(port: number, address: string): FleetClient {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, localAddress: address })
  const place = { host: '127.0.0.1', port, path: '/', agent }
  const ask = (options: RequestOptions, body: string): Promise<FleetAnswer> =>
    new Promise((resolve, reject) => {
      const asked = request({ ...place, timeout: ANSWER_MS, ...options })
      asked.once('response', (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
        )
      })
      asked.once('timeout', () => asked.destroy(new Error(`no answer within ${ANSWER_MS} ms`)))
      asked.on('error', reject)
      asked.end(body)
    })
  const send: FleetClient['send'] = (body, headers = {}) => {
    const length = String(Buffer.byteLength(body))
    const own = { 'content-type': 'application/json', 'content-length': length }
    return ask({ method: 'POST', headers: { ...own, ...headers } }, body)
  }
  return {
    address,
    send,
    get: (path) => ask({ path }, ''),
    call: async <T>(method: string, ...params: readonly unknown[]) => {
      const { status, body } = await send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      if (status !== 200) throw new FleetError(`${method}: status ${status}`)
      const { result, error } = JSON.parse(body.toString()) as {
        readonly result: T
        readonly error?: { readonly message: string }
      }
      if (error !== undefined) throw new FleetError(`${method}: ${error.message}`)
      return result
    },
    followHeads: (onHead, signal) =>
      new Promise((resolve) => {
        const upgrade = {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': randomBytes(16).toString('base64'),
        }
        const asked = request({ ...place, path: '/ws', agent: false, localAddress: address, headers: upgrade })
        asked.on('error', () => resolve())
        asked.once('response', (response) => {
          response.resume()
          resolve()
        })
        asked.once('upgrade', (_, socket) => {
          const end = (): void => void socket.destroy()
          signal.addEventListener('abort', end)
          socket.once('close', () => {
            signal.removeEventListener('abort', end)
            resolve()
          })
          readFrames(socket, (text) => {
            const { params } = JSON.parse(text) as {
              readonly params?: { readonly result: { readonly number: string } }
            }
            if (params !== undefined) onHead(Number(params.result.number))
          })
          socket.write(frame('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}', 1))
          if (signal.aborted) end()
        })
        asked.end()
      }),
    close: () => agent.destroy(),
  }
}

const OPCODES = { text: 1, ping: 9, pong: 10 } as const

/** A frame of a client, which masks what it sends (RFC 6455, 5.3). @param text of less than 126 bytes */
function frame(text: string | Buffer, opcode: number): Buffer {
  const payload = Buffer.from(text)
  const mask = randomBytes(4)
  for (const [at, byte] of payload.entries()) payload[at] = byte ^ mask[at % 4]!
  return Buffer.concat([Buffer.of(0x80 | opcode, 0x80 | payload.length), mask, payload])
}

/** Reads the frames of a server, which are whole messages, and answers its pings. */
function readFrames(socket: Duplex, onText: (text: string) => void): void {
  let received = Buffer.alloc(0)
  socket.on('error', () => undefined)
  socket.on('data', (part: Buffer) => {
    received = Buffer.concat([received, part])
    for (;;) {
      if (received.length < 4) return
      const short = received[1]! & 0x7f
      const head = short === 126 ? 4 : 2
      const length = short === 126 ? received.readUInt16BE(2) : short
      if (received.length < head + length) return
      const payload = received.subarray(head, head + length)
      const opcode = received[0]! & 0x0f
      received = received.subarray(head + length)
      if (opcode === OPCODES.text) onText(payload.toString())
      if (opcode === OPCODES.ping) socket.write(frame(payload, OPCODES.pong))
    }
  })
}
