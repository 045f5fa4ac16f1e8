import type { Burn, NativeEvent } from '../../chain/block/entries.ts'
import { MODULE_ACCOUNT_NAMES, NATIVE_TOKEN_ADDRESS, STATIC_PRECOMPILES } from '../../chain/genesis/genesisConstants.ts'
import { type Address, moduleAddress, toBech32 } from '../../primitives/address.ts'
import { bytesKey, hexToBytes } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'
import { BASE_DENOM, coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { burn, mint, type TransferResult, transfer } from './ledger.ts'

/*
 * Coins as the SDK's bank moves, mints and burns them: the ledger's operations with the SDK's events and errors, and the rule
 * who may receive coins from users. Events have the SDK's names and order (x/bank/types/events.go).
 */

type Emitter = Pick<WorldState, 'emitEvent'>

type SendContext = {
  readonly world: Pick<
    ModuleContext['world'],
    'getBalance' | 'getSpendable' | 'addBalance' | 'subBalance' | 'emitEvent'
  >
}

type SupplyContext = {
  readonly world: Pick<
    ModuleContext['world'],
    'getBalance' | 'getSpendable' | 'addBalance' | 'subBalance' | 'emitEvent' | 'native'
  >
}

/** A receiver of a multi-send. */
interface Payment {
  readonly to: Address
  /** acoin */
  readonly amount: bigint
}

/**
 * Moves coins between any two accounts and emits the events of SendCoins (x/bank/keeper/send.go). Modules send with it: it does
 * not check whether `to` may receive coins.
 */
export function sendCoins(
  { world }: SendContext,
  from: Address,
  to: Address,
  amountAcoin: bigint,
): SdkError | undefined {
  const moved = transfer(world, from, to, amountAcoin)
  if (!moved.ok) return transferError(moved, amountAcoin)
  emitCoinSpent(world, from, amountAcoin)
  emitCoinReceived(world, to, amountAcoin)
  emitTransfer(world, from, to, amountAcoin)
  emitMessageSender(world, from)
  return undefined
}

/** {@link sendCoins} for a user: accounts of modules and precompiles may not receive (sdk/4). */
export function sendToAccount(
  context: SendContext,
  from: Address,
  to: Address,
  amountAcoin: bigint,
): SdkError | undefined {
  if (isBlockedAddress(to)) return sdkError('unauthorized', `${toBech32(to)} is not allowed to receive funds`)
  return sendCoins(context, from, to, amountAcoin)
}

/**
 * Pays several receivers from one account, with the events of InputOutputCoins (x/bank/keeper/send.go). An error leaves effects
 * for the caller to undo.
 * @param totalAcoin the sum of all payments
 */
export function multiSend(
  { world }: SendContext,
  from: Address,
  totalAcoin: bigint,
  payments: readonly Payment[],
): SdkError | undefined {
  const blocked = payments.find(({ to }) => isBlockedAddress(to))
  if (blocked !== undefined) return sdkError('unauthorized', `${toBech32(blocked.to)} is not allowed to receive funds`)
  const balance = world.getSpendable(from)
  if (balance < totalAcoin) return insufficientFunds(balance, totalAcoin)
  emitCoinSpent(world, from, totalAcoin)
  emitMessageSender(world, from)
  for (const { to, amount } of payments) {
    const moved = transfer(world, from, to, amount)
    if (!moved.ok) return transferError(moved, amount)
    emitCoinReceived(world, to, amount)
    emitTransfer(world, from, to, amount)
  }
  return undefined
}

/**
 * Makes coins in an account, with the events of MintCoins (x/bank/keeper/keeper.go).
 * @throws RangeError (a bug) when the supply would not fit 256 bits
 */
export function mintCoins({ world }: SupplyContext, to: Address, amountAcoin: bigint): void {
  mint(world, to, amountAcoin)
  emitCoinReceived(world, to, amountAcoin)
  world.emitEvent(event('coinbase', { minter: toBech32(to), amount: amountText(amountAcoin) }))
}

/** Destroys coins of an account, with the events of BurnCoins. */
export function burnCoins({ world }: SupplyContext, from: Address, amountAcoin: bigint): SdkError | undefined {
  const burnt = burn(world, from, amountAcoin)
  if (!burnt.ok) return transferError(burnt, amountAcoin)
  emitCoinSpent(world, from, amountAcoin)
  world.emitEvent(burnEvent(from, amountAcoin))
  return undefined
}

/** Returns the events of coins that the EVM destroyed, as of {@link burnCoins}. */
export function burnEvents({ account, amountAcoin }: Burn): readonly NativeEvent[] {
  const events: NativeEvent[] = []
  emitCoinSpent({ emitEvent: (made) => void events.push(made) }, account, amountAcoin)
  return [...events, burnEvent(account, amountAcoin)]
}

function burnEvent(burner: Address, amountAcoin: bigint): NativeEvent {
  return event('burn', { burner: toBech32(burner), amount: amountText(amountAcoin) })
}

/** Returns the SDK's error for a refusal of the ledger. */
export function transferError(failure: Extract<TransferResult, { readonly ok: false }>, amountAcoin: bigint): SdkError {
  if (failure.reason === 'overflow') return sdkError('invalidCoins', 'the receiver would have more than 256 bits')
  return insufficientFunds(failure.balance, amountAcoin)
}

export function insufficientFunds(balance: bigint, amountAcoin: bigint): SdkError {
  return sdkError(
    'insufficientFunds',
    `spendable balance ${balance}${BASE_DENOM} is smaller than ${amountAcoin}${BASE_DENOM}`,
  )
}

const MODULE_KEYS: ReadonlySet<string> = new Set(MODULE_ACCOUNT_NAMES.map((name) => bytesKey(moduleAddress(name))))
/** Accounts of stateful precompiles: coins sent there would be lost. */
const PRECOMPILE_KEYS: ReadonlySet<string> = new Set(
  [NATIVE_TOKEN_ADDRESS, ...STATIC_PRECOMPILES].map((address) => bytesKey(hexToBytes(address))),
)

/** Whether users may send no coins there: a module's account or a stateful precompile. */
export function isBlockedAddress(address: Address): boolean {
  const key = bytesKey(address)
  return MODULE_KEYS.has(key) || PRECOMPILE_KEYS.has(key)
}

/**
 * Whether an account may not be a grantee. The SDK refuses a blocked address as the grantee unless
 * the account exists. Accounts of modules always exist (governance may act for an account that
 * granted it something), so only precompiles are refused.
 */
export function isBlockedGrantee(address: Address): boolean {
  return PRECOMPILE_KEYS.has(bytesKey(address))
}

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

function amountText(amount: bigint): string {
  return coinsText(coinsOf(amount))
}
