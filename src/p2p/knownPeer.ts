import { ProtobufError, type ProtobufFields, type ProtobufWriter } from '../primitives/protobuf.ts'
import { parsePeerAddress } from './peerAddress.ts'

/** A peer as others are told of it. */
export interface KnownPeer {
  readonly id: string
  /** host:port */
  readonly address: string
  /** it has proved to be a validator to whoever tells; a hint for whom to dial first */
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
