/** Clients whose budgets are kept: the one that has not asked for longest is forgotten first. */
const MAX_CLIENTS = 10_000

interface Budget {
  readonly left: number
  readonly atMs: number
}

/** How many requests there may be at once, and how many an hour in the long run. */
export interface Rate {
  readonly burst: number
  readonly perHour: number
}

const HOUR_MS = 3_600_000

/** Budgets of requests: one of each client, and one of all together. In memory: a process that starts anew begins with full ones. */
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
   * @param client as `ClientAddresses.of` gives it
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
