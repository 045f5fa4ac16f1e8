/*
 * A vesting account as docs.cosmos.network describes it ("Vesting", x/auth/vesting), written from that text and not from src/. Amounts are
 * acoin, times whole seconds.
 */

export type ModelSchedule =
  | { readonly kind: 'continuous'; readonly total: bigint; readonly start: number; readonly end: number }
  | { readonly kind: 'delayed'; readonly total: bigint; readonly end: number }
  | { readonly kind: 'permanent'; readonly total: bigint }
  | { readonly kind: 'periodic'; readonly start: number; readonly periods: readonly (readonly [number, bigint])[] }

export class VestingModel {
  readonly #schedule: ModelSchedule
  /** BC of the specification */
  balance: bigint
  /** DV and DF */
  delegatedVesting = 0n
  delegatedFree = 0n

  constructor(schedule: ModelSchedule) {
    this.#schedule = schedule
    this.balance = this.original
  }

  /** OV */
  get original(): bigint {
    const schedule = this.#schedule
    return schedule.kind === 'periodic' ? schedule.periods.reduce((sum, [, part]) => sum + part, 0n) : schedule.total
  }

  /** V' */
  vested(now: number): bigint {
    const schedule = this.#schedule
    switch (schedule.kind) {
      case 'permanent':
        return 0n
      case 'delayed':
        return now < schedule.end ? 0n : schedule.total
      case 'continuous': {
        const { total, start, end } = schedule
        if (now <= start) return 0n
        if (now >= end) return total
        const part = nearest(BigInt(now - start) * 10n ** 36n, BigInt(end - start) * 10n ** 18n)
        return nearest(nearest(total * 10n ** 18n * part, 10n ** 18n), 10n ** 18n)
      }
      case 'periodic': {
        let free = 0n
        let at = schedule.start
        for (const [seconds, part] of schedule.periods) {
          at += seconds
          if (now >= at) free += part
        }
        return now <= schedule.start ? 0n : free
      }
    }
  }

  /** V */
  vesting(now: number): bigint {
    return this.original - this.vested(now)
  }

  /** min((BC + DV) - V, BC), and nothing where that is negative */
  spendable(now: number): bigint {
    const left = this.balance + this.delegatedVesting - this.vesting(now)
    return left < 0n ? 0n : left < this.balance ? left : this.balance
  }

  /** @returns whether it could be paid */
  spend(now: number, amount: bigint): boolean {
    if (amount > this.spendable(now)) return false
    this.balance -= amount
    return true
  }

  delegate(now: number, amount: bigint): boolean {
    if (amount > this.balance) return false
    const room = this.vesting(now) - this.delegatedVesting
    const x = room <= 0n ? 0n : room < amount ? room : amount
    this.delegatedVesting += x
    this.delegatedFree += amount - x
    this.balance -= amount
    return true
  }

  /** Coins came back from a validator. */
  undelegated(amount: bigint): void {
    const x = amount < this.delegatedFree ? amount : this.delegatedFree
    const rest = amount - x
    const y = rest < this.delegatedVesting ? rest : this.delegatedVesting
    this.delegatedFree -= x
    this.delegatedVesting -= y
    this.balance += amount
  }
}

/** a / b to the nearest whole number, a half to the even one; neither is negative. */
function nearest(a: bigint, b: bigint): bigint {
  const down = a / b
  const doubled = 2n * (a - down * b)
  return doubled > b || (doubled === b && (down & 1n) === 1n) ? down + 1n : down
}
