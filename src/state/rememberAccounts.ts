import { bytesKey } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { Account, StateReader } from './reader.ts'
import { isFilterKey } from './vesting.ts'

/** All that is remembered is forgotten when one of these is reached. */
const MAX_ACCOUNTS = 1_024
const MAX_CODE_BYTES = 4 * 1_048_576

/**
 * Wraps a state that does not change, for many short runs on it: recently read accounts stay
 * decoded, with their bytecode. `state` has caches of its own; this one is in front of them, and
 * saves the look-ups by key and the decoding.
 */
export function rememberAccounts(state: StateReader): StateReader {
  const accounts = new Map<string, Account | undefined>()
  /** by the hash object, which a remembered account retains */
  const codeByHash = new Map<Hash, Uint8Array>()
  let codeBytes = 0
  /** by key, at most 257 entries */
  const filter = new Map<string, Uint8Array | undefined>()
  const forget = (): void => {
    accounts.clear()
    codeByHash.clear()
    codeBytes = 0
  }
  return {
    getAccount: (address) => {
      const key = bytesKey(address)
      const known = accounts.get(key)
      if (known !== undefined || accounts.has(key)) return known
      const account = state.getAccount(address)
      if (accounts.size >= MAX_ACCOUNTS) forget()
      accounts.set(key, account)
      return account
    },
    getCode: (hash) => {
      const known = codeByHash.get(hash)
      if (known !== undefined) return known
      const code = state.getCode(hash)
      if (codeByHash.size >= MAX_ACCOUNTS || codeBytes + code.length > MAX_CODE_BYTES) forget()
      codeBytes += code.length
      codeByHash.set(hash, code)
      return code
    },
    getStorage: (address, slot) => state.getStorage(address, slot),
    knownSlot: state.knownSlot?.bind(state),
    storageCount: (address) => state.storageCount(address),
    getNative: (key) => {
      if (!isFilterKey(key)) return state.getNative(key)
      // Each run asks whether there are vesting accounts.
      const name = bytesKey(key)
      if (!filter.has(name)) filter.set(name, state.getNative(key))
      return filter.get(name)
    },
    nativeRange: (prefix, start, reverse) => state.nativeRange(prefix, start, reverse),
  }
}
