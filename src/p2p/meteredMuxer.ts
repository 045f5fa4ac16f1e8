import {
  type MessageStream,
  type Stream,
  StreamMessageEvent,
  type StreamMuxer,
  type StreamMuxerFactory,
} from '@libp2p/interface'
import { yamux } from '@libp2p/yamux'
import { type ConnectionMeter, type ConnectionMeters, OverBudget } from './connectionMeter.ts'
import { LIMITS, TokenBucket, WORK } from './limits.ts'
import { TransportFault } from './socketFrames.ts'
import { StreamNegotiations } from './streamNegotiations.ts'
import { FLAG, FRAME, type FrameHeader, YamuxFrames } from './yamuxFrames.ts'

/** A yamux stream, with what libp2p does not name in its types. */
interface WindowedStream extends Stream {
  readonly streamId: number
  /** bytes that the other side may send, and that this node may send */
  readonly recvWindowCapacity: number
  readonly sendWindowCapacity: number
}

interface MuxerComponents {
  /** libp2p has it only after it has made its multiplexers */
  readonly registrar: { getProtocols(): string[] }
}

/** The protocol with which libp2p asks who a node is. Each answer takes a signature, and a node asks once. */
const IDENTIFY = '/ipfs/id/1.0.0'
/** A stream with a smaller window than this sends its bytes in frames of a few bytes each. */
const SMALL_WINDOW = 4 << 10
/** Ended streams are searched for when this many are remembered. */
const REMEMBERED_STREAMS = 128

/**
 * Creates a yamux whose frames are checked and charged before it has them. It buffers a frame by
 * the length that its header announces, and answers pings, new streams and data one by one, whether
 * the other side reads the answers or not.
 */
export function meteredYamux(
  meters: ConnectionMeters,
  now: () => number,
): (components: MuxerComponents) => StreamMuxerFactory {
  const create = yamux({
    enableKeepAlive: true,
    keepAliveInterval: LIMITS.keepAliveMs,
    maxInboundStreams: 64,
    maxOutboundStreams: 256,
    maxEarlyStreams: LIMITS.streamsBeforeHello,
    streamOptions: {
      maxStreamWindowSize: LIMITS.streamWindow,
      maxReadBufferLength: 2 * LIMITS.streamWindow,
      // Streams of a halted chain may be silent for any time; dead connections are detected by LIMITS.silentMs.
      inactivityTimeout: Number.MAX_SAFE_INTEGER,
    },
  })
  return (components) => {
    const factory = create()
    return {
      protocol: factory.protocol,
      createStreamMuxer: (connection: MessageStream): StreamMuxer => {
        const meter = meters.of(connection)
        // Before yamux listens, so that it gets only the bytes that the gate passes on.
        const gate = new FrameGate(connection, meter, () => components.registrar.getProtocols(), now)
        const muxer: StreamMuxer = factory.createStreamMuxer(connection)
        gate.streams = () => muxer.streams as WindowedStream[]
        meters.muxed(connection, muxer)
        return muxer
      },
    }
  }
}

/** Stands before the muxer of a connection. */
class FrameGate {
  streams: () => readonly WindowedStream[] = () => []
  readonly #connection: MessageStream
  readonly #meter: ConnectionMeter
  readonly #now: () => number
  readonly #frames = new YamuxFrames()
  readonly #negotiations: StreamNegotiations
  readonly #streamRate: TokenBucket
  readonly #pingRate: TokenBucket
  readonly #identifyRate: TokenBucket
  #streamsBeforeHello = 0
  /** the stream of the frame whose data comes, and its number */
  #stream: WindowedStream | undefined
  #streamId = 0
  /** where the data of frames ends in the bytes that are followed */
  #ends: number[] = []
  /** by stream: the pieces in which its data came since it was last read to the end */
  readonly #pieces = new Map<number, number>()
  /** The other side has said that it leaves. Yamux would answer it further. */
  #hasLeft = false
  #isPassing = false

  constructor(connection: MessageStream, meter: ConnectionMeter, protocols: () => string[], now: () => number) {
    const nowMs = now()
    this.#connection = connection
    this.#meter = meter
    this.#now = now
    this.#negotiations = new StreamNegotiations(protocols)
    this.#streamRate = new TokenBucket(LIMITS.streams, nowMs)
    this.#pingRate = new TokenBucket(LIMITS.pings, nowMs)
    this.#identifyRate = new TokenBucket(LIMITS.identifies, nowMs)
    connection.addEventListener('message', (event) => {
      if (!this.#isPassing) this.#receive(event)
    })
  }

  #receive(event: StreamMessageEvent): void {
    if (this.#meter.isEnded || this.#hasLeft) {
      event.stopImmediatePropagation()
      return
    }
    const bytes = event.data.subarray()
    const passed = this.#meter.guard(() => this.#follow(bytes))
    const pieces = passed === undefined ? [] : piecesOf(bytes, [...this.#ends, passed])
    if (passed === bytes.length && !pieces.some(holdsMore)) return
    event.stopImmediatePropagation()
    if (passed === undefined) return
    // The rest comes again when the pause is over.
    if (passed < bytes.length) this.#connection.unshift(bytes.subarray(passed))
    this.#isPassing = true
    try {
      for (const piece of pieces) {
        // What came before has ended the connection.
        if (this.#meter.isEnded) return
        this.#connection.dispatchEvent(new StreamMessageEvent(holdsMore(piece) ? new Uint8Array(piece) : piece))
      }
    } finally {
      this.#isPassing = false
    }
  }

  /** Returns how many bytes may pass now. */
  #follow(bytes: Uint8Array): number {
    // While a pause ends, libp2p delivers what it has buffered even if the next pause has begun.
    if (this.#meter.isPaused) return 0
    this.#meter.lastReceivedMs = this.#now()
    // Not later: streams that are opened in these bytes are not known to yamux yet.
    if (this.#negotiations.size >= REMEMBERED_STREAMS) this.#forgetStreams()
    this.#checkUnread()
    this.#ends = []
    return this.#frames.follow(bytes, {
      header: (header) => this.#meter.charge(this.#check(header)),
      data: (data) => {
        this.#ends.push(data.byteOffset - bytes.byteOffset + data.length)
        this.#pieces.set(this.#streamId, (this.#pieces.get(this.#streamId) ?? 0) + 1)
        this.#readData(data)
      },
    })
  }

  /** Checks a frame and returns the work that it causes. @throws TransportFault, OverBudget */
  #check(header: FrameHeader): number {
    switch (header.type) {
      case FRAME.ping:
        if (!this.#pingRate.take(1, this.#now())) throw new OverBudget('it pings too often')
        return WORK.ping
      case FRAME.goAway:
        // Yamux still gets this frame, and what came with it.
        queueMicrotask(() => {
          this.#hasLeft = true
        })
        return WORK.frame
      default:
        return this.#checkStream(header)
    }
  }

  #checkStream({ type, flags, streamId, length }: FrameHeader): number {
    const isOpening = (flags & FLAG.syn) !== 0
    const stream = this.streams().find((one) => one.streamId === streamId)
    this.#stream = stream
    this.#streamId = streamId
    if (isOpening) this.#open(streamId)
    if ((flags & FLAG.rst) !== 0) this.#negotiations.delete(streamId)
    const opening = isOpening ? WORK.stream : 0
    if (type === FRAME.windowUpdate) {
      const isDribble = stream !== undefined && stream.sendWindowCapacity + length < SMALL_WINDOW
      return opening + (isDribble ? WORK.smallWindow : WORK.frame)
    }
    // Data of a stream that has just ended here may be under way still, as much as its window.
    const window = stream?.recvWindowCapacity ?? LIMITS.streamWindow
    if (length > window)
      throw new TransportFault(`a frame of ${length} bytes for a stream that may send ${window} bytes`)
    if (stream?.protocol === '' && stream.direction === 'outbound') this.#negotiations.open(streamId, true)
    return opening + WORK.data
  }

  #open(streamId: number): void {
    if (!this.#meter.isKnown && ++this.#streamsBeforeHello > LIMITS.streamsBeforeHello)
      throw new OverBudget('it opens too many streams before its hello')
    if (!this.#streamRate.take(1, this.#now())) throw new OverBudget('it opens too many streams')
    this.#negotiations.open(streamId, false)
  }

  #readData(data: Uint8Array): void {
    if (!this.#negotiations.has(this.#streamId)) return
    if (this.#stream !== undefined && this.#stream.protocol !== '') {
      this.#negotiations.delete(this.#streamId)
      return
    }
    const protocol = this.#negotiations.read(this.#streamId, data)
    if (protocol === false) throw new OverBudget('it negotiates protocols without end')
    if (protocol === IDENTIFY && !this.#identifyRate.take(1, this.#now()))
      throw new OverBudget('it asks too often who this node is')
  }

  /**
   * Checks the unread bytes: a paused stream takes a window; one without a reader, and one in
   * negotiation, take more than that.
   */
  #checkUnread(): void {
    if (this.#unread() <= LIMITS.unreadBytes) return
    this.#forgetStreams()
    if (this.#unread() > LIMITS.unreadBytes) throw new OverBudget('it sends more than is read')
  }

  /** Forgets the streams that have ended, or that libp2p has passed on, since their last data arrived. */
  #forgetStreams(): void {
    const pending = this.streams().filter(({ protocol }) => protocol === '')
    const ids = new Set(pending.map(({ streamId }) => streamId))
    this.#negotiations.prune((id) => ids.has(id))
  }

  /** Returns the bytes that wait on all streams, plus the overhead of each piece. */
  #unread(): number {
    let unread = this.#negotiations.early
    const waiting = new Set<number>()
    for (const { streamId, readBufferLength } of this.streams()) {
      unread += readBufferLength
      if (readBufferLength > 0) waiting.add(streamId)
    }
    for (const [streamId, count] of this.#pieces) {
      // Yamux has the pieces of the frame whose data still comes.
      if (waiting.has(streamId) || (streamId === this.#streamId && this.#frames.isWithinData))
        unread += count * LIMITS.unreadPiece
      else this.#pieces.delete(streamId)
    }
    return unread
  }
}

/** Returns the bytes up to each of these ends, without empty ones. */
function piecesOf(bytes: Uint8Array, ends: readonly number[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  let begin = 0
  for (const end of ends) {
    if (end > begin) pieces.push(bytes.subarray(begin, end))
    begin = end
  }
  return pieces
}

/**
 * Returns whether bytes keep more than twice their length in memory while they wait: yamux passes
 * them on as views, and a byte for a stream that nothing reads would hold the whole encrypted
 * message, or what came from the socket with it.
 */
function holdsMore({ length, buffer }: Uint8Array): boolean {
  return 2 * length < buffer.byteLength
}
