import { randomUUID } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import { decodeVote, encodeVote } from '../../chain/comet/vote.ts'
import type { RoundEvent, RoundEventSink } from '../../consensus/roundEvents.ts'
import type { RoundEventSource } from '../../rpc/comet/eventHub.ts'
import { withOwnBuffer } from './port.ts'
import { countWatchers, createWatchers, isWatched, type Watchers } from './sharedMemory.ts'

/*
 * How the main thread reports rounds and votes to socket threads, without a message from them. Each socket thread counts in shared memory
 * its subscriptions that want such events. While there are any, the main thread sends what happened in a turn of its event loop as one
 * message. What a client can cause is that message: it is one for votes whose signatures were verified in the same turn, however many
 * subscriptions there are.
 */

/** Where the events go, and who wants them. */
export interface RoundEventChannel {
  /** of a broadcast channel */
  readonly name: string
  readonly watchers: Watchers
}

/** An event whose bytes have buffers of their own: to clone bytes clones the whole buffer that they are in. */
type PackedEvent = Exclude<RoundEvent, { readonly kind: 'Vote' }> | { readonly kind: 'Vote'; readonly vote: Uint8Array }

/** Events of one message: about ten rounds of 50 validators. What comes beyond in one turn is not reported. */
const MAX_EVENTS = 1_024

export function createRoundEventChannel(socketThreads: number): RoundEventChannel {
  return { name: `coind-rounds-${randomUUID()}`, watchers: createWatchers(socketThreads) }
}

/** Opens the main thread's end. */
export function publishRoundEvents({ name, watchers }: RoundEventChannel): RoundEventSink & { close(): void } {
  const channel = new BroadcastChannel(name)
  let events: PackedEvent[] = []
  let isClosed = false

  const send = (): void => {
    const sent = events
    events = []
    if (!isClosed) channel.postMessage(sent)
  }
  return {
    isWanted: () => isWatched(watchers),
    publish: (event) => {
      if (isClosed || events.length >= MAX_EVENTS) return
      events.push(pack(event))
      if (events.length === 1) setImmediate(send)
    },
    close: () => {
      isClosed = true
      channel.close()
    },
  }
}

/** Opens a socket thread's end. @param index of the thread */
export function followRoundEvents(
  { name, watchers }: RoundEventChannel,
  index: number,
): RoundEventSource & { close(): void } {
  const channel = new BroadcastChannel(name)
  return {
    watch: (change) => countWatchers(watchers, index, change),
    onEvents: (listener) => {
      channel.onmessage = (event) => {
        // The channel is the node's own: only the main thread posts on it.
        listener((event as { readonly data: readonly PackedEvent[] }).data.map(unpack))
      }
    },
    close: () => channel.close(),
  }
}

function pack(event: RoundEvent): PackedEvent {
  switch (event.kind) {
    case 'Vote':
      return { kind: 'Vote', vote: withOwnBuffer(encodeVote(event.vote)) }
    case 'NewRound': {
      const { address, index } = event.proposer
      return { ...event, proposer: { address: withOwnBuffer(address), index } }
    }
    case 'CompleteProposal': {
      const { hash, partSetHeader } = event.blockId
      const parts = { ...partSetHeader, hash: withOwnBuffer(partSetHeader.hash) }
      return { ...event, blockId: { hash: withOwnBuffer(hash), partSetHeader: parts } }
    }
    case 'NewRoundStep':
      return event
  }
}

function unpack(event: PackedEvent): RoundEvent {
  return event.kind === 'Vote' ? { kind: 'Vote', vote: decodeVote(event.vote) } : event
}
