import { randomUUID } from 'node:crypto'
import { createGate, type Gate } from './gate.ts'
import { createPendingWatch, type PendingWatch } from './pendingWatch.ts'
import { createPublishedHeight, type PublishedHeight } from './publishedHeight.ts'
import { type Channel, channel } from './spawn.ts'

/** Channels from a thread to the pool. */
export interface PoolChannels {
  readonly calls: Channel
  readonly admissions: Channel
}

/** Channels between the threads: the left end is the caller's, the right end the server's. */
export interface Wiring {
  /** opens when the database holds a chain */
  readonly databaseGate: Gate
  readonly headChannel: string
  readonly publishedHeight: PublishedHeight
  readonly pendingChannel: string
  readonly pendingWatch: PendingWatch
  readonly executorToPool: Channel
  readonly views: readonly { readonly toPool: PoolChannels }[]
  readonly sockets: readonly {
    readonly toPool: PoolChannels
    /** one a view thread */
    readonly toViews: readonly Channel[]
    /** to the filters of the first socket thread; unused by that one */
    readonly toFilters: Channel
    /** to the main thread */
    readonly toMain: Channel
  }[]
  readonly network: {
    /** transactions of peers */
    readonly admissions: Channel
    /** transactions of this node's clients, from the pool */
    readonly announcements: Channel
    /** one a view thread */
    readonly toViews: readonly Channel[]
    /** messages and events, to the main thread and back */
    readonly reports: Channel
    /** to the main thread's judge of evidence */
    readonly evidence: Channel
  }
  /** from the main thread, one a view thread */
  readonly mainToViews: readonly Channel[]
}

/** All channels of a node with so many threads that serve clients. */
export function wire(threads: { readonly viewThreads: number; readonly socketThreads: number }): Wiring {
  const instance = randomUUID()
  const toViews = (): readonly Channel[] => Array.from({ length: threads.viewThreads }, channel)
  return {
    databaseGate: createGate(),
    headChannel: `coind-heads-${instance}`,
    publishedHeight: createPublishedHeight(),
    pendingChannel: `coind-pending-${instance}`,
    pendingWatch: createPendingWatch(),
    executorToPool: channel(),
    views: Array.from({ length: threads.viewThreads }, () => ({ toPool: poolChannels() })),
    sockets: Array.from({ length: threads.socketThreads }, () => ({
      toPool: poolChannels(),
      toViews: toViews(),
      toFilters: channel(),
      toMain: channel(),
    })),
    network: {
      admissions: channel(),
      announcements: channel(),
      toViews: toViews(),
      reports: channel(),
      evidence: channel(),
    },
    mainToViews: toViews(),
  }
}

function poolChannels(): PoolChannels {
  return { calls: channel(), admissions: channel() }
}
