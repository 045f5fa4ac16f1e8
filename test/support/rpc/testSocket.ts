import { once } from 'node:events'
import { WebSocket } from 'ws'

/** A WebSocket client that keeps what it gets in order. */
export interface TestSocket {
  readonly socket: WebSocket
  /** The next message. */
  next(): Promise<unknown>
  /** Sends a request and gives the next message. */
  ask(method: string, params?: readonly unknown[]): Promise<unknown>
  /** messages that were not taken yet */
  readonly waiting: unknown[]
}

export async function openTestSocket(url: string, headers: Record<string, string> = {}): Promise<TestSocket> {
  const socket = new WebSocket(url, { headers })
  const waiting: unknown[] = []
  let arrived: (() => void) | undefined
  socket.on('message', (data: Buffer) => {
    waiting.push(JSON.parse(data.toString()))
    arrived?.()
  })
  await once(socket, 'open')
  const next = async (): Promise<unknown> => {
    while (waiting.length === 0) {
      await new Promise<void>((resolve) => {
        arrived = resolve
      })
    }
    return waiting.shift()
  }
  let id = 0
  return {
    socket,
    waiting,
    next,
    ask: (method, params = []) => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }))
      return next()
    },
  }
}
