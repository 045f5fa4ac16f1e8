import { bytesKey, bytesToHex, keyBytes } from '../../src/primitives/bytes.ts'
import { amountToBytes, bytesToAmount } from '../database/amount.ts'
import type { IndexWriter, Row } from '../database/indexDatabase.ts'
import { heightOf } from '../database/position.ts'
import type { PlacedMovement } from './coinMovements.ts'

/** Accounts asked for in one query. Both databases take more parameters than this. */
const QUERIED_AT_ONCE = 500
/** Balances cached in memory; about 200 bytes each. */
const MAX_CACHED = 200_000

/** An account of the index. */
interface Balance {
  amount: bigint
  position: number
}

/** The node's results contradict the index: an account would have spent more than it had. The message is for the operator. */
class BalanceError extends Error {
  override readonly name = 'BalanceError'
}

/** Adds up movements of coins. It caches the balances of the accounts that moved coins last, since no other process writes them. */
export class BalanceBook {
  readonly #cached = new Map<string, Balance>()

  /**
   * Writes the balances after these movements.
   * @returns where accounts that the index did not have got their first coins, one position for each
   * @throws BalanceError when an account spends more than it has
   */
  async apply(writer: IndexWriter, movements: readonly PlacedMovement[]): Promise<readonly number[]> {
    const { loaded: changed, unknown } = await this.#load(writer, movements)
    const firstPositions: number[] = []
    for (const { sender, recipient, amount, position } of movements) {
      if (sender !== undefined) this.#add(changed, bytesKey(sender), -amount, position)
      if (recipient === undefined) continue
      this.#add(changed, bytesKey(recipient), amount, position)
      if (unknown.delete(bytesKey(recipient))) firstPositions.push(position)
    }
    const rows: Row<'coin_balance'>[] = []
    for (const [key, { amount, position }] of changed) {
      // Checked after all of these movements, whatever their order.
      if (amount < 0n)
        throw new BalanceError(
          `the index does not add up: ${bytesToHex(keyBytes(key))} would have ${amount} acoin at block ${heightOf(position)}. Start a new index in another database (EXPLORER_DATABASE)`,
        )
      rows.push({ address: keyBytes(key), amount: amountToBytes(amount), position })
    }
    await writer.replace('coin_balance', rows)
    this.#cache(changed)
    return firstPositions
  }

  /** Empties the cache: the transaction of the last {@link apply} was not stored. */
  forget(): void {
    this.#cached.clear()
  }

  async #load(writer: IndexWriter, movements: readonly PlacedMovement[]) {
    const loaded = new Map<string, Balance>()
    const missing: string[] = []
    for (const { sender, recipient } of movements) {
      for (const account of [sender, recipient]) {
        if (account === undefined) continue
        const key = bytesKey(account)
        if (loaded.has(key)) continue
        const cached = this.#cached.get(key)
        loaded.set(key, cached === undefined ? { amount: 0n, position: 0 } : { ...cached })
        if (cached === undefined) missing.push(key)
      }
    }
    const unknown = new Set(missing)
    for (let at = 0; at < missing.length; at += QUERIED_AT_ONCE) {
      const rows = await writer.queries
        .selectFrom('coin_balance')
        .selectAll()
        .where('address', 'in', missing.slice(at, at + QUERIED_AT_ONCE).map(keyBytes))
        .execute()
      for (const { address, amount, position } of rows) {
        loaded.set(bytesKey(address), { amount: bytesToAmount(amount), position })
        unknown.delete(bytesKey(address))
      }
    }
    return { loaded, unknown }
  }

  #add(changed: ReadonlyMap<string, Balance>, key: string, amount: bigint, position: number): void {
    const balance = changed.get(key)!
    balance.amount += amount
    balance.position = position
  }

  #cache(changed: ReadonlyMap<string, Balance>): void {
    if (this.#cached.size + changed.size > MAX_CACHED) this.#cached.clear()
    for (const [key, balance] of changed) this.#cached.set(key, balance)
  }
}
