import { createViewCaches, type NodeView, openView } from '../../state/view.ts'
import type { Database, DatabaseSnapshot } from '../../storage/database.ts'
import { randomSeed } from '../start/randomSeed.ts'
import { getPublishedHeight, type PublishedHeight, raisePublishedHeight, untilPublished } from './sharedMemory.ts'

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

type HeadListener = (view: NodeView) => void | Promise<void>

/**
 * The newest published view, for a thread that reads the database. A lease is never older than a head that any thread has shown to
 * clients: what a client saw over one connection it also sees over every other. A snapshot that is no longer the newest is
 * closed when the last request that reads it has ended. The newest one is closed when no request has come for a while, since
 * an open snapshot keeps all data in the database that is overwritten later. A new head wakes the thread only while a
 * request or a subscription waits for one.
 */
export interface ViewFeed {
  lease(): ViewLease
  /**
   * `listener` is called with the view of each head that is newer than the one that a lease shows now, until the returned function is
   * called. It may use the view until the promise that it returns has ended.
   */
  onHead(listener: HeadListener): () => void
  /** A lease on the first view newer than `height`; undefined when `timeoutMs` passed first. */
  next(height: number, timeoutMs: number): Promise<ViewLease | undefined>
  close(): Promise<void>
}

/** How long the newest snapshot stays open without a request, at least. */
const IDLE_MS = 2_000

/** Follows the heads whose heights `published` tells. @param idleMs for tests */
export function followHeads(database: Database, published: PublishedHeight, idleMs = IDLE_MS): ViewFeed {
  const caches = createViewCaches(randomSeed())
  const listeners = new Set<{ readonly listen: HeadListener; knownHeight: number }>()
  const waiting = new Set<{ readonly height: number; readonly wake: () => void }>()
  let current: OpenView | undefined
  let isFollowing = false
  let isClosed = false
  let wasUsed = false

  const release = (opened: OpenView): void => {
    opened.leases--
    if (opened.leases === 0) void opened.snapshot.close()
  }
  /** The newest view. */
  const catchUp = (): OpenView => {
    wasUsed = true
    if (current !== undefined && getPublishedHeight(published) <= current.view.chain.headHeight) return current
    const former = current
    const snapshot = database.snapshot()
    current = { view: openView(snapshot, caches), snapshot, leases: 1 }
    // The executor, which has just written it, is about to say so: no other thread may show an older one from here on.
    raisePublishedHeight(published, current.view.chain.headHeight)
    if (former === undefined) closeWhenIdle()
    else release(former)
    return current
  }
  const closeWhenIdle = (): void => {
    setTimeout(() => {
      if (current === undefined) return
      if (wasUsed) {
        wasUsed = false
        return closeWhenIdle()
      }
      release(current)
      current = undefined
    }, idleMs).unref()
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

  const tell = (): void => {
    const newest = catchUp()
    const { headHeight } = newest.view.chain
    for (const listener of listeners) {
      if (headHeight <= listener.knownHeight) continue
      listener.knownHeight = headHeight
      const lease = leaseOf(newest)
      void Promise.resolve(listener.listen(lease.view)).finally(lease.release)
    }
    for (const { height, wake } of waiting) if (height < headHeight) wake()
  }
  const follow = async (): Promise<void> => {
    if (isFollowing) return
    isFollowing = true
    while (!isClosed && listeners.size + waiting.size > 0) {
      const height = getPublishedHeight(published)
      tell()
      await untilPublished(published, height)
    }
    isFollowing = false
  }

  return {
    lease: () => leaseOf(catchUp()),
    onHead: (listen) => {
      const listener = { listen, knownHeight: catchUp().view.chain.headHeight }
      listeners.add(listener)
      void follow()
      return () => void listeners.delete(listener)
    },
    next: (height, timeoutMs) => {
      const newest = catchUp()
      if (newest.view.chain.headHeight > height) return Promise.resolve(leaseOf(newest))
      return new Promise((resolve) => {
        const end = (lease: ViewLease | undefined): void => {
          clearTimeout(timer)
          waiting.delete(waiter)
          resolve(lease)
        }
        const waiter = { height, wake: () => end(leaseOf(catchUp())) }
        const timer = setTimeout(() => end(undefined), timeoutMs)
        waiting.add(waiter)
        void follow()
      })
    },
    close: async () => {
      isClosed = true
      await current?.snapshot.close()
      current = undefined
    },
  }
}
