import { isLoopback } from '../../config/clientAddress.ts'

/**
 * An amount of something (bytes, connections, subscriptions) that one thread has for all its
 * clients together.
 */
export interface ClientBudget {
  /**
   * Takes an amount. false: nothing is taken, because less is left or the client would exceed its
   * share.
   * @param client undefined: several clients, to which no share applies
   */
  take(client: string | undefined, amount: number): boolean
  /** Returns an amount of the client to the budget. */
  giveBack(client: string | undefined, amount: number): void
}

interface ClientBudgetOptions {
  readonly total: number
  /** called with the amount that is taken now */
  readonly onChange?: (taken: number) => void
  /** called when a client is refused */
  readonly onRefused?: () => void
}

/**
 * A client may have as much as the remaining amount divided by this: a single client gets a fifth
 * of the total.
 */
const LEFT_PER_SHARE = 4
/** One part of this many, the last of the budget, is for clients that have little. */
const RESERVED_PART = 5
/** A client has little when it has at most one part of this many. */
const LITTLE_PART = 1_000

/**
 * Creates a budget. Clients that have much are refused first, so clients that have little find room
 * next to a few that take as much as they can. Clients on the node's own machine have no share:
 * they are the operator's.
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
