import type { Address } from '../../src/primitives/address.ts'
import { equalBytes } from '../../src/primitives/bytes.ts'
import type { Event } from '../node/answers.ts'
import { accountOf, coinsOf } from '../node/readAnswers.ts'
import { MOVEMENT_KINDS } from './tables.ts'

/** Coins that went from one account to another. Minted coins have no sender, burnt coins no recipient. */
export interface CoinMovement {
  readonly sender: Address | undefined
  readonly recipient: Address | undefined
  /** acoin */
  readonly amount: bigint
  kind: (typeof MOVEMENT_KINDS)[keyof typeof MOVEMENT_KINDS]
}

export interface PlacedMovement extends CoinMovement {
  readonly position: number
}

/** Coins that an account has spent and that are not received yet. */
interface Spent {
  readonly spender: Address
  left: bigint
}

/**
 * Reads the movements of coins from the events of one transaction, or of the start or end of a block.
 *
 * The bank says `coin_spent` and `coin_received` for every change of a balance (x/bank/keeper/send.go), whether a message,
 * a call of a contract, a fee or a module caused it. Received coins are matched with the coins that were spent before, the oldest first.
 * So every coin is in exactly one movement, and balances are right even if the pairs are not. Coins that were received but not
 * spent were minted. Coins that were spent but not received were burnt.
 * @throws Error for an amount or address that cannot be read
 */
export function coinMovements(events: readonly Event[]): readonly CoinMovement[] {
  const movements: CoinMovement[] = []
  const open: Spent[] = []
  for (const { type, attributes } of events) {
    const value = (name: string): string => attributes.find(({ key }) => key === name)?.value ?? ''
    switch (type) {
      case 'coin_spent':
        open.push({ spender: accountOf(value('spender')), left: coinsOf(value('amount')) })
        break
      case 'coin_received':
        receive(accountOf(value('receiver')), coinsOf(value('amount')), open, movements)
        break
      case 'burn':
        burn(accountOf(value('burner')), coinsOf(value('amount')), open, movements)
        break
      case 'tx':
        // The fee is paid before anything else. This event reports it.
        if (value('fee') !== '') for (const movement of movements) movement.kind = MOVEMENT_KINDS.fee
        break
    }
  }
  for (const { spender, left } of open) {
    if (left > 0n) movements.push({ sender: spender, recipient: undefined, amount: left, kind: MOVEMENT_KINDS.burn })
  }
  return movements
}

function receive(recipient: Address, amount: bigint, open: Spent[], movements: CoinMovement[]): void {
  let left = amount
  while (left > 0n) {
    const from = open[0]
    if (from === undefined) {
      movements.push({ sender: undefined, recipient, amount: left, kind: MOVEMENT_KINDS.mint })
      return
    }
    const part = from.left < left ? from.left : left
    if (part > 0n) movements.push({ sender: from.spender, recipient, amount: part, kind: MOVEMENT_KINDS.transfer })
    left -= part
    from.left -= part
    if (from.left === 0n) open.shift()
  }
}

function burn(burner: Address, amount: bigint, open: Spent[], movements: CoinMovement[]): void {
  const at = open.findLastIndex(({ spender, left }) => left >= amount && equalBytes(spender, burner))
  if (at === -1 || amount === 0n) return
  const spent = open[at]!
  movements.push({ sender: burner, recipient: undefined, amount, kind: MOVEMENT_KINDS.burn })
  spent.left -= amount
  if (spent.left === 0n) open.splice(at, 1)
}
