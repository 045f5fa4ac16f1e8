import { MessagePort, receiveMessageOnPort } from 'node:worker_threads'

/**
 * Functions that one thread offers to another: structured-clonable arguments and results. The last argument may be an `AbortSignal`: when
 * the caller's is aborted, the function's is too. What the function then does, settles the call.
 */
export type Service = Readonly<Record<string, (...args: never[]) => unknown>>

/** The caller's side of a service: the same functions, each answering with a promise. */
export type Remote<S extends Service> = {
  readonly [K in keyof S]: (...args: Parameters<S[K]>) => Promise<Awaited<ReturnType<S[K]>>>
}

type WireRequest = readonly [id: number, method: string, args: readonly unknown[], takesSignal?: boolean]
/** aborts the signal of a call */
type WireAbort = readonly [id: number]
type WireResponse = readonly [id: number, ok: boolean, value: unknown]

interface WaitingCaller {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
  readonly stopListening: (() => void) | undefined
}

interface WireError {
  readonly name: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
  /** what the error came from */
  readonly cause: WireError | undefined
}

/** Causes that travel with an error: more than any error here has, and an end for one that is its own cause. */
const CAUSES = 8

/**
 * Sends messages in one `postMessage` per turn of the event loop. A burst of small calls costs one wake-up of the other
 * thread, and a lone call waits only for the end of its turn.
 */
function batchingSender<T>(port: MessagePort): (message: T, buffer?: ArrayBuffer) => void {
  let queue: T[] = []
  let buffers: ArrayBuffer[] = []
  return (message, buffer) => {
    queue.push(message)
    if (buffer !== undefined) buffers.push(buffer)
    if (queue.length > 1) return
    setImmediate(() => {
      const batch = queue
      const toMove = buffers
      queue = []
      buffers = []
      port.postMessage(batch, toMove)
    })
  }
}

function sendNow<T>(port: MessagePort): (message: T, buffer?: ArrayBuffer) => void {
  return (message, buffer) => port.postMessage([message], buffer === undefined ? [] : [buffer])
}

const movedBuffers = new WeakSet<ArrayBuffer>()

/** Lets a function of a service hand over these bytes: as its answer they move to the other thread without a copy. They need their own buffer. */
export function moved<B extends Uint8Array>(bytes: B): B {
  if (bytes.buffer instanceof ArrayBuffer) movedBuffers.add(bytes.buffer)
  return bytes
}

/** Returns the bytes in their own buffer, which can be moved: `Buffer` may put short ones into a pool. */
export function withOwnBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}

function bufferToMove(value: unknown): ArrayBuffer | undefined {
  if (!(value instanceof Uint8Array && value.buffer instanceof ArrayBuffer)) return undefined
  return movedBuffers.has(value.buffer) ? value.buffer : undefined
}

function toWireError(error: unknown, causes = CAUSES): WireError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), fields: {}, cause: undefined }
  // A function cannot be cloned: with one among its fields, a library's error would stop the thread.
  const fields = Object.entries(error).filter(([, value]) => typeof value !== 'function')
  const cause = error.cause === undefined || causes === 0 ? undefined : toWireError(error.cause, causes - 1)
  return { name: error.name, message: error.message, fields: Object.fromEntries(fields), cause }
}

function fromWireError(wire: WireError): Error {
  const options = wire.cause === undefined ? {} : { cause: fromWireError(wire.cause) }
  return Object.assign(new Error(wire.message, options), wire.fields, { name: wire.name })
}

interface ServeOptions {
  /** each answer is sent at once, not with others at the end of this turn of the event loop */
  readonly isUrgent?: boolean
  /** called before each message is handled */
  readonly before?: () => void
}

/**
 * Answers the calls that arrive on `port` with the functions of `service`.
 * @returns answers the calls that have arrived by now, without waiting for the event loop: work in slices calls it between them
 */
export function serve<S extends Service>(port: MessagePort, service: S, options: ServeOptions = {}): () => void {
  const { isUrgent = false, before } = options
  const send = isUrgent ? sendNow<WireResponse>(port) : batchingSender<WireResponse>(port)
  /** of the calls that run */
  const controllers = new Map<number, AbortController>()
  const signalFor = (id: number): AbortSignal => {
    const controller = new AbortController()
    controllers.set(id, controller)
    return controller.signal
  }
  const succeed = (id: number, value: unknown): void => {
    controllers.delete(id)
    if (id !== 0) send([id, true, value], bufferToMove(value))
  }
  const fail = (id: number, error: unknown): void => {
    controllers.delete(id)
    send([id, false, toWireError(error)])
  }
  const settle = async (id: number, result: Promise<unknown>): Promise<void> => {
    try {
      succeed(id, await result)
    } catch (error) {
      if (id === 0) throw error
      fail(id, error)
    }
  }
  const answer = ([id, method, args, takesSignal]: WireRequest): void => {
    try {
      const run = service[method] as ((...args: readonly unknown[]) => unknown) | undefined
      if (run === undefined) throw new Error(`no such function: ${method}`)
      const result = takesSignal ? run(...args, signalFor(id)) : run(...args)
      if (result instanceof Promise) void settle(id, result)
      else succeed(id, result)
    } catch (error) {
      if (id === 0) throw error
      fail(id, error)
    }
  }
  const take = (batch: readonly (WireRequest | WireAbort)[]): void => {
    for (const message of batch) {
      before?.()
      if (message.length === 1) controllers.get(message[0])?.abort()
      else answer(message)
    }
  }
  port.on('message', take)
  // The caller's thread has ended.
  port.on('close', () => {
    for (const controller of controllers.values()) controller.abort()
  })
  return () => {
    for (let waiting = receiveMessageOnPort(port); waiting !== undefined; waiting = receiveMessageOnPort(port)) {
      take(waiting.message)
    }
  }
}

/**
 * Returns the functions of the service at the other end of `port`. An error there rejects here with
 * its name, fields and causes; so does every call that the other thread cannot answer because it
 * has ended.
 */
export function connect<S extends Service>(port: MessagePort): Remote<S> {
  const send = batchingSender<WireRequest | WireAbort>(port)
  const waiting = new Map<number, WaitingCaller>()
  let lastId = 0
  let isClosed = false
  port.on('message', (batch: readonly WireResponse[]) => {
    for (const [id, ok, value] of batch) {
      const caller = waiting.get(id)
      if (caller === undefined) continue
      waiting.delete(id)
      caller.stopListening?.()
      if (ok) caller.resolve(value)
      else caller.reject(fromWireError(value as WireError))
    }
  })
  port.on('close', () => {
    isClosed = true
    for (const caller of waiting.values()) {
      caller.stopListening?.()
      caller.reject(new ThreadStopped())
    }
    waiting.clear()
  })
  return new Proxy({} as Remote<S>, {
    get: (_, method: string) => {
      // A promise must not mistake the remote for another promise.
      if (method === 'then') return undefined
      return (...args: unknown[]) =>
        new Promise((resolve, reject) => {
          if (isClosed) return reject(new ThreadStopped())
          const id = ++lastId
          const signal = args.at(-1)
          if (!(signal instanceof AbortSignal)) {
            waiting.set(id, { resolve, reject, stopListening: undefined })
            send([id, method, args])
            return
          }
          if (signal.aborted) return reject(signal.reason)
          const onAbort = (): void => send([id])
          signal.addEventListener('abort', onAbort)
          waiting.set(id, { resolve, reject, stopListening: () => signal.removeEventListener('abort', onAbort) })
          send([id, method, args.slice(0, -1), true])
        })
    },
  })
}

/** The thread at the other end has ended. How much of the call it did is unknown. */
export class ThreadStopped extends Error {
  override readonly name = 'ThreadStopped'

  constructor() {
    super('the thread has stopped')
  }
}

/** A service whose thread may end and be started again. */
export interface ReplaceableRemote<S extends Service> {
  /** Calls that the thread had not answered when it ended reject with {@link ThreadStopped}; later ones wait for its successor. */
  readonly remote: Remote<S>
  /** Takes the port to the thread, or to its successor. */
  replace(port: MessagePort): void
  /** Calls that wait for a successor reject. */
  close(): void
}

export function connectReplaceable<S extends Service>(): ReplaceableRemote<S> {
  let current: { readonly port: MessagePort; readonly remote: Remote<S> } | undefined
  let successor = Promise.withResolvers<Remote<S>>()
  // Rejected by `close`, which is not an error when no caller waits.
  successor.promise.catch(() => undefined)
  const remote = new Proxy({} as Remote<S>, {
    get: (_, method: string) => {
      if (method === 'then') return undefined
      return (...args: Parameters<S[string]>) =>
        current === undefined
          ? successor.promise.then((present) => present[method]!(...args))
          : current.remote[method]!(...args)
    },
  })
  return {
    remote,
    replace: (port) => {
      current?.port.close()
      const present = { port, remote: connect<S>(port) }
      current = present
      port.on('close', () => {
        if (current !== present) return
        current = undefined
        successor = Promise.withResolvers()
        successor.promise.catch(() => undefined)
      })
      successor.resolve(present.remote)
    },
    close: () => {
      const former = current
      former?.port.close()
      current = undefined
      successor.reject(new ThreadStopped())
    },
  }
}

/** A thread that ends three times at the same work probably ends because of that work. */
const ATTEMPTS = 3

/** Does work that changes nothing, and does it again where the thread that did it has ended. @throws ThreadStopped after some attempts */
export async function despiteStops<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ThreadStopped) || attempt === ATTEMPTS) throw error
    }
  }
}

/** Calls a function of the service without waiting for an answer; an error there is a bug and stops that thread. */
export function notify<S extends Service, K extends keyof S & string>(
  port: MessagePort,
  method: K,
  ...args: Parameters<S[K]>
): void {
  // Ports cannot be cloned: they move to the other thread.
  const ports = (args as unknown[]).filter((argument) => argument instanceof MessagePort)
  port.postMessage([[0, method, args] satisfies WireRequest], ports)
}
