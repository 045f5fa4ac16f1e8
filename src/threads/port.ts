import type { MessagePort } from 'node:worker_threads'

/** Functions that one thread offers to another: structured-clonable arguments and results. */
export type Service = Readonly<Record<string, (...args: never[]) => unknown>>

/** The caller's side of a service: the same functions, each answering with a promise. */
export type Remote<S extends Service> = {
  readonly [K in keyof S]: (...args: Parameters<S[K]>) => Promise<Awaited<ReturnType<S[K]>>>
}

type WireRequest = readonly [id: number, method: string, args: readonly unknown[]]
type WireResponse = readonly [id: number, ok: boolean, value: unknown]

interface WireError {
  readonly name: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/**
 * Sends messages in one `postMessage` per turn of the event loop: a burst of small calls costs one wake-up of the other
 * thread, and a lone call waits for nothing but the end of its turn.
 */
function batchingSender<T>(port: MessagePort): (message: T) => void {
  let queue: T[] = []
  return (message) => {
    queue.push(message)
    if (queue.length > 1) return
    setImmediate(() => {
      const batch = queue
      queue = []
      port.postMessage(batch)
    })
  }
}

function toWireError(error: unknown): WireError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), fields: {} }
  // A function cannot be cloned: with one among its fields, a library's error would stop the thread.
  const fields = Object.entries(error).filter(([, value]) => typeof value !== 'function')
  return { name: error.name, message: error.message, fields: Object.fromEntries(fields) }
}

function fromWireError(wire: WireError): Error {
  return Object.assign(new Error(wire.message), wire.fields, { name: wire.name })
}

/** Answers the calls that arrive on `port` with the functions of `service`. */
export function serve<S extends Service>(port: MessagePort, service: S): void {
  const send = batchingSender<WireResponse>(port)
  const answer = async (id: number, method: string, args: readonly unknown[]): Promise<void> => {
    try {
      const run = service[method] as ((...args: readonly unknown[]) => unknown) | undefined
      if (run === undefined) throw new Error(`no such function: ${method}`)
      const value = await run(...args)
      if (id !== 0) send([id, true, value])
    } catch (error) {
      if (id === 0) throw error
      send([id, false, toWireError(error)])
    }
  }
  port.on('message', (batch: readonly WireRequest[]) => {
    for (const [id, method, args] of batch) void answer(id, method, args)
  })
}

/**
 * The functions of the service at the other end of `port`. An error there rejects here with its name and fields; so does
 * every call that the other thread cannot answer because it has ended.
 */
export function connect<S extends Service>(port: MessagePort): Remote<S> {
  const send = batchingSender<WireRequest>(port)
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let lastId = 0
  let isClosed = false
  port.on('message', (batch: readonly WireResponse[]) => {
    for (const [id, ok, value] of batch) {
      const caller = waiting.get(id)
      if (caller === undefined) continue
      waiting.delete(id)
      if (ok) caller.resolve(value)
      else caller.reject(fromWireError(value as WireError))
    }
  })
  port.on('close', () => {
    isClosed = true
    for (const caller of waiting.values()) caller.reject(threadStopped())
    waiting.clear()
  })
  return new Proxy({} as Remote<S>, {
    get: (_, method: string) => {
      // A promise must not mistake the remote for another promise.
      if (method === 'then') return undefined
      return (...args: unknown[]) =>
        new Promise((resolve, reject) => {
          if (isClosed) return reject(threadStopped())
          const id = ++lastId
          waiting.set(id, { resolve, reject })
          send([id, method, args])
        })
    },
  })
}

function threadStopped(): Error {
  return new Error('the thread has stopped')
}

/** Calls a function of the service without waiting for an answer; an error there is a bug and stops that thread. */
export function notify<S extends Service, K extends keyof S & string>(
  port: MessagePort,
  method: K,
  ...args: Parameters<S[K]>
): void {
  port.postMessage([[0, method, args] satisfies WireRequest])
}
