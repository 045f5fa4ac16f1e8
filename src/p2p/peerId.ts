import type { PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { nodeId } from './nodeKey.ts'

/**
 * CometBFT's node ID of a libp2p peer.
 * @returns undefined when its key is not ed25519
 */
export function nodeIdOfPeer(peer: PeerId): string | undefined {
  return peer.type === 'Ed25519' ? nodeId(peer.publicKey.raw) : undefined
}

/**
 * The node ID in a text that holds one or a libp2p peer ID (`12D3KooW…`).
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
