import type { Server, Socket } from 'node:net'
import type { Listener } from '@libp2p/interface'
import { type TCPOptions, tcp } from '@libp2p/tcp'
import type { HandshakePlaces } from './handshakePlaces.ts'

/**
 * Creates libp2p's TCP transport, whose inbound connections need a place before libp2p hears of
 * them. libp2p has limits of its own for them, but it makes all its objects for a connection before
 * it checks these. Under a flood, each connection that it refuses costs more than half a
 * millisecond, each that is closed here about 20 µs.
 */
export function guardedTcp(options: TCPOptions, places: HandshakePlaces): ReturnType<typeof tcp> {
  const createTransport = tcp(options)
  return (components) => {
    const transport = createTransport(components)
    const createListener = transport.createListener.bind(transport)
    transport.createListener = (listenerOptions) => {
      const listener = createListener(listenerOptions)
      guard(serverOf(listener), places)
      return listener
    }
    return transport
  }
}

/**
 * Returns the server of a listener. libp2p does not name this property in its types, but there is
 * no other way to its sockets.
 */
function serverOf(listener: Listener & { readonly server?: Server }): Server {
  if (listener.server === undefined) throw new Error('the TCP listener of libp2p has no server')
  return listener.server
}

function guard(server: Server, places: HandshakePlaces): void {
  const accept = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: host, remotePort: port } = socket
    // It has gone already when it has no address.
    const leave = host && port ? places.enter({ host, port }, () => socket.destroy()) : undefined
    if (leave === undefined) {
      socket.destroy()
      return
    }
    socket.once('close', leave)
    for (const listener of accept) listener.call(server, socket)
  })
}
