import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'
import { afterEach } from 'vitest'

const servers: (Server | TcpServer)[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) {
    await new Promise((resolve) => server.close(resolve))
  }
})

/** Has the server listen until the test ends. @returns its URL */
export async function listen(server: Server | TcpServer): Promise<string> {
  servers.push(server)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address at which nobody listens any more. */
export async function closedAddress(): Promise<string> {
  const url = await listen(createTcpServer())
  await new Promise((resolve) => servers.pop()!.close(resolve))
  return url
}

export function httpServer(listener: RequestListener): Promise<string> {
  return listen(createServer(listener))
}

/** Sends white space without end. */
export function endless(response: ServerResponse): void {
  const more = (): void => {
    if (response.write(Buffer.alloc(1 << 16, 0x20))) setImmediate(more)
    else response.once('drain', more)
  }
  response.writeHead(200)
  more()
}

/** Sends a byte now and then. */
export function drip(response: ServerResponse): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}
