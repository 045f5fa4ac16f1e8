import type { MessagePort } from 'node:worker_threads'
import { decodeEvidence, encodeEvidence } from '../chain/consensus/evidenceCodec.ts'
import { ConsensusDecodingError } from '../chain/consensus/wire.ts'
import type { PeerId } from '../consensus/input.ts'
import type { ConsensusMessage } from '../consensus/message.ts'
import { decodeConsensusMessage, encodeConsensusMessage } from '../consensus/messageCodec.ts'
import type { FetchedBlocks, Transport, TransportEvents } from '../consensus/transport.ts'
import { PRIORITIES, type Priority } from '../p2p/sendQueue.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { NetworkService } from './network.ts'
import type { MainMessage, NetworkEvent, NetworkReport, Sending } from './networkMessages.ts'
import { unpackBytes } from './packedBytes.ts'
import { notify, type Remote, serve } from './port.ts'

/** What the network thread asks of the main thread. */
export type EvidenceJudge = {
  readonly evidence: (peer: PeerId, bytes: Uint8Array) => Promise<'accept' | 'ignore' | 'reject'>
}

export interface NetworkTransportOptions {
  readonly service: Pick<Remote<NetworkService>, 'fetchBlocks'>
  /** the network thread's control port, for calls that nobody waits for */
  readonly control: MessagePort
  /** the other end of `NetworkData.reports` */
  readonly reports: MessagePort
  /** the other end of `NetworkData.evidence` */
  readonly evidence: MessagePort
  /** consensus address of this node: its own votes go before others' */
  readonly ownAddress: Uint8Array
  /** the number of connected peers has changed */
  readonly onPeerCount: (count: number) => void
}

export interface NetworkTransport extends Transport {
  /** Consensus addresses of the present validators: they have places reserved. Called when the set changes. */
  setValidators(addresses: readonly Uint8Array[]): void
  close(): void
}

/** The network in its thread, for consensus and sync in the main thread. Messages of one turn leave together at its end. */
export function createNetworkTransport(options: NetworkTransportOptions): NetworkTransport {
  const { service, control, reports, ownAddress } = options
  /** sessions by peer and back */
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
        if (typeof message === 'string') notify<NetworkService, 'punish'>(control, 'punish', peer, 'malformed', message)
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
      } satisfies EvidenceJudge)
    },
    send: (to, message) => {
      const receivers = to.flatMap((peer) => handles.get(peer) ?? [])
      if (receivers.length === 0) return
      sendings.push({
        handles: receivers,
        priority: priorityOf(message, ownAddress),
        bytes: encodeConsensusMessage(message),
      })
      if (sendings.length === 1) queueMicrotask(flush)
    },
    publishEvidence: (evidence) =>
      notify<NetworkService, 'publishEvidence'>(control, 'publishEvidence', encodeEvidence(evidence)),
    fetchBlocks: async (peer, request): Promise<FetchedBlocks> => {
      const { base, height, packed } = await service.fetchBlocks(peer, request)
      const parts = unpackBytes(packed)
      const blocks = Array.from({ length: parts.length / 2 }, (_, index) => ({
        block: parts[index * 2]!,
        commit: parts[index * 2 + 1]!,
      }))
      return { base, height, blocks }
    },
    punish: (peer, what, reason) => notify<NetworkService, 'punish'>(control, 'punish', peer, what, reason),
    setValidators: (addresses) => notify<NetworkService, 'setValidators'>(control, 'setValidators', addresses),
    close: () => {
      reports.close()
      options.evidence.close()
    },
  }
}

/** A message, or why the bytes are none. It may be kept for long: it gets memory of its own, not a view on everybody's. */
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
