import { isLoopback } from '../../config/clientAddress.ts'

/** An amount of something (bytes, connections, subscriptions) that one thread has for all its clients together. */
export interface ClientBudget {
  /**
   * false, and nothing is taken, when less is left, or when the client would have more than its share.
   * @param client undefined: for several clients, so there is no share
   */
  take(client: string | undefined, amount: number): boolean
  /** Returns what the client has taken. */
  giveBack(client: string | undefined, amount: number): void
}

interface ClientBudgetOptions {
  readonly total: number
  /** called with what is taken now */
  readonly onChange?: (taken: number) => void
  /** called when a client gets nothing */
  readonly onRefused?: () => void
}

/** A client may have as much as the amount that is left, divided by this: a single one gets a fifth of all. */
const LEFT_PER_SHARE = 4
/** The last part of the budget, one of so many, is for clients that have little. */
const RESERVED_PART = 5
/** What is little: one of so many parts. */
const LITTLE_PART = 1_000

/**
 * Whoever has much is refused first, and those who have little find a place beside a few who take what they can get. Clients on the
 * node's own machine have no share: they are the operator's.
 */
export function createClientBudget({ total, onChange, onRefused }: ClientBudgetOptions): ClientBudget {
  const takenBy = new Map<string, number>()
  let taken = 0

  const change = (client: string | undefined, amount: number): void => {
    taken += amount
    onChange?.(taken)
    if (client === undefined) return
    const left = (takenBy.get(client) ?? 0) + amount
    if (left === 0) takenBy.delete(client)
    else takenBy.set(client, left)
  }
  const mayTake = (client: string | undefined, amount: number): boolean => {
    const left = total - taken - amount
    if (client === undefined || isLoopback(client)) return left >= 0
    const own = (takenBy.get(client) ?? 0) + amount
    if (own <= Math.max(1, total / LITTLE_PART)) return left >= 0
    return own * LEFT_PER_SHARE <= left && left >= total / RESERVED_PART
  }

  return {
    take: (client, amount) => {
      if (!mayTake(client, amount)) {
        onRefused?.()
        return false
      }
      change(client, amount)
      return true
    },
    giveBack: (client, amount) => change(client, -amount),
  }
}
