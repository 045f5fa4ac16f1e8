import { bytesKey, keyBytes } from '../primitives/bytes.ts'
import type { AccountChange, StateChanges } from './changes.ts'
import { type AccountEntry, changedSlots, equalAccounts } from './journalEntry.ts'
import type { StateReader } from './reader.ts'

/**
 * Which of a journal's accounts differ from the reader's, with the codes that they have of it.
 * @param entries by address
 * @param setCodes by hash: those set through the journal
 */
export function accountChanges(
  entries: ReadonlyMap<string, AccountEntry>,
  setCodes: ReadonlyMap<string, Uint8Array>,
  reader: Pick<StateReader, 'storageCount'>,
): Pick<StateChanges, 'accounts' | 'codes'> {
  const accounts: AccountChange[] = []
  const codeKeys = new Set<string>()
  // The strings' own order is that of the bytes.
  for (const key of [...entries.keys()].sort()) {
    const entry = entries.get(key)!
    const wiped = entry.wiped && reader.storageCount(entry.address) > 0
    const slots = changedSlots(entry, wiped)
    if (!wiped && slots.length === 0 && equalAccounts(entry.base, entry.account)) continue
    const { address, base: previous, account: current } = entry
    accounts.push({ address, previous, current, wiped, slots })
    if (current !== undefined) codeKeys.add(bytesKey(current.codeHash))
  }
  const codes = [...codeKeys]
    .filter((key) => setCodes.has(key))
    .sort()
    .map((key) => ({ hash: keyBytes(key), code: setCodes.get(key)! }))
  return { accounts, codes }
}
