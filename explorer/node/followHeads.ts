import { WebSocket } from 'ws'

/** Reports a node's new blocks. */
export interface HeadFollower {
  /** Resolves when the node has announced a block since the last call, and after {@link POLL_MS} at the latest. */
  next(): Promise<void>
  close(): void
}

/** Pause between requests while the node announces no block: the connection may be lost. */
const POLL_MS = 1_000
const RECONNECT_MS = 2_000
const SUBSCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] })

/**
 * Follows the new blocks of the node at this RPC address over its WebSocket, and connects again when that ends. Without a connection
 * {@link HeadFollower.next} is a clock.
 */
export function followHeads(address: string, stop: AbortSignal): HeadFollower {
  const url = new URL('ws', address.endsWith('/') ? address : `${address}/`)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  let isNew = false
  let wake: (() => void) | undefined
  let socket: WebSocket | undefined
  let timer: NodeJS.Timeout | undefined

  const connect = (): void => {
    socket = new WebSocket(url, { perMessageDeflate: false })
    socket.on('open', () => socket?.send(SUBSCRIBE))
    socket.on('message', () => {
      isNew = true
      wake?.()
    })
    // 'close' follows.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (!stop.aborted) timer = setTimeout(connect, RECONNECT_MS)
    })
  }
  connect()
  const close = (): void => {
    clearTimeout(timer)
    socket?.removeAllListeners('close')
    socket?.terminate()
    wake?.()
  }
  stop.addEventListener('abort', close)
  return {
    next: () =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(waiting)
          wake = undefined
          isNew = false
          resolve()
        }
        const waiting = setTimeout(done, POLL_MS)
        wake = done
        if (isNew || stop.aborted) done()
      }),
    close,
  }
}
