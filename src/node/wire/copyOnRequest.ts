import { randomUUID } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'

/*
 * How socket threads read what the main or the network thread knows, without a message to that thread. A thread that needs a
 * copy sets a flag in shared memory. The first request wakes the publishing thread, which sends one copy to all and checks
 * the flag again after a second. However many clients ask, it makes one copy in that time, and no copy without a request.
 */

const PERIOD_MS = 1_000

const CELL = 0
const IDLE = 0
const REQUESTED = 1

/** Where one thread publishes its copies and others request them. */
export interface CopyChannel {
  /** of a broadcast channel */
  readonly name: string
  readonly request: Int32Array<SharedArrayBuffer>
  /** copies are made at most so often, and are shown for as long */
  readonly periodMs: number
}

/** An error is a bug in the publishing thread: the requesting threads get it, and the publishing thread does not end. */
type Copy<T> = { readonly value: T } | { readonly error: string }

export function createCopyChannel(periodMs = PERIOD_MS): CopyChannel {
  const request = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  return { name: `coind-copies-${randomUUID()}`, request, periodMs }
}

/**
 * Publishes a copy of what `read` returns when one is requested. What it returns must be clonable.
 * @returns ends it
 */
export function publishCopies<T>({ name, request, periodMs }: CopyChannel, read: () => T): () => void {
  const channel = new BroadcastChannel(name)
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const publish = (): void => {
    if (isClosed) return
    // First, so that no request that comes meanwhile is lost.
    Atomics.store(request, CELL, IDLE)
    channel.postMessage(copyOf(read))
    timer = setTimeout(wait, periodMs)
  }
  const wait = (): void => {
    const { async, value } = Atomics.waitAsync(request, CELL, IDLE)
    if (async) void value.then(publish)
    else publish()
  }
  wait()

  return () => {
    isClosed = true
    clearTimeout(timer)
    Atomics.notify(request, CELL)
    channel.close()
  }
}

function copyOf<T>(read: () => T): Copy<T> {
  try {
    return { value: read() }
  } catch (error) {
    return { error: String(error) }
  }
}

/** The copies that another thread publishes. */
export interface CopyReader<T> {
  /** One that arrived here within the last period, else the next one. */
  read(): Promise<T>
  close(): void
}

export function readCopies<T>({ name, request, periodMs }: CopyChannel): CopyReader<T> {
  const channel = new BroadcastChannel(name)
  let newest: { readonly value: T; readonly untilMs: number } | undefined
  let next: PromiseWithResolvers<T> | undefined

  channel.onmessage = (event) => {
    // The channel is the node's own: only the thread that publishes posts on it.
    const copy = (event as { readonly data: Copy<T> }).data
    if ('value' in copy) {
      newest = { value: copy.value, untilMs: performance.now() + periodMs }
      next?.resolve(copy.value)
    } else {
      next?.reject(new Error(`no copy could be made: ${copy.error}`))
    }
    next = undefined
  }

  return {
    read: () => {
      if (newest !== undefined && performance.now() < newest.untilMs) return Promise.resolve(newest.value)
      if (next === undefined) {
        next = Promise.withResolvers()
        if (Atomics.exchange(request, CELL, REQUESTED) === IDLE) Atomics.notify(request, CELL)
      }
      return next.promise
    },
    close: () => {
      channel.close()
      next?.reject(new Error('the thread stops'))
      next = undefined
    },
  }
}
