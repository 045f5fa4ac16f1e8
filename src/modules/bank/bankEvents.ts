import type { NativeEvent } from '../../chain/entries.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import type { WorldState } from '../../state/world.ts'
import { coinsOf, coinsText } from '../coin.ts'

/** The events of x/bank/keeper (types/events.go): names and order of attributes are the SDK's. */
type Emitter = Pick<WorldState, 'emitEvent'>

export function emitCoinSpent(world: Emitter, spender: Address, amount: bigint): void {
  world.emitEvent(event('coin_spent', { spender: toBech32(spender), amount: amountText(amount) }))
}

export function emitCoinReceived(world: Emitter, receiver: Address, amount: bigint): void {
  world.emitEvent(event('coin_received', { receiver: toBech32(receiver), amount: amountText(amount) }))
}

export function emitTransfer(world: Emitter, sender: Address, recipient: Address, amount: bigint): void {
  const attributes = { recipient: toBech32(recipient), sender: toBech32(sender), amount: amountText(amount) }
  world.emitEvent(event('transfer', attributes))
}

export function emitMessageSender(world: Emitter, sender: Address): void {
  world.emitEvent(event('message', { sender: toBech32(sender) }))
}

export function emitCoinbase(world: Emitter, minter: Address, amount: bigint): void {
  world.emitEvent(event('coinbase', { minter: toBech32(minter), amount: amountText(amount) }))
}

export function emitBurn(world: Emitter, burner: Address, amount: bigint): void {
  world.emitEvent(event('burn', { burner: toBech32(burner), amount: amountText(amount) }))
}

/** An event with attributes in the order of `attributes`. */
export function event(type: string, attributes: Readonly<Record<string, string>>): NativeEvent {
  return { type, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })) }
}

/** As sdk.Coins.String. */
function amountText(amount: bigint): string {
  return coinsText(coinsOf(amount))
}
