import type { PoolEntry } from './poolEntry.ts'
import type { AccountState, DropReason } from './types.ts'

/**
 * What pooled native transactions depend on besides their sender's nonce and funds: the sequences of further signers, an account that
 * pays for their sender, and a block before their timeout height.
 */
export class DependencyIndex {
  /** transactions by the accounts that they depend on */
  readonly #byAccount = new Map<string, Set<PoolEntry>>()
  readonly #dependent = new Set<PoolEntry>()
  readonly #byTimeout = new Map<number, Set<PoolEntry>>()

  /** no transaction has an earlier timeout height, or this one */
  #timedOutUntil = 0

  add(entry: PoolEntry): void {
    if (entry.timeoutHeight > 0) addTo(this.#byTimeout, entry.timeoutHeight, entry)
    if (entry.dependencies.length === 0) return
    this.#dependent.add(entry)
    for (const { key } of entry.dependencies) addTo(this.#byAccount, key, entry)
  }

  delete(entry: PoolEntry): void {
    if (entry.timeoutHeight > 0) deleteFrom(this.#byTimeout, entry.timeoutHeight, entry)
    if (!this.#dependent.delete(entry)) return
    for (const { key } of entry.dependencies) deleteFrom(this.#byAccount, key, entry)
  }

  /** transactions of other senders that depend on an account */
  countOf(key: string): number {
    return this.#byAccount.get(key)?.size ?? 0
  }

  /** Transactions that cannot start any more, because an account that they depend on has this state now. */
  brokenBy(
    key: string,
    { nonce, balance }: AccountState,
  ): { readonly entry: PoolEntry; readonly reason: DropReason }[] {
    const broken: { readonly entry: PoolEntry; readonly reason: DropReason }[] = []
    for (const entry of this.#byAccount.get(key) ?? []) {
      for (const { key: account, sequence, cost } of entry.dependencies) {
        if (account !== key) continue
        const reason = sequence !== undefined && sequence < nonce ? 'stale' : cost > balance ? 'unpaid' : undefined
        if (reason !== undefined) broken.push({ entry, reason })
      }
    }
    return broken
  }

  /** Transactions that no block after the one at `height` may hold. */
  timedOut(height: number): PoolEntry[] {
    const found: PoolEntry[] = []
    if (height - this.#timedOutUntil > this.#byTimeout.size) {
      for (const [timeoutHeight, entries] of this.#byTimeout) if (timeoutHeight <= height) found.push(...entries)
    } else {
      for (let passed = this.#timedOutUntil + 1; passed <= height; passed++) {
        found.push(...(this.#byTimeout.get(passed) ?? []))
      }
    }
    this.#timedOutUntil = height
    return found
  }

  /**
   * Transactions that came before `beforeMs` and depend on other accounts. The pool does not follow whether a signer's sequence or a
   * fee allowance ever lets them start, so they must not stay forever.
   */
  olderThan(beforeMs: number): PoolEntry[] {
    return [...this.#dependent].filter(({ admittedMs }) => admittedMs < beforeMs)
  }
}

function addTo<K>(map: Map<K, Set<PoolEntry>>, key: K, entry: PoolEntry): void {
  const entries = map.get(key)
  if (entries === undefined) map.set(key, new Set([entry]))
  else entries.add(entry)
}

function deleteFrom<K>(map: Map<K, Set<PoolEntry>>, key: K, entry: PoolEntry): void {
  const entries = map.get(key)
  if (entries?.delete(entry) === true && entries.size === 0) map.delete(key)
}
