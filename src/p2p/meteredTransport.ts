import type { ConnectionEncrypter, MultiaddrConnection, Upgrader } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import type { tcp } from '@libp2p/tcp'
import type { ConnectionMeters } from './connectionMeter.ts'
import { TransportFault } from './socketFrames.ts'

type CreateTransport = ReturnType<typeof tcp>

/** Returns a TCP transport whose connections are metered from their first byte on, those that it dials too. */
export function meteredTransport(create: CreateTransport, meters: ConnectionMeters): CreateTransport {
  return (components) => {
    const transport = create(components)
    const dial = transport.dial.bind(transport)
    transport.dial = (address, options) =>
      dial(address, { ...options, upgrader: meteredUpgrader(options.upgrader, meters) })
    const createListener = transport.createListener.bind(transport)
    transport.createListener = (options) =>
      createListener({ ...options, upgrader: meteredUpgrader(options.upgrader, meters) })
    return transport
  }
}

/** Wraps the upgrader, to which libp2p passes each new connection before it reads from it. */
function meteredUpgrader(upgrader: Upgrader, meters: ConnectionMeters): Upgrader {
  const metered = Object.create(upgrader) as Upgrader
  metered.upgradeInbound = (raw: MultiaddrConnection, options: Parameters<Upgrader['upgradeInbound']>[1]) => {
    meters.opened(raw)
    return upgrader.upgradeInbound(raw, options)
  }
  metered.upgradeOutbound = (raw: MultiaddrConnection, options: Parameters<Upgrader['upgradeOutbound']>[1]) => {
    meters.opened(raw)
    return upgrader.upgradeOutbound(raw, options)
  }
  return metered
}

/** Creates a noise that reports each connection's handshake to the meters. */
export function meteredNoise(meters: ConnectionMeters): ReturnType<typeof noise> {
  const create = noise()
  return (components) => {
    const encrypter = create(components)
    for (const secure of ['secureInbound', 'secureOutbound'] as const) {
      const handshake = encrypter[secure].bind(encrypter)
      const metered: ConnectionEncrypter[typeof secure] = async (raw, options) => {
        const secured = await handshake(raw, options)
        // Otherwise libp2p would agree on it line by line, without a bound.
        if (secured.streamMuxer === undefined) throw new TransportFault('it names no multiplexer in its handshake')
        meters.encrypted(raw, secured.connection)
        return secured
      }
      Object.assign(encrypter, { [secure]: metered })
    }
    return encrypter
  }
}
