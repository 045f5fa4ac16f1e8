import type { Address } from '../../src/primitives/address.ts'
import { bytesKey, concatBytes, EMPTY_BYTES, keyBytes } from '../../src/primitives/bytes.ts'
import { amountToBytes, bytesToAmount } from '../database/amount.ts'
import type { IndexWriter, Row } from '../database/indexDatabase.ts'
import type { TokenTransfer } from './tokenTransfers.ts'

/** Rows asked for in one query. Both databases take more parameters than this. */
const QUERIED_AT_ONCE = 500
/** Balances cached in memory; about 300 bytes each. */
const MAX_CACHED = 200_000
const MAX_AMOUNT = 2n ** 256n - 1n

export interface PlacedTransfer extends TokenTransfer {
  readonly position: number
}

interface Token {
  readonly address: Address
  readonly kind: number
  isExact: boolean
  holders: number
  transfers: number
  supply: bigint
  position: number
  /** whether this is its first row */
  isNew: boolean
}

interface TokenBalance {
  readonly token: Token
  readonly holder: Address
  /** empty: all that the holder has of the token */
  readonly id: Uint8Array
  /** as it is stored: undefined when it is not */
  readonly stored: bigint | undefined
  amount: bigint
}

/**
 * Adds transfers of tokens up: what each holder has of a token in all, and of each id of an ERC-721 or ERC-1155 token. Contracts may emit
 * anything, so amounts may not add up. An account that sends more than its known balance has zero then, and the token is marked as not
 * exact. This is checked after each transaction, so it depends on the chain alone and not on the batches of blocks.
 */
export class TokenBook {
  readonly #isWhole: boolean
  readonly #tokens = new Map<string, Token>()
  readonly #amounts = new Map<string, bigint | undefined>()

  /** @param isWhole whether the index has all blocks; without the oldest it cannot know what was transferred in them */
  constructor(isWhole: boolean) {
    this.#isWhole = isWhole
  }

  /** Writes tokens and balances after these transfers, which are in the order of their positions. */
  async apply(writer: IndexWriter, transfers: readonly PlacedTransfer[]): Promise<void> {
    if (transfers.length === 0) return
    const tokens = await this.#loadTokens(writer, transfers)
    const changes = transfers.map(changesOf)
    const balances = await this.#loadBalances(writer, tokens, transfers, changes)
    let touched = new Set<TokenBalance | Token>()
    let position = transfers[0]!.position
    for (const [index, transfer] of transfers.entries()) {
      if (transfer.position !== position) {
        settle(touched)
        touched = new Set()
        position = transfer.position
      }
      const token = tokens.get(bytesKey(transfer.token))!
      token.transfers++
      token.position = position
      if (transfer.sender === undefined) token.supply += transfer.amount
      if (transfer.recipient === undefined) token.supply -= transfer.amount
      touched.add(token)
      for (const { key, amount } of changes[index]!) {
        const balance = balances.get(key)!
        balance.amount += amount
        touched.add(balance)
      }
    }
    settle(touched)
    await this.#store(writer, tokens, balances)
  }

  /** Empties the cache: the transaction of the last {@link apply} was not stored. */
  forget(): void {
    this.#tokens.clear()
    this.#amounts.clear()
  }

  async #loadTokens(writer: IndexWriter, transfers: readonly PlacedTransfer[]): Promise<Map<string, Token>> {
    const loaded = new Map<string, Token>()
    const missing: string[] = []
    for (const { token: address, kind } of transfers) {
      const key = bytesKey(address)
      if (loaded.has(key)) continue
      const cached = this.#tokens.get(key)
      const fresh = {
        address,
        kind,
        isExact: this.#isWhole,
        holders: 0,
        transfers: 0,
        supply: 0n,
        position: 0,
        isNew: true,
      }
      loaded.set(key, cached === undefined ? fresh : { ...cached })
      if (cached === undefined) missing.push(key)
    }
    for (let at = 0; at < missing.length; at += QUERIED_AT_ONCE) {
      const rows = await writer.queries
        .selectFrom('token')
        .selectAll()
        .where('address', 'in', missing.slice(at, at + QUERIED_AT_ONCE).map(keyBytes))
        .execute()
      for (const { address, kind, is_exact, holders, transfers: count, supply, position } of rows) {
        const [isExact, total] = [is_exact === 1, bytesToAmount(supply)]
        loaded.set(bytesKey(address), {
          address,
          kind,
          isExact,
          holders,
          transfers: count,
          supply: total,
          position,
          isNew: false,
        })
      }
    }
    return loaded
  }

  async #loadBalances(
    writer: IndexWriter,
    tokens: ReadonlyMap<string, Token>,
    transfers: readonly PlacedTransfer[],
    changes: readonly (readonly Change[])[],
  ): Promise<Map<string, TokenBalance>> {
    const wanted = new Map<string, { readonly token: Token; readonly holder: Address; readonly id: Uint8Array }>()
    for (const [index, transfer] of transfers.entries()) {
      const token = tokens.get(bytesKey(transfer.token))!
      for (const { key, holder, id } of changes[index]!) wanted.set(key, { token, holder, id })
    }
    const stored = new Map<string, bigint | undefined>()
    const missing: string[] = []
    for (const key of wanted.keys()) {
      if (this.#amounts.has(key)) stored.set(key, this.#amounts.get(key))
      else missing.push(key)
    }
    for (let at = 0; at < missing.length; at += QUERIED_AT_ONCE) {
      const rows = await writer.queries
        .selectFrom('token_balance')
        .select(['key', 'amount'])
        .where('key', 'in', missing.slice(at, at + QUERIED_AT_ONCE).map(keyBytes))
        .execute()
      for (const { key, amount } of rows) stored.set(bytesKey(key), bytesToAmount(amount))
    }
    return new Map(
      [...wanted].map(([key, parts]) => {
        const amount = stored.get(key)
        return [key, { ...parts, stored: amount, amount: amount ?? 0n }]
      }),
    )
  }

  async #store(
    writer: IndexWriter,
    tokens: ReadonlyMap<string, Token>,
    balances: ReadonlyMap<string, TokenBalance>,
  ): Promise<void> {
    const [changed, gone]: [Row<'token_balance'>[], Uint8Array[]] = [[], []]
    if (this.#amounts.size + balances.size > MAX_CACHED) this.#amounts.clear()
    for (const [key, { token, holder, id, stored, amount }] of balances) {
      if (id.length === 0) token.holders += Number(amount > 0n) - Number((stored ?? 0n) > 0n)
      if (amount > 0n) {
        changed.push({ key: keyBytes(key), token: token.address, token_id: id, holder, amount: amountToBytes(amount) })
      } else if (stored !== undefined) gone.push(keyBytes(key))
      this.#amounts.set(key, amount > 0n ? amount : undefined)
    }
    for (let at = 0; at < gone.length; at += QUERIED_AT_ONCE) {
      const keys = gone.slice(at, at + QUERIED_AT_ONCE)
      await writer.queries.deleteFrom('token_balance').where('key', 'in', keys).execute()
    }
    await writer.replace('token_balance', changed)
    if (this.#tokens.size + tokens.size > MAX_CACHED) this.#tokens.clear()
    const [rows, names]: [Row<'token'>[], Row<'token_name'>[]] = [[], []]
    for (const [key, token] of tokens) {
      if (token.isNew) {
        const nothing = { name: null, symbol: null, decimals: null, name_key: EMPTY_BYTES, symbol_key: EMPTY_BYTES }
        names.push({ address: token.address, is_asked: 0, ...nothing })
      }
      token.isNew = false
      const { address, kind, isExact, holders, transfers, supply, position } = token
      const counts = { holders, transfers, supply: amountToBytes(supply) }
      rows.push({ address, kind, is_exact: Number(isExact), ...counts, position })
      this.#tokens.set(key, token)
    }
    await writer.replace('token', rows)
    await writer.insert('token_name', names)
  }
}

/** Key of a row of token_balance. */
function balanceKey(token: Address, holder: Address, id: Uint8Array): string {
  return bytesKey(concatBytes(token, holder, id))
}

/** A change of a balance by a transfer. */
interface Change {
  /** of the balance's row */
  readonly key: string
  readonly amount: bigint
  readonly holder: Address
  readonly id: Uint8Array
}

/** The balances that a transfer changes: each side's total of the token, and its balance of the id. */
function changesOf({ token, sender, recipient, amount, id }: TokenTransfer): readonly Change[] {
  const changes: Change[] = []
  const add = (holder: Address | undefined, change: bigint): void => {
    if (holder === undefined) return
    const key = balanceKey(token, holder, EMPTY_BYTES)
    changes.push({ key, amount: change, holder, id: EMPTY_BYTES })
    if (id.length > 0) changes.push({ key: balanceKey(token, holder, id), amount: change, holder, id })
  }
  add(sender, -amount)
  add(recipient, amount)
  return changes
}

/** Bounds impossible amounts, and marks their tokens as not exact. */
function settle(touched: ReadonlySet<TokenBalance | Token>): void {
  for (const one of touched) {
    const amount = 'supply' in one ? one.supply : one.amount
    const bounded = amount < 0n ? 0n : amount > MAX_AMOUNT ? MAX_AMOUNT : amount
    if (bounded === amount) continue
    if ('supply' in one) {
      one.supply = bounded
      one.isExact = false
    } else {
      one.amount = bounded
      one.token.isExact = false
    }
  }
}
