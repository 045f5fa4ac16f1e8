import type { MessagePort } from 'node:worker_threads'
import type { Session } from '../p2p/session.ts'
import type { NetworkEvent, NetworkReport } from './networkMessages.ts'
import { packBytes } from './packedBytes.ts'

/** Messages in one report: main has its turn for other things in between. */
const MESSAGES_PER_REPORT = 64

interface Waiting {
  readonly session: Session
  readonly body: Uint8Array
}

/**
 * Tells the main thread what peers do. What comes up in one turn of the event loop goes in few reports, messages as one array. It
 * knows how much main has not handled yet, so that a peer that sends more than main can take is made to wait.
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

  /** Main has handled a report. */
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
