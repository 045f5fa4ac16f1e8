import { FairQueue } from './fairQueue.ts'
import { SERVED_BYTES } from './limits.ts'
import type { Session } from './session.ts'

interface ServedBytesOptions {
  /** whether a session is a persistent peer's or a validator's: it does not wait */
  readonly isReserved: (session: Session) => boolean
  /** for whom a session's bytes count: its network */
  readonly ownerOf: (session: Session) => string
  /** milliseconds, monotonic */
  readonly now: () => number
}

/**
 * The bytes of blocks and headers that this node sends to strangers: networks of peers take turns when all together ask for more than
 * {@link SERVED_BYTES}, so that a few of them cannot fill the node's line.
 */
export class ServedBytes {
  readonly #options: ServedBytesOptions
  readonly #all: FairQueue

  constructor(options: ServedBytesOptions) {
    this.#options = options
    this.#all = new FairQueue({ rate: SERVED_BYTES, now: options.now })
  }

  /**
   * Waits until this many bytes can be sent.
   * @throws Error when the peer has gone meanwhile
   */
  async take(session: Session, bytes: number): Promise<void> {
    const { isReserved, ownerOf } = this.#options
    if (isReserved(session)) return
    const owner = ownerOf(session)
    if (this.#all.take(owner, bytes)) return
    await new Promise<void>((resolve, reject) => {
      const isOpen = () => session.connection.status === 'open'
      this.#all.wait(
        owner,
        () => (isOpen() ? bytes : 0),
        () => (isOpen() ? resolve() : reject(new Error('the peer has gone'))),
      )
    })
  }
}
