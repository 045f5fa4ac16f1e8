import type { MessagePort } from 'node:worker_threads'
import { decodeEvidence, encodeEvidence } from '../../../chain/comet/evidence.ts'
import { ConsensusDecodingError } from '../../../chain/comet/wire.ts'
import { type ConsensusMessage, decodeConsensusMessage, encodeConsensusMessage } from '../../../consensus/messages.ts'
import type {
  BlockRequest,
  FetchedBlocks,
  Misbehaviour,
  PeerDescription,
  PeerId,
  Transport,
  TransportEvents,
} from '../../../consensus/transport.ts'
import type { OlderBlocksRequest } from '../../../p2p/headerExchange.ts'
import { PRIORITIES, type Priority } from '../../../p2p/sendQueue.ts'
import type { Session } from '../../../p2p/session.ts'
import { equalBytes } from '../../../primitives/bytes.ts'
import { type PackedBytes, packBytes, unpackBytes } from '../../wire/packedBytes.ts'
import type { PackedOlderBlocks } from '../../wire/packedOlderBlocks.ts'
import { notify, type Remote, serve } from '../../wire/port.ts'

/** Requests of the network thread to the main thread. */
export type EvidenceService = {
  readonly evidence: (peer: PeerId, bytes: Uint8Array) => Promise<'accept' | 'ignore' | 'reject'>
}

/** Requests of the main thread to the network thread, which also serves others (`NetworkService`). */
export type NetworkCalls = {
  readonly fetchBlocks: (peer: PeerId, request: BlockRequest) => Promise<PackedBlocks>
  readonly punish: (peer: PeerId, what: Misbehaviour, reason: string) => void
  readonly peers: () => readonly PeerId[]
  readonly fetchOlderBlocks: (peer: PeerId, asked: OlderBlocksRequest) => Promise<PackedOlderBlocks>
  readonly publishEvidence: (bytes: Uint8Array) => Promise<void>
  readonly setValidators: (addresses: readonly Uint8Array[]) => void
}

/** {@link FetchedBlocks} as they travel to the main thread: block, commit, block, commit and so on. */
interface PackedBlocks extends Omit<FetchedBlocks, 'blocks'> {
  readonly packed: PackedBytes
}

/** An event in the network thread. A session has a number (`handle`) instead of its peer's long ID. */
type NetworkEvent =
  | { readonly kind: 'joined'; readonly handle: number; readonly peer: PeerDescription }
  | { readonly kind: 'left'; readonly handle: number }
  /** encoded consensus messages; `handles` has the sender of each */
  | { readonly kind: 'messages'; readonly handles: Uint32Array; readonly packed: PackedBytes }

/** From the network thread to main, events in order; main answers with the number once it has handled them. */
interface NetworkReport {
  readonly number: number
  readonly events: readonly NetworkEvent[]
}

/** An encoded message to send to some sessions. */
interface Sending {
  readonly handles: readonly number[]
  readonly priority: Priority | 'part'
  readonly bytes: Uint8Array
}

/** From main to the network thread: the number of a report that was handled, or messages to send. */
export type MainMessage = number | readonly Sending[]

export interface NetworkTransportOptions {
  readonly service: Pick<Remote<NetworkCalls>, 'fetchBlocks'>
  /** the network thread's control port, for calls without an answer */
  readonly control: MessagePort
  /** the other end of `NetworkData.reports` */
  readonly reports: MessagePort
  /** the other end of `NetworkData.evidence` */
  readonly evidence: MessagePort
  /** consensus address of this node, read each time, as its key may change: its own votes are sent before those that it relays */
  readonly ownAddress: Uint8Array
  /** called when the number of connected peers has changed */
  readonly onPeerCount: (count: number) => void
}

export interface NetworkTransport extends Transport {
  /** Consensus addresses of the current validators, for which connections are reserved. Called when the set changes. */
  setValidators(addresses: readonly Uint8Array[]): void
  close(): void
}

/**
 * Returns the network thread as consensus and block sync in the main thread use it. Messages that
 * they send in one turn of the event loop go there together. {@link NetworkReports} is the other
 * end.
 */
export function createNetworkTransport(options: NetworkTransportOptions): NetworkTransport {
  const { service, control, reports } = options
  /** handle of each connected peer, and back */
  const handles = new Map<PeerId, number>()
  const peers = new Map<number, PeerId>()
  let sendings: Sending[] = []

  const flush = (): void => {
    const buffers = sendings.filter(({ priority }) => priority === 'part').map(({ bytes }) => bytes.buffer)
    reports.postMessage(sendings satisfies MainMessage, buffers as ArrayBuffer[])
    sendings = []
  }
  const handle = (event: NetworkEvent, listener: TransportEvents): void => {
    if (event.kind === 'joined') {
      peers.set(event.handle, event.peer.id)
      handles.set(event.peer.id, event.handle)
      options.onPeerCount(peers.size)
      listener.peerJoined(event.peer)
    } else if (event.kind === 'left') {
      const peer = peers.get(event.handle)!
      peers.delete(event.handle)
      handles.delete(peer)
      options.onPeerCount(peers.size)
      listener.peerLeft(peer)
    } else {
      for (const [index, bytes] of unpackBytes(event.packed).entries()) {
        const peer = peers.get(event.handles[index]!)!
        const message = decode(bytes)
        if (typeof message === 'string') notify<NetworkCalls, 'punish'>(control, 'punish', peer, 'malformed', message)
        else listener.message(peer, message)
      }
    }
  }

  return {
    listen: (listener) => {
      reports.on('message', ({ number, events: list }: NetworkReport) => {
        for (const event of list) handle(event, listener)
        reports.postMessage(number satisfies MainMessage)
      })
      serve(options.evidence, {
        evidence: async (peer, bytes) => {
          try {
            return await listener.evidence(peer, decodeEvidence(bytes))
          } catch (error) {
            if (error instanceof ConsensusDecodingError) return 'reject'
            throw error
          }
        },
      } satisfies EvidenceService)
    },
    send: (to, message) => {
      const receivers = to.flatMap((peer) => handles.get(peer) ?? [])
      if (receivers.length === 0) return
      sendings.push({
        handles: receivers,
        priority: priorityOf(message, options.ownAddress),
        bytes: encodeConsensusMessage(message),
      })
      if (sendings.length === 1) queueMicrotask(flush)
    },
    publishEvidence: (evidence) =>
      notify<NetworkCalls, 'publishEvidence'>(control, 'publishEvidence', encodeEvidence(evidence)),
    fetchBlocks: async (peer, request): Promise<FetchedBlocks> => {
      const { base, height, packed } = await service.fetchBlocks(peer, request)
      const parts = unpackBytes(packed)
      const blocks = Array.from({ length: parts.length / 2 }, (_, index) => ({
        block: parts[index * 2]!,
        commit: parts[index * 2 + 1]!,
      }))
      return { base, height, blocks }
    },
    punish: (peer, what, reason) => notify<NetworkCalls, 'punish'>(control, 'punish', peer, what, reason),
    setValidators: (addresses) => notify<NetworkCalls, 'setValidators'>(control, 'setValidators', addresses),
    close: () => {
      reports.close()
      options.evidence.close()
    },
  }
}

/**
 * Returns the message, or what is wrong with the bytes. They are copied: consensus may keep a
 * message long after the report it came in.
 */
function decode(bytes: Uint8Array): ConsensusMessage | string {
  try {
    return decodeConsensusMessage(bytes.slice())
  } catch (error) {
    if (error instanceof ConsensusDecodingError) return error.message
    throw error
  }
}

function priorityOf(message: ConsensusMessage, ownAddress: Uint8Array): Priority | 'part' {
  switch (message.kind) {
    case 'part':
      return 'part'
    case 'proposal':
      return PRIORITIES.proposal
    case 'status':
      return PRIORITIES.status
    case 'vote':
      return equalBytes(message.vote.validatorAddress, ownAddress) ? PRIORITIES.ownVote : PRIORITIES.relayedVote
  }
}

/** Messages in one report: between two reports the main thread can do other work. */
const MESSAGES_PER_REPORT = 64

interface Waiting {
  readonly session: Session
  readonly body: Uint8Array
}

/**
 * The network thread's end of {@link createNetworkTransport}: reports to the main thread what peers do. The events of one turn of the
 * event loop are sent in few reports, their messages in one array. It counts the messages that the main thread has not handled yet, so
 * that a peer that sends too fast for the main thread has to wait.
 */
export class NetworkReports {
  readonly #port: Pick<MessagePort, 'postMessage'>
  #events: NetworkEvent[] = []
  #messages: Waiting[] = []
  #isScheduled = false
  #lastNumber = 0
  /** sessions of the messages in reports that are not handled yet */
  readonly #sent = new Map<number, readonly Session[]>()
  readonly #unhandled = new Map<Session, number>()

  constructor(port: Pick<MessagePort, 'postMessage'>) {
    this.#port = port
  }

  /** how many messages of the session the main thread has not handled yet */
  unhandled(session: Session): number {
    return this.#unhandled.get(session) ?? 0
  }

  joined(session: Session): void {
    const { id, validatorAddress, hello, handle } = session
    const peer = { id, validatorAddress, base: hello.base, height: hello.height }
    this.#add({ kind: 'joined', handle, peer })
  }

  left(session: Session): void {
    this.#add({ kind: 'left', handle: session.handle })
  }

  message(session: Session, body: Uint8Array): void {
    this.#unhandled.set(session, this.unhandled(session) + 1)
    this.#messages.push({ session, body })
    if (this.#messages.length >= MESSAGES_PER_REPORT) this.#send()
    else this.#schedule()
  }

  /** The main thread has handled the report with this number. */
  handled(number: number): void {
    for (const session of this.#sent.get(number) ?? []) {
      const left = this.unhandled(session) - 1
      if (left === 0) this.#unhandled.delete(session)
      else this.#unhandled.set(session, left)
    }
    this.#sent.delete(number)
  }

  #add(event: NetworkEvent): void {
    this.#packMessages()
    this.#events.push(event)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#send()
    })
  }

  #packMessages(): void {
    if (this.#messages.length === 0) return
    const handles = Uint32Array.from(this.#messages, ({ session }) => session.handle)
    this.#events.push({ kind: 'messages', handles, packed: packBytes(this.#messages.map(({ body }) => body)) })
    const number = this.#lastNumber + 1
    this.#sent.set(number, [...(this.#sent.get(number) ?? []), ...this.#messages.map(({ session }) => session)])
    this.#messages = []
  }

  #send(): void {
    this.#packMessages()
    if (this.#events.length === 0) return
    const report: NetworkReport = { number: ++this.#lastNumber, events: this.#events }
    this.#events = []
    const buffers = report.events.flatMap((event) => (event.kind === 'messages' ? [event.packed.bytes.buffer] : []))
    this.#port.postMessage(report, buffers as ArrayBuffer[])
  }
}
