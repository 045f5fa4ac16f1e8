import { isIP, isIPv4 } from 'node:net'
import type { PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { addressRange } from '../primitives/networkAddress.ts'
import { ProtobufError, type ProtobufFields, type ProtobufWriter } from '../primitives/protobuf.ts'
import { nodeId } from './nodeKey.ts'

/** Where a peer can be dialled: host name or IP address, and port. */
export interface PeerAddress {
  readonly host: string
  readonly port: number
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** Reads host:port, with an IPv6 address in brackets; undefined for anything else. */
export function parsePeerAddress(text: string): PeerAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text)
  if (match === null) return undefined
  const host = match[1] ?? match[2]!
  const port = Number(match[3])
  const isHost = match[1] === undefined ? isIPv4(host) || HOST_NAME.test(host) : isIP(host) === 6
  return isHost && port > 0 && port <= 65_535 ? { host, port } : undefined
}

export function formatPeerAddress({ host, port }: PeerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns the multiaddr without a peer ID: the caller checks the ID of the node that answers. */
export function toMultiaddr({ host, port }: PeerAddress): Multiaddr {
  const kind = isIP(host) === 0 ? 'dns' : isIPv4(host) ? 'ip4' : 'ip6'
  return multiaddr(`/${kind}/${host}/tcp/${port}`)
}

/** Returns the IP address and port of a connection's other side. */
export function fromMultiaddr(address: Multiaddr): PeerAddress | undefined {
  const [host, port] = address.getComponents()
  if (host?.value === undefined || port?.name !== 'tcp') return undefined
  // The form of an IPv4 address on a socket that listens on IPv4 and IPv6.
  return { host: host.value.replace(/^::ffff:(?=\d+\.)/i, ''), port: Number(port.value) }
}

/** From where an address can be reached. A host name counts as public, because it may resolve to any address. */
type Reach = 'loopback' | 'private' | 'public'

const PRIVATE_RANGES = ['private', 'linkLocal', 'carrierGradeNat', 'uniqueLocal']

export function reachOf(host: string): Reach {
  const range = host === 'localhost' ? 'loopback' : addressRange(host)
  if (range === 'loopback') return 'loopback'
  return range !== undefined && PRIVATE_RANGES.includes(range) ? 'private' : 'public'
}

/**
 * Returns whether an address may be anywhere in the Internet; CometBFT's `Routable`
 * (p2p/netaddress.go). Of a name that is not known before it is resolved.
 */
export function isRoutable(host: string): boolean {
  const range = addressRange(host)
  return range === undefined ? host !== 'localhost' : range === 'unicast'
}

/**
 * Returns whether to dial `host` because a peer at `source` names it: a peer from outside must not
 * make this node dial addresses in its own network.
 */
export function isPlausible(host: string, source: string): boolean {
  if (host === '0.0.0.0' || host === '::') return false
  const reach = reachOf(host)
  if (reach === 'public') return true
  const from = reachOf(source)
  return reach === 'loopback' ? from === 'loopback' : from !== 'public'
}

/** Selects the peers that a peer at `host` may be told about: outside this node's own network, no addresses within it. */
export function tellableTo(host: string, peers: readonly KnownPeer[]): readonly KnownPeer[] {
  return peers.filter(({ address }) => isPlausible(parsePeerAddress(address)!.host, host))
}

/**
 * Returns CometBFT's node ID of a libp2p peer.
 * @returns undefined when its key is not ed25519
 */
export function nodeIdOfPeer(peer: PeerId): string | undefined {
  return peer.type === 'Ed25519' ? nodeId(peer.publicKey.raw) : undefined
}

/**
 * Parses a node ID, or a libp2p peer ID (`12D3KooW…`) into the node ID.
 * @throws TypeError for anything else
 */
export function parseNodeId(text: string): string {
  if (/^[0-9a-f]{40}$/i.test(text)) return text.toLowerCase()
  let id: string | undefined
  try {
    id = nodeIdOfPeer(peerIdFromString(text))
  } catch (cause) {
    throw new TypeError(`not a node ID: ${text.slice(0, 80)}`, { cause })
  }
  if (id === undefined) throw new TypeError(`the peer ID ${text} is not of an ed25519 key`)
  return id
}

/** A peer that nodes name to each other. */
export interface KnownPeer {
  readonly id: string
  /** host:port */
  readonly address: string
  /** it has proved to the naming node that it is a validator; such peers are dialled first */
  readonly isValidator: boolean
}

const MAX_ADDRESS = 262

export function writeKnownPeer(writer: ProtobufWriter, { id, address, isValidator }: KnownPeer): void {
  writer
    .string(1, id)
    .string(2, address)
    .varint(3, isValidator ? 1 : 0)
}

/** @throws ProtobufError */
export function readKnownPeer(fields: ProtobufFields): KnownPeer {
  const id = fields.string(1)
  const address = fields.string(2)
  if (!/^[0-9a-f]{40}$/.test(id)) throw new ProtobufError('not a node ID')
  if (address.length > MAX_ADDRESS || parsePeerAddress(address) === undefined) throw new ProtobufError('not host:port')
  return { id, address, isValidator: fields.integer(3) !== 0n }
}
