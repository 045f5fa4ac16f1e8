import type { Stream } from '@libp2p/interface'
import { bytesToHex, concatBytes, equalBytes } from '../primitives/bytes.ts'
import { ed25519Address, signEd25519, verifyEd25519 } from '../primitives/ed25519.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../primitives/protobuf.ts'
import { readFrame } from './frames.ts'
import { LIMITS } from './limits.ts'
import { type KnownPeer, readKnownPeer, writeKnownPeer } from './peerAddress.ts'

/** A node's announcement about itself on a new connection. `connections.ts` has the order of the handshake. */
export interface Hello {
  readonly protocolVersion: number
  readonly genesisHash: Uint8Array
  readonly chainId: string
  /** version of the software */
  readonly version: string
  readonly moniker: string
  /** host:port that others should dial; empty: the address of the connection, with `listenPort` */
  readonly externalAddress: string
  readonly listenPort: number
  /** PUBLIC_RPC_URL; empty: none */
  readonly rpcAddress: string
  /** lowest block that it can serve */
  readonly base: number
  /** height of its newest block */
  readonly height: number
  readonly validator: ValidatorProof | undefined
  /** a seed node that hangs up soon */
  readonly isVisit: boolean
  /** 16 random bytes of this process, which distinguish a restarted node from its former process */
  readonly instance: Uint8Array
}

/** The answer of a node that has no slot for the other one. */
interface Refusal {
  readonly reason: string
  /** other peers to try */
  readonly peers: readonly KnownPeer[]
}

export type HandshakeMessage =
  | { readonly kind: 'hello'; readonly hello: Hello }
  | { readonly kind: 'refusal'; readonly refusal: Refusal }

const MAX_TEXT = 256
const INSTANCE_BYTES = 16
/** Printable characters only, so that the text can be used in logs and JSON unchanged. */
const TEXT = /^[^\p{C}]*$/u

/**
 * Reads the other side's hello or refusal.
 * @throws PeerTimeout, FrameError, ProtobufError, or the stream's error
 */
export async function readHandshakeMessage(stream: Stream): Promise<HandshakeMessage> {
  return decodeHandshakeMessage(await readFrame(stream, LIMITS.helloBytes, LIMITS.helloMs))
}

export function encodeHandshakeMessage(message: HandshakeMessage): Uint8Array {
  const writer = new ProtobufWriter()
  if (message.kind === 'hello') writer.message(1, writeHello, message.hello)
  else writer.message(2, writeRefusal, message.refusal)
  return writer.finish()
}

/** @throws ProtobufError */
export function decodeHandshakeMessage(bytes: Uint8Array): HandshakeMessage {
  const fields = new ProtobufFields(bytes)
  if (fields.repeatedBytes(1).length > 0) return { kind: 'hello', hello: fields.message(1, readHello) }
  return { kind: 'refusal', refusal: fields.message(2, readRefusal) }
}

/**
 * Compares the values that two nodes must have in common to be peers.
 * @returns the difference, for the operator's log; undefined when they agree
 */
export function differenceOf(own: Hello, other: Hello): string | undefined {
  if (own.protocolVersion !== other.protocolVersion) {
    return `it speaks version ${other.protocolVersion} of the peer protocol, this node version ${own.protocolVersion}`
  }
  if (own.chainId !== other.chainId) return `it is of chain ${other.chainId}, this node of ${own.chainId}`
  if (equalBytes(own.genesisHash, other.genesisHash)) return undefined
  return `its genesis is ${bytesToHex(other.genesisHash)}, this node's ${bytesToHex(own.genesisHash)}`
}

function writeHello(writer: ProtobufWriter, hello: Hello): void {
  writer
    .varint(1, hello.protocolVersion)
    .bytes(2, hello.genesisHash)
    .string(3, hello.chainId)
    .string(4, hello.version)
    .string(5, hello.moniker)
    .string(6, hello.externalAddress)
    .varint(7, hello.listenPort)
    .string(8, hello.rpcAddress)
    .varint(9, hello.base)
    .varint(10, hello.height)
    .bytes(13, hello.instance)
    .varint(14, hello.isVisit ? 1 : 0)
  if (hello.validator !== undefined) writer.bytes(11, hello.validator.publicKey).bytes(12, hello.validator.signature)
}

function readHello(fields: ProtobufFields): Hello {
  const publicKey = fields.bytes(11)
  return {
    protocolVersion: fields.natural(1),
    genesisHash: fields.fixedBytes(2, 32),
    chainId: readText(fields, 3),
    version: readText(fields, 4),
    moniker: readText(fields, 5),
    externalAddress: readText(fields, 6),
    listenPort: fields.natural(7, 65_535),
    rpcAddress: readText(fields, 8),
    base: fields.natural(9),
    height: fields.natural(10),
    validator:
      publicKey.length === 0
        ? undefined
        : { publicKey: fields.fixedBytes(11, 32), signature: fields.fixedBytes(12, 64) },
    instance: fields.fixedBytes(13, INSTANCE_BYTES),
    isVisit: fields.integer(14) !== 0n,
  }
}

function writeRefusal(writer: ProtobufWriter, { reason, peers }: Refusal): void {
  writer.string(1, reason).repeatedMessage(2, writeKnownPeer, peers)
}

function readRefusal(fields: ProtobufFields): Refusal {
  return { reason: readText(fields, 1), peers: fields.repeatedMessage(2, readKnownPeer) }
}

function readText(fields: ProtobufFields, field: number): string {
  const text = fields.string(field)
  if (text.length > MAX_TEXT || !TEXT.test(text)) throw new ProtobufError(`field ${field} is not a line of text`)
  return text
}

/**
 * Start of the bytes that the proof signs. No other message that a validator signs starts with them: sign bytes of votes and proposals
 * are length-prefixed protobuf, and their second byte is 0x08.
 */
const DOMAIN = new TextEncoder().encode('coind/validator-proof/1')

/** Proves that the holder of a node key also holds a validator's consensus key. */
export interface ValidatorProof {
  /** ed25519, 32 bytes: the consensus key */
  readonly publicKey: Uint8Array
  /** 64 bytes */
  readonly signature: Uint8Array
}

/**
 * Returns the bytes that the consensus key signs: the node's public key (32 bytes) and the genesis
 * hash of the chain (32 bytes).
 */
function boundBytes(nodePublicKey: Uint8Array, genesisHash: Uint8Array): Uint8Array {
  return concatBytes(DOMAIN, Uint8Array.of(nodePublicKey.length), nodePublicKey, genesisHash)
}

/** Creates the proof in the main thread, which has the validator's key; the network thread gets only the proof. */
export function createValidatorProof(
  key: Parameters<typeof signEd25519>[0] & { readonly publicKey: Uint8Array },
  nodePublicKey: Uint8Array,
  genesisHash: Uint8Array,
): ValidatorProof {
  return { publicKey: key.publicKey, signature: signEd25519(key, boundBytes(nodePublicKey, genesisHash)) }
}

/**
 * Returns the consensus address (20 bytes) of the validator that the proof names; undefined when
 * the signature is wrong.
 */
export function provenValidator(
  proof: ValidatorProof,
  nodePublicKey: Uint8Array,
  genesisHash: Uint8Array,
): Uint8Array | undefined {
  const isValid = verifyEd25519(proof.publicKey, boundBytes(nodePublicKey, genesisHash), proof.signature)
  return isValid ? ed25519Address(proof.publicKey) : undefined
}
