/** A message that waits in a socket, or for one, until its client reads. */
export interface UnreadMessage {
  /** bytes that this message alone takes */
  readonly ownBytes: number
  /** the part that is shared with other messages; undefined: there is no such part */
  readonly shared: Buffer | undefined
}

/**
 * The memory of one thread's messages that wait for clients to read them. A part that many messages
 * share (a block's notification to all subscribers) is in memory once, and counts once.
 */
export interface UnreadBytes {
  readonly total: number
  add(message: UnreadMessage): void
  remove(message: UnreadMessage): void
}

/** Memory of a waiting message besides its text: frame headers, entries of queues, callbacks. */
const MESSAGE_BYTES = 500

export function createUnreadBytes(): UnreadBytes {
  /** number of messages that have each shared part */
  const holders = new Map<Buffer, number>()
  let total = 0

  return {
    get total() {
      return total
    },
    add: ({ ownBytes, shared }) => {
      total += ownBytes + MESSAGE_BYTES
      if (shared === undefined) return
      const others = holders.get(shared) ?? 0
      if (others === 0) total += shared.length
      holders.set(shared, others + 1)
    },
    remove: ({ ownBytes, shared }) => {
      total -= ownBytes + MESSAGE_BYTES
      if (shared === undefined) return
      const others = holders.get(shared)! - 1
      if (others > 0) {
        holders.set(shared, others)
        return
      }
      holders.delete(shared)
      total -= shared.length
    },
  }
}

/** Returns the memory of a message in its own socket, as if nothing were shared. */
export function bytesInSocket({ ownBytes, shared }: UnreadMessage): number {
  return ownBytes + MESSAGE_BYTES + (shared?.length ?? 0)
}
