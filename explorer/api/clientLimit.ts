import type { preHandlerAsyncHookHandler } from 'fastify'
import type { ClientOf } from './clientOf.ts'

/** Clients whose budgets are cached; the client whose last request is oldest is dropped first. */
const MAX_CLIENTS = 10_000

interface Budget {
  readonly left: number
  readonly atMs: number
}

/** How many requests there may be at once, and how many per hour in the long run. */
export interface Rate {
  readonly burst: number
  readonly perHour: number
}

const HOUR_MS = 3_600_000

/** Budgets of requests: one of each client, and one of all together. They are in memory, so a process that restarts has full ones. */
export class ClientLimit {
  readonly #client: Rate
  readonly #all: Rate
  readonly #budgets = new Map<string, Budget>()
  #total: Budget

  constructor(client: Rate, all: Rate) {
    this.#client = client
    this.#all = all
    this.#total = { left: all.burst, atMs: Number.NEGATIVE_INFINITY }
  }

  /**
   * Takes one request from the budgets.
   * @param client as `ClientAddresses.of` returns it
   * @param nowMs of a clock that does not go back
   * @returns false when one is used up: nothing is taken then
   */
  take(client: string, nowMs: number): boolean {
    const own = leftOf(this.#budgets.get(client), this.#client, nowMs)
    const total = leftOf(this.#total, this.#all, nowMs)
    if (own < 1 || total < 1) return false
    this.#budgets.delete(client)
    if (this.#budgets.size >= MAX_CLIENTS) this.#budgets.delete(this.#budgets.keys().next().value!)
    this.#budgets.set(client, { left: own - 1, atMs: nowMs })
    this.#total = { left: total - 1, atMs: nowMs }
    return true
  }
}

function leftOf(budget: Budget | undefined, { burst, perHour }: Rate, nowMs: number): number {
  if (budget === undefined) return burst
  return Math.min(burst, budget.left + ((nowMs - budget.atMs) / HOUR_MS) * perHour)
}

/** Requests that make the explorer ask the node. The node counts all of them as the explorer's, whose index needs answers too. */
const QUESTIONS = { burst: 100, perHour: 18_000 } as const
const ALL_QUESTIONS = { burst: 400, perHour: 360_000 } as const

/** Refuses clients that send too many requests to routes that ask the node about something that the client names. */
export function createNodeLimit(clientOf: ClientOf): preHandlerAsyncHookHandler {
  const limit = new ClientLimit(QUESTIONS, ALL_QUESTIONS)
  return async (request, reply) => {
    if (limit.take(clientOf(request), performance.now())) return
    return reply
      .code(429)
      .send({ error: 'too many requests from this address that need the node: try again in a moment' })
  }
}
