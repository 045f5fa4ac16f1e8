import type { GossipSubComponents } from '@libp2p/gossipsub'
import type { Connection, Stream, StreamHandler, Topology } from '@libp2p/interface'
import { StreamMessageEvent } from '@libp2p/interface'
import { concatBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import { ProtobufError, ProtobufWriter, visitFields, withFieldLimit } from '../primitives/protobuf.ts'
import { LIMITS } from './limits.ts'
import { ReadingPause } from './readingPause.ts'

type Registrar = GossipSubComponents['registrar']

/** Fields of gossipsub's protobuf: messages of an RPC, data and topic of a message (libp2p/specs, pubsub/README.md). */
const RPC_MESSAGES = 2
const RPC_CONTROL = 3
const CONTROL_IWANT = 2
const MESSAGE_DATA = 2
const MESSAGE_TOPIC = 4
/** More unread bytes than this pause a stream until they are read. */
const MAX_HELD = LIMITS.batchBytes
/** Longest length prefix, in bytes, of a frame that is accepted. */
const MAX_PREFIX = 4

/**
 * Most fields of a frame. An honest frame consists of messages, topics and hashes, which have twenty bytes and more. An attacker's
 * has fields of two bytes, which take gossipsub twenty times as long.
 */
const MAX_FIELDS = { each: 64, bytesPerField: 16 } as const
/** Larger frames are not handled in the same turn of the event loop as others. */
const SMALL_FRAME = 1_024

/** A message in a frame of gossipsub; `data` is a view on the frame. */
interface GossipMessage {
  readonly topic: string
  readonly data: Uint8Array
}

/** The content of a gossipsub frame. */
export interface GossipFrame {
  readonly messages: readonly GossipMessage[]
  /** whether it contains anything else, such as subscriptions and control messages */
  readonly hasMore: boolean
  /** how many fields gossipsub reads in it; undefined: no honest node sends this frame, see {@link MAX_FIELDS} */
  readonly fields: number | undefined
  /** how many messages the peer asks for by their hashes */
  readonly wanted: number
  /** in all */
  readonly bytes: number
}

/** Decides what gossipsub may read, and when. */
export interface GossipGuard {
  /** Resolves to whether this connection may gossip at all; nothing is read before. */
  readonly opens: (connection: Connection) => Promise<boolean>
  /**
   * Decides on a frame. When it has to wait, nothing more is read from its stream: `proceed` is called later, with whether it passes, and
   * the function that is returned takes the frame back.
   */
  readonly admit: (
    connection: Connection,
    frame: GossipFrame,
    proceed: (passes: boolean) => void,
  ) => 'pass' | 'drop' | (() => void)
  /** Called with what these functions throw, which ends the stream. */
  readonly failed: (error: unknown) => void
  /** Called when messages are not sent, because the peer reads too slowly. */
  readonly dropped: (messages: number) => void
}

/**
 * Stands between gossipsub and libp2p's registrar, from which gossipsub gets its streams and learns of
 * peers. Gossipsub's own interface has no place where a peer's frames could be counted before they are
 * handled (its validators see messages only, and each message once), and no way to open a stream again.
 *
 * (libp2p's `use`, which is meant for this, retains the handler of every stream and calls all of them
 * for the next one.)
 */
export class GossipStreams {
  /** undefined when everything passes */
  guard: GossipGuard | undefined
  /** Called when gossipsub has got a stream to a peer, which it uses from the next turn of the event loop on. */
  onOpened: () => void = () => undefined
  readonly #maxFrameBytes: number
  /** what gossipsub has registered to be told of peers */
  readonly #topologies = new Set<Topology>()
  /** the newest stream that gossipsub has got on a connection, to write on */
  readonly #opened = new WeakMap<Connection, Stream>()

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Returns the registrar that gossipsub gets. */
  wrap(registrar: Registrar): Registrar {
    return {
      getProtocols: () => registrar.getProtocols(),
      handle: (protocol, handler, options) => registrar.handle(protocol, this.#guarded(handler), options),
      unhandle: (protocol, options) => registrar.unhandle(protocol, options),
      getHandler: (protocol) => registrar.getHandler(protocol),
      use: (protocol, middleware) => registrar.use(protocol, middleware),
      unuse: (protocol) => registrar.unuse(protocol),
      getMiddleware: (protocol) => registrar.getMiddleware(protocol),
      register: (protocol, topology, options) => {
        this.#topologies.add(topology)
        const onConnect: Topology['onConnect'] = (peer, connection) =>
          topology.onConnect?.(peer, this.#forOpening(connection))
        return registrar.register(protocol, { ...topology, onConnect }, options)
      },
      unregister: (id) => registrar.unregister(id),
      getTopologies: (protocol) => registrar.getTopologies(protocol),
    }
  }

  /** Tells gossipsub again that this peer is connected, so that it opens a stream if it does not have one. */
  async reconnect(connection: Connection): Promise<void> {
    for (const { onConnect } of this.#topologies) await onConnect?.(connection.remotePeer, this.#forOpening(connection))
  }

  /** Returns whether gossipsub can write to this peer. */
  isOpen(connection: Connection): boolean {
    return this.#opened.get(connection)?.status === 'open'
  }

  #guarded(handler: StreamHandler): StreamHandler {
    return (stream, connection) => {
      if (this.guard !== undefined) guardStream(stream, connection, this.guard, this.#maxFrameBytes)
      return handler(stream, this.#forOpening(connection))
    }
  }

  /**
   * Returns the connection on which gossipsub opens a stream of its own. Gossipsub would keep a
   * stream forever if it ended before gossipsub listens for the end, so it does not get such a
   * stream.
   */
  #forOpening(connection: Connection): Connection {
    const newStream: Connection['newStream'] = async (protocols, options) => {
      const stream = await connection.newStream(protocols, options)
      if (stream.status !== 'open') throw new Error(`the stream was ${stream.status} at once`)
      limitUnsent(stream, (messages) => this.guard?.dropped(messages))
      this.#opened.set(connection, stream)
      setImmediate(() => this.onOpened())
      return stream
    }
    return new Proxy(connection, {
      get: (target, key) => {
        if (key === 'newStream') return newStream
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
}

/**
 * Sends no messages while many bytes wait for a slow peer, and no more at once. Gossipsub has a limit of its own, but ends the stream
 * there, and it answers a peer that asks for all recent messages with one frame. What is not sent, the peer gets from others.
 */
function limitUnsent(stream: Stream, dropped: (messages: number) => void): void {
  const send = stream.send.bind(stream)
  stream.send = (data) => {
    if (stream.writeBufferLength > LIMITS.unsentGossip) {
      const frames = new RpcFrames(Number.POSITIVE_INFINITY)
      frames.push(data.subarray())
      const content = frames.next()?.content
      // Subscriptions and control messages are few, and are not sent again.
      if (content?.hasMore === false) {
        dropped(content.messages.length)
        return false
      }
    }
    if (data.byteLength <= LIMITS.unsentGossip) return send(data)
    const { bytes, left } = shortened(data.subarray())
    dropped(left)
    return send(bytes)
  }
}

/**
 * Shortens a frame by messages until it is no longer than may wait. @returns it, and how many
 * messages it leaves out
 */
function shortened(frame: Uint8Array): { readonly bytes: Uint8Array; readonly left: number } {
  const writer = new ProtobufWriter()
  let room: number = LIMITS.unsentGossip
  let left = 0
  const frames = new RpcFrames(Number.POSITIVE_INFINITY)
  frames.push(frame)
  const body = frames.next()?.body
  if (body === undefined) throw new Error('gossipsub sends a part of a frame')
  visitFields(body, (field, value) => {
    if (typeof value === 'bigint') return
    if (field === RPC_MESSAGES && value.length > room) left++
    else {
      room -= value.length
      writer.repeatedBytes(field, [value])
    }
  })
  return { bytes: writer.finishDelimited(), left }
}

/** Makes the stream deliver only frames that pass, in their order, and none before it is known whose they are. */
function guardStream(stream: Stream, connection: Connection, guard: GossipGuard, maxFrameBytes: number): void {
  const frames = new RpcFrames(maxFrameBytes)
  const dispatch = stream.dispatchEvent.bind(stream)
  /** takes the frame back that waits */
  let cancel: (() => void) | undefined
  const fail = (error: unknown): void => {
    guard.failed(error)
    stream.abort(error instanceof Error ? error : new Error(String(error)))
  }
  /** whether the rest waits for the next turn of the event loop */
  let isHeld = false
  const deliver = ({ bytes, content }: RpcFrame): void => {
    dispatch(new StreamMessageEvent(bytes))
    // One frame with messages per turn: gossipsub's verdict is then known, and votes that have arrived meanwhile go first.
    if (content === undefined || (content.messages.length === 0 && content.bytes <= SMALL_FRAME)) return
    isHeld = true
    setImmediate(() => {
      isHeld = false
      if (cancel !== undefined) return
      if (pause.isPaused) pause.resume()
      else tryToRead()
    })
  }
  const read = (): void => {
    while (!isHeld) {
      const frame = frames.next()
      if (frame === undefined) return
      const proceed = (passes: boolean): void => {
        cancel = undefined
        if (stream.status !== 'open') return
        if (passes) deliver(frame)
        if (!isHeld) pause.resume()
      }
      const admission = frame.content === undefined ? 'pass' : guard.admit(connection, frame.content, proceed)
      if (typeof admission === 'function') {
        cancel = admission
        pause.pause()
        return
      }
      if (admission === 'pass') deliver(frame)
    }
    if (frames.unreadBytes > MAX_HELD) pause.pause()
  }
  const tryToRead = (): void => {
    try {
      read()
    } catch (error) {
      fail(error)
    }
  }
  // What was read before the pause goes first.
  const pause = new ReadingPause(stream, tryToRead)
  stream.dispatchEvent = (event) => {
    if (event.type === 'close') cancel?.()
    if (event.type !== 'message') return dispatch(event)
    frames.push((event as StreamMessageEvent).data.subarray())
    if (!pause.isPaused) tryToRead()
    return true
  }
  pause.pause()
  guard.opens(connection).then((isOpen) => {
    if (isOpen) pause.resume()
    else stream.abort(new Error('no hello on this connection'))
  }, fail)
}

/** A frame as it came, its length included; `content` undefined: it is too long, and so are all bytes after it. */
interface RpcFrame {
  readonly bytes: Uint8Array
  /** the same without the length */
  readonly body: Uint8Array
  readonly content: GossipFrame | undefined
}

/** The extent of a frame: the bytes of its length prefix, and of the whole frame. */
interface Extent {
  readonly prefix: number
  readonly size: number
}

/** A frame whose first `length` bytes have arrived. */
interface PartialFrame {
  readonly extent: Extent
  readonly bytes: Uint8Array
  length: number
}

/**
 * Cuts the bytes of a stream into gossipsub's frames. An incomplete frame takes the memory of a whole
 * one. A frame that is too long is left to gossipsub, which ends the stream.
 */
class RpcFrames {
  readonly #maxBytes: number
  /** bytes that are not read yet */
  #chunk: Uint8Array = EMPTY_BYTES
  /** a frame that has not arrived completely */
  #partial: PartialFrame | undefined
  #isTooLong = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** bytes that came and are not in a frame yet */
  get unreadBytes(): number {
    return this.#chunk.length
  }

  push(chunk: Uint8Array): void {
    this.#chunk = this.#chunk.length === 0 ? chunk : concatBytes(this.#chunk, chunk)
  }

  /** Returns the next complete frame; undefined until more bytes arrive. */
  next(): RpcFrame | undefined {
    if (this.#partial !== undefined) return this.#fill(this.#partial)
    const extent = this.#isTooLong ? undefined : this.#extent()
    if (this.#isTooLong) {
      const bytes = this.#take(this.#chunk.length)
      return bytes.length === 0 ? undefined : { bytes, body: bytes, content: undefined }
    }
    // Less than a length: it is put before the next bytes.
    if (extent === undefined) return undefined
    if (this.#chunk.length >= extent.size) return frameOf(extent, this.#take(extent.size))
    this.#partial = { extent, bytes: new Uint8Array(extent.size), length: 0 }
    return this.#fill(this.#partial)
  }

  #fill(partial: PartialFrame): RpcFrame | undefined {
    const { extent, bytes } = partial
    const piece = this.#take(Math.min(this.#chunk.length, extent.size - partial.length))
    bytes.set(piece, partial.length)
    partial.length += piece.length
    if (partial.length < extent.size) return undefined
    this.#partial = undefined
    return frameOf(extent, bytes)
  }

  /** Returns the extent of the frame that the chunk begins with; undefined until its length is complete. */
  #extent(): Extent | undefined {
    let body = 0
    for (const [index, byte] of this.#chunk.subarray(0, MAX_PREFIX).entries()) {
      body += (byte & 0x7f) * 2 ** (7 * index)
      const prefix = index + 1
      if (byte >= 0x80 && prefix < MAX_PREFIX) continue
      this.#isTooLong = byte >= 0x80 || body > this.#maxBytes
      return { prefix, size: prefix + body }
    }
    return undefined
  }

  #take(size: number): Uint8Array {
    const taken = this.#chunk.subarray(0, size)
    this.#chunk = this.#chunk.subarray(size)
    return taken
  }
}

function frameOf({ prefix }: Extent, bytes: Uint8Array): RpcFrame {
  const body = bytes.subarray(prefix)
  return { bytes, body, content: contentOf(body) }
}

const UTF8 = new TextDecoder()

/** Returns the content of an RPC; there are no messages in one that no honest node sends. */
function contentOf(rpc: Uint8Array): GossipFrame {
  const limit = MAX_FIELDS.each + Math.floor(rpc.length / MAX_FIELDS.bytesPerField)
  const messages: GossipMessage[] = []
  let fields = 0
  let wanted = 0
  let hasMore = false
  try {
    withFieldLimit(limit, () =>
      visitFields(rpc, (field, value) => {
        fields++
        if (field !== RPC_MESSAGES || typeof value === 'bigint') {
          hasMore = true
          if (typeof value === 'bigint') return
          visitFields(value, (kind, content) => {
            fields++
            if (field !== RPC_CONTROL || typeof content === 'bigint') return
            const items = countFields(content)
            fields += items
            if (kind === CONTROL_IWANT) wanted += items
          })
          return
        }
        let topic = ''
        let data = EMPTY_BYTES
        visitFields(value, (inner, content) => {
          fields++
          if (typeof content === 'bigint') return
          if (inner === MESSAGE_TOPIC) topic = UTF8.decode(content)
          if (inner === MESSAGE_DATA) data = content
        })
        messages.push({ topic, data })
      }),
    )
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return { messages: [], hasMore: true, fields: undefined, wanted, bytes: rpc.length }
  }
  return { messages, hasMore, fields, wanted, bytes: rpc.length }
}

function countFields(message: Uint8Array): number {
  let count = 0
  visitFields(message, () => {
    count++
  })
  return count
}
