import {
  type EvmEntry,
  evmTransfers,
  type NativeEvent,
  type StoredEntry,
  type ValueTransfer,
} from '../chain/block/entries.ts'
import { emitCoinReceived, emitCoinSpent, emitMessageSender, emitTransfer } from '../modules/bank/send.ts'
import { coinsOf, coinsText } from '../modules/coin.ts'
import { event } from '../modules/context.ts'
import { FEE_COLLECTOR } from '../modules/moduleAccounts.ts'
import { toBech32 } from '../primitives/address.ts'

/**
 * Returns the events of an entry of data.txs, as block results show them. An EVM transaction has
 * the same events as a native one with the same effects: the bank's for its fee and for all coins
 * that it moved, then those of the native modules that its code called.
 */
export function eventsOfEntry(entry: StoredEntry): readonly NativeEvent[] {
  if (entry.kind === 'skipped') return []
  return entry.kind === 'native' ? entry.result.events : eventsOfEvm(entry)
}

function eventsOfEvm(entry: EvmEntry): readonly NativeEvent[] {
  const events: NativeEvent[] = []
  const { sender } = entry.signed
  const { gasUsed, effectiveGasPrice } = entry.receipt
  const fee = gasUsed * effectiveGasPrice
  if (fee > 0n) addTransfer(events, { from: sender, to: FEE_COLLECTOR, amountAcoin: fee })
  events.push(event('tx', { fee: coinsText(coinsOf(fee)), fee_payer: toBech32(sender) }))
  for (const moved of evmTransfers(entry)) addTransfer(events, moved)
  return [...events, ...entry.events]
}

/** Adds the events of a transfer, as SendCoins of x/bank/keeper/send.go. */
function addTransfer(events: NativeEvent[], { from, to, amountAcoin }: ValueTransfer): void {
  const emitter = { emitEvent: (made: NativeEvent) => void events.push(made) }
  emitCoinSpent(emitter, from, amountAcoin)
  emitCoinReceived(emitter, to, amountAcoin)
  emitTransfer(emitter, from, to, amountAcoin)
  emitMessageSender(emitter, from)
}
