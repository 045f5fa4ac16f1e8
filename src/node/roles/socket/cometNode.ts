import type { MessagePort } from 'node:worker_threads'
import { decodeEvidence } from '../../../chain/comet/evidence.ts'
import type { Evidence } from '../../../chain/comet/types.ts'
import type { RoundStateView } from '../../../consensus/roundStateView.ts'
import type { NetInfo } from '../../../p2p/netInfo.ts'
import type { CometNode } from '../../../rpc/comet/env.ts'
import { type HeightTimes, type RoundStateJson, roundStateJson } from '../../../rpc/comet/json/roundState.ts'
import { type CopyChannel, createCopyChannel, publishCopies, readCopies } from '../../wire/copyOnRequest.ts'
import { notify, serve } from '../../wire/port.ts'
import { createRoundEventChannel, type RoundEventChannel } from '../../wire/roundEvents.ts'

/**
 * State of consensus and peers that socket threads receive: copies of the round, of other threads'
 * unanswered requests and of the peers, and the events of rounds.
 */
export interface NodeCopies {
  readonly roundState: CopyChannel
  readonly network: CopyChannel
  /** see `threadSilence.ts` */
  readonly silence: CopyChannel
  readonly roundEvents: RoundEventChannel
}

export function createNodeCopies(socketThreads: number, periodMs?: number): NodeCopies {
  const channel = (): CopyChannel => createCopyChannel(periodMs)
  const roundEvents = createRoundEventChannel(socketThreads)
  return { roundState: channel(), network: channel(), silence: channel(), roundEvents }
}

/**
 * The only message from a socket thread to the main thread: evidence that
 * `createBroadcastEvidenceMethod` has accepted.
 */
type EvidenceSink = {
  readonly addEvidence: (evidence: Uint8Array) => void
}

/**
 * Takes evidence from a socket thread in the main thread. It is valid, but may be known already.
 */
export function serveEvidence(port: MessagePort, add: (evidence: Evidence) => void): void {
  serve<EvidenceSink>(port, { addEvidence: (bytes) => add(decodeEvidence(bytes)) })
}

/**
 * Publishes the round for socket threads.
 * @param state undefined while consensus does not run
 * @returns a function that ends it
 */
export function publishRoundState(
  copies: NodeCopies,
  state: () => RoundStateView | undefined,
  times: () => HeightTimes,
): () => void {
  return publishCopies(copies.roundState, (): RoundStateJson | undefined => {
    const present = state()
    return present && roundStateJson(present, times())
  })
}

/**
 * Publishes the peers for socket threads, from the network thread.
 * @returns a function that ends it
 */
export function publishNetInfo(copies: NodeCopies, read: () => NetInfo): () => void {
  return publishCopies(copies.network, read)
}

/**
 * Connects a socket thread to consensus and the network.
 * @param main the other end of {@link serveEvidence}'s port
 */
export function connectCometNode(copies: NodeCopies, main: MessagePort): CometNode & { close(): void } {
  const roundState = readCopies<RoundStateJson | undefined>(copies.roundState)
  const network = readCopies<NetInfo>(copies.network)
  return {
    roundState: roundState.read,
    network: network.read,
    addEvidence: (bytes) => notify<EvidenceSink, 'addEvidence'>(main, 'addEvidence', bytes),
    close: () => {
      roundState.close()
      network.close()
      main.close()
    },
  }
}
