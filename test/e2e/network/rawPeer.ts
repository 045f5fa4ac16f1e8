import { generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import type { MessageStream, StreamMuxer } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { createLibp2p } from 'libp2p'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { dialingFrom } from '../../../src/p2p/host.ts'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import { type PeerAddress, toMultiaddr } from '../../../src/p2p/peerAddress.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { FLAG, FRAME, type FrameHeader, YamuxFrames } from '../../../src/p2p/yamuxFrames.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import type { Ed25519Key } from '../../../src/primitives/ed25519.ts'

/** A peer that writes the bytes below libp2p's streams by hand: the encryption's messages and the multiplexer's frames. */
export interface RawPeer {
  readonly id: string
  /** the bytes of the socket are read and written here */
  readonly socket: MessageStream
  /** what is sent here is encrypted */
  readonly encrypted: MessageStream
  /** headers of the frames that the node has sent */
  readonly frames: readonly FrameHeader[]
  /** Sends one message of the encryption as it is, which may have no content. */
  sendMessage(content: Uint8Array): void
  isOpen(): boolean
  /** Closes the connection, for the end of a test. */
  stop(): Promise<void>
}

/** A line of multistream-select. */
export function line(text: string): Uint8Array {
  return concatBytes(Uint8Array.of(text.length + 1), new TextEncoder().encode(`${text}\n`))
}

/** A frame of yamux. @param length that it announces, by default that of `data` */
export function frame(
  header: Partial<FrameHeader> & Pick<FrameHeader, 'type'>,
  data: Uint8Array = new Uint8Array(),
): Uint8Array {
  const { type, flags = 0, streamId = 0, length = data.length } = header
  const bytes = new Uint8Array(12)
  const view = new DataView(bytes.buffer)
  bytes[1] = type
  view.setUint16(2, flags)
  view.setUint32(4, streamId)
  view.setUint32(8, length)
  return concatBytes(bytes, data)
}

/** The frame that opens a stream of this protocol, with its first bytes. The side that has opened the connection takes odd numbers. */
export function opening(streamId: number, protocol: string, data: Uint8Array = new Uint8Array()): Uint8Array {
  const lines = concatBytes(line('/multistream/1.0.0'), line(protocol))
  return frame({ type: FRAME.data, flags: FLAG.syn, streamId }, concatBytes(lines, data))
}

/** Opens stream 1 and sends a hello on it. */
export function helloFrame(message: Uint8Array): Uint8Array {
  return opening(1, PROTOCOLS.hello, encodeFrame(message))
}

/**
 * Connects up to the end of the encryption's handshake.
 * @param muxers that the peer says it speaks
 * @param from IP address that it comes from; by default the system chooses one
 */
export async function connectRaw(
  target: PeerAddress,
  key: Ed25519Key,
  muxers: readonly string[] = ['/yamux/1.0.0'],
  from?: string,
): Promise<RawPeer> {
  let streams: readonly [socket: MessageStream, encrypted: MessageStream] | undefined
  const frames: FrameHeader[] = []
  const create = noise()
  const host = await createLibp2p({
    privateKey: await generateKeyPairFromSeed('Ed25519', key.seed),
    transports: [tcp(from === undefined ? {} : dialingFrom(from))],
    connectionEncrypters: [
      (components) => {
        const encrypter = create(components)
        const secure = encrypter.secureOutbound.bind(encrypter)
        encrypter.secureOutbound = async (socket, options) => {
          const skipStreamMuxerNegotiation = muxers.length === 0
          const secured = await secure(socket, { ...options, skipStreamMuxerNegotiation })
          streams = [socket, secured.connection]
          readFrames(secured.connection, frames)
          return secured
        }
        return encrypter
      },
    ],
    streamMuxers: muxers.map((protocol) => () => ({ protocol, createStreamMuxer: () => noMuxer(protocol) })),
    connectionGater: { denyDialMultiaddr: () => false },
    connectionMonitor: { enabled: false },
  })
  try {
    await host.dial(toMultiaddr(target))
  } catch (error) {
    await host.stop()
    throw error
  }
  const [socket, encrypted] = streams!
  // libp2p sends no message without content, so this takes what it does not name in its types.
  const { handshake } = encrypted as MessageStream & {
    readonly handshake: { encrypt(content: Uint8Array): { subarray(): Uint8Array } }
  }
  return {
    id: nodeId(key.publicKey),
    socket,
    encrypted,
    frames,
    sendMessage: (content) => {
      const message = handshake.encrypt(content).subarray()
      socket.send(concatBytes(Uint8Array.of(message.length >> 8, message.length & 0xff), message))
    },
    isOpen: () => socket.status === 'open',
    stop: async () => void (await host.stop()),
  }
}

/** Reads what the node sends, and agrees to the protocols of the streams that it opens. */
function readFrames(stream: MessageStream, frames: FrameHeader[]): void {
  const follower = new YamuxFrames()
  const agreed = new Set<number>()
  let lines: Uint8Array = new Uint8Array()
  const listener = {
    header: (header: FrameHeader) => frames.push(header) > 0,
    data: (bytes: Uint8Array) => {
      const { streamId, length } = frames.at(-1)!
      if (streamId % 2 !== 0 || agreed.has(streamId)) return
      lines = concatBytes(lines, bytes)
      if (lines.length < length) return
      agreed.add(streamId)
      // Both sides say the same lines.
      stream.send(frame({ type: FRAME.data, flags: FLAG.ack, streamId }, lines))
      lines = new Uint8Array()
    },
  }
  stream.addEventListener('message', ({ data }) => void follower.follow(data.subarray(), listener))
}

/** Stands where libp2p wants a multiplexer, and does nothing. */
function noMuxer(protocol: string): StreamMuxer {
  const none = async (): Promise<never> => {
    throw new Error('frames are written by hand')
  }
  const nothing = { protocol, streams: [], status: 'open', createStream: none, close: async () => undefined }
  return Object.assign(new EventTarget(), nothing, { abort: () => undefined }) as unknown as StreamMuxer
}
