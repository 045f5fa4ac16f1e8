import { connect, createServer, type Socket } from 'node:net'

interface LinkQuality {
  /** milliseconds that each chunk takes, give or take up to `jitterMs` */
  readonly delayMs: number
  readonly jitterMs: number
  /** share of the chunks that the link stalls at, as a lost packet would make it */
  readonly stallShare: number
  readonly stallMs: number
}

const PERFECT_LINK: LinkQuality = { delayMs: 0, jitterMs: 0, stallShare: 0, stallMs: 0 }

/** A forwarded port that behaves like a long or broken line. */
export interface TcpProxy {
  /** of the loopback interface */
  readonly port: number
  /** connections that are open now */
  connections(): number
  /** Drops all connections and takes no new ones. */
  cut(): void
  heal(): void
  close(): Promise<void>
}

/** Forwards connections to `targetPort` on this machine; both directions have the same quality. */
export async function startTcpProxy(targetPort: number, quality: LinkQuality = PERFECT_LINK): Promise<TcpProxy> {
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect({ host: '127.0.0.1', port: targetPort, noDelay: true })
    near.setNoDelay(true)
    for (const socket of [near, far]) {
      open.add(socket)
      socket.on('close', () => {
        open.delete(socket)
        near.destroy()
        far.destroy()
      })
      // A reset is one of the things that a line does; `close` follows.
      socket.on('error', () => undefined)
    }
    forward(near, far, quality)
    forward(far, near, quality)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const drop = (): void => {
    for (const socket of open) socket.destroy()
  }
  return {
    port,
    connections: () => open.size / 2,
    cut: () => {
      isCut = true
      drop()
    },
    heal: () => {
      isCut = false
    },
    close: async () => {
      drop()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Forwards chunks in order, each when its delay is over. */
function forward(from: Socket, to: Socket, quality: LinkQuality): void {
  let dueMs = 0
  /** undefined: the end */
  const waiting: (Buffer | undefined)[] = []
  // Timers that are due at the same time fire in any order, so each forwards the oldest chunk.
  const passOn = (): void => {
    const chunk = waiting.shift()
    if (to.destroyed) return
    if (chunk === undefined) to.end()
    else to.write(chunk)
  }
  from.on('data', (chunk: Buffer) => {
    const now = performance.now()
    const isStalled = Math.random() < quality.stallShare
    const jitterMs = (Math.random() * 2 - 1) * quality.jitterMs
    dueMs = Math.max(dueMs, now + quality.delayMs + jitterMs + (isStalled ? quality.stallMs : 0))
    waiting.push(chunk)
    setTimeout(passOn, dueMs - now)
  })
  from.on('end', () => {
    waiting.push(undefined)
    setTimeout(passOn, Math.max(0, dueMs - performance.now()))
  })
}
