import { BroadcastChannel } from 'node:worker_threads'
import { createViewCaches, type NodeView, openView } from '../state/view.ts'
import type { Database, DatabaseSnapshot } from '../storage/database.ts'
import { getPublishedHeight, type PublishedHeight } from './sharedMemory.ts'

/** What the executor announces on the head channel when a block is in the database. */
export interface HeadAnnouncement {
  readonly height: number
}

/** The right to read a view until it is released. */
export interface ViewLease {
  readonly view: NodeView
  release(): void
}

interface OpenView {
  readonly view: NodeView
  readonly snapshot: DatabaseSnapshot
  leases: number
}

/**
 * The newest published view, for a thread that reads the database. A lease is never older than a head that any thread has shown to
 * clients: what a client saw over one connection it also sees over every other. A snapshot that is no longer the newest is closed when
 * the last request that reads it has ended.
 */
export interface ViewFeed {
  lease(): ViewLease
  /** `listener` is called with the view of each newer head. It may use the view until the promise that it returns has ended. */
  onHead(listener: (view: NodeView) => void | Promise<void>): void
  /** A lease on the first view newer than `height`; undefined when `timeoutMs` passed first. */
  next(height: number, timeoutMs: number): Promise<ViewLease | undefined>
  close(): Promise<void>
}

/** Starts to follow the heads that are announced on the broadcast channel `channelName` after `published` was raised. */
export function followHeads(database: Database, channelName: string, published: PublishedHeight): ViewFeed {
  const caches = createViewCaches()
  const channel = new BroadcastChannel(channelName)
  const listeners: ((view: NodeView) => void | Promise<void>)[] = []
  let waiting: { readonly height: number; readonly wake: () => void }[] = []

  const open = (): OpenView => {
    const snapshot = database.snapshot()
    return { view: openView(snapshot, caches), snapshot, leases: 1 }
  }
  let current = open()

  const release = (opened: OpenView): void => {
    opened.leases--
    if (opened.leases === 0) void opened.snapshot.close()
  }
  const leaseOf = (opened: OpenView): ViewLease => {
    opened.leases++
    let released = false
    return {
      view: opened.view,
      release: () => {
        if (released) return
        released = true
        release(opened)
      },
    }
  }

  const catchUp = (): void => {
    if (getPublishedHeight(published) <= current.view.chain.headHeight) return
    const former = current
    current = open()
    release(former)
  }
  let announcedHeight = current.view.chain.headHeight

  channel.onmessage = () => {
    catchUp()
    if (current.view.chain.headHeight === announcedHeight) return
    announcedHeight = current.view.chain.headHeight
    for (const listener of listeners) {
      const lease = leaseOf(current)
      void Promise.resolve(listener(lease.view)).finally(lease.release)
    }
    const ready = waiting.filter(({ height }) => height < current.view.chain.headHeight)
    waiting = waiting.filter(({ height }) => height >= current.view.chain.headHeight)
    for (const { wake } of ready) wake()
  }

  return {
    lease: () => {
      catchUp()
      return leaseOf(current)
    },
    onHead: (listener) => void listeners.push(listener),
    next: (height, timeoutMs) => {
      catchUp()
      if (current.view.chain.headHeight > height) return Promise.resolve(leaseOf(current))
      return new Promise((resolve) => {
        const waiter = {
          height,
          wake: () => {
            clearTimeout(timer)
            resolve(leaseOf(current))
          },
        }
        const timer = setTimeout(() => {
          waiting = waiting.filter((other) => other !== waiter)
          resolve(undefined)
        }, timeoutMs)
        waiting.push(waiter)
      })
    },
    close: async () => {
      channel.close()
      await current.snapshot.close()
    },
  }
}
