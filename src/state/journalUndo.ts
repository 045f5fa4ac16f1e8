import type { AccountEntry, Slot, TransactionScope } from './journalEntry.ts'
import type { Account } from './reader.ts'

/** What undoes each kind of change in a journal, for its undo log. */

export function restoreAccount(entry: AccountEntry, previous: Account | undefined): void {
  entry.account = previous
}

export function restoreSlot(slot: Slot, previous: Uint8Array): void {
  slot.value = previous
}

export function restoreSlotDelta(entry: AccountEntry, previous: number): void {
  entry.slotDelta = previous
}

export function restoreTouched(entry: AccountEntry, previous: number): void {
  entry.touchedIn = previous
}

export function restoreWarm(item: AccountEntry | Slot, previous: number): void {
  item.warmIn = previous
}

export function restoreOpen(scope: TransactionScope): void {
  scope.ended = false
}

export function restoreTransient(
  transient: Map<string, Uint8Array>,
  { key, previous }: { readonly key: string; readonly previous: Uint8Array },
): void {
  transient.set(key, previous)
}

/** A slot that was first looked at behind the wipe was found empty: it is looked at anew. */
export function restoreWiped(
  entry: AccountEntry,
  { slotDelta, known }: { readonly slotDelta: number; readonly known: number },
): void {
  entry.wiped = false
  entry.slotDelta = slotDelta
  if (entry.slots === undefined) return
  for (const key of [...entry.slots.keys()].slice(known)) entry.slots.delete(key)
}

export function unmark(set: Set<AccountEntry>, entry: AccountEntry): void {
  set.delete(entry)
}

export function dropLast(list: unknown[]): void {
  list.pop()
}
