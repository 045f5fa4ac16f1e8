// The accounts that a run has read: their state in the world, and whether they are warm (EIP-2929).
import { accountEpoch, resetAccountEpoch } from './accountEpoch'
import { acquireCode, emptyCode } from './contractCode'
import {
  ACCOUNT_HAS_CODE, ACCOUNT_STANDARD_PRECOMPILE, ACCOUNT_STATEFUL_PRECOMPILE, ACCOUNT_WARM, ENV_HAS_VESTING,
} from './constants'
import { isWarmAddress, loadAccount, loadSpendable } from './host'
import {
  ACCOUNT_BALANCE, ACCOUNT_CODE, ACCOUNT_EPOCH, ACCOUNT_FLAGS, ACCOUNT_IS_WARM, ACCOUNT_NEXT, ACCOUNT_OLDER, ACCOUNT_SIZE, WORD,
  environment, scratch,
} from './layout'
import {
  TABLE_SIZE, allocateRecord, bucketOf, countRecord, emptyTable, hashAddress, initializeTable,
} from './recordTable'
import { recordAccountWarm } from './undoLog'
import { addressOfWord } from './word'

export const WARM_ACCESS: i64 = 100
const COLD_ACCOUNT: i64 = 2_600
const PRECOMPILES = ACCOUNT_STANDARD_PRECOMPILE | ACCOUNT_STATEFUL_PRECOMPILE

const table: usize = heap.alloc(TABLE_SIZE)
initializeTable(table)
let newest: usize = 0

export function forgetAccounts(): void {
  emptyTable(table)
  newest = 0
  resetAccountEpoch()
}

const spendable: usize = heap.alloc(WORD)

/**
 * Returns what the account of a current record may spend: its balance without coins that are
 * locked, where there are vesting accounts. The next call overwrites the result.
 */
export function spendableOf(record: usize): usize {
  if (load<u32>(environment, ENV_HAS_VESTING) === 0) return record + ACCOUNT_BALANCE
  loadSpendable(record, spendable)
  return spendable
}

/** Returns the record of an address of 20 bytes. It may not have been loaded from the world yet. */
function recordOf(address: usize): usize {
  const hash = hashAddress(address)
  let bucket = bucketOf(table, hash)
  let record = load<usize>(bucket)
  while (record !== 0) {
    if (equalAddresses(record, address)) return record
    record = load<usize>(record, ACCOUNT_NEXT)
  }
  record = allocateRecord(ACCOUNT_SIZE)
  memory.copy(record, address, 20)
  store<usize>(record, newest, ACCOUNT_OLDER)
  newest = record
  if (countRecord(table)) {
    for (let other = newest; other !== 0; other = load<usize>(other, ACCOUNT_OLDER)) chain(other)
  } else {
    bucket = bucketOf(table, hash)
    store<usize>(record, load<usize>(bucket), ACCOUNT_NEXT)
    store<usize>(bucket, record)
  }
  return record
}

function chain(record: usize): void {
  const bucket = bucketOf(table, hashAddress(record))
  store<usize>(record, load<usize>(bucket), ACCOUNT_NEXT)
  store<usize>(bucket, record)
}

// @ts-ignore: decorator
@inline
function equalAddresses(a: usize, b: usize): bool {
  return (
    ((load<u64>(a) ^ load<u64>(b)) |
      (load<u64>(a, 8) ^ load<u64>(b, 8)) |
      <u64>(load<u32>(a, 16) ^ load<u32>(b, 16))) ===
    0
  )
}

/** Reads the record from the world again if it may have changed. */
// @ts-ignore: decorator
@inline
function refresh(record: usize): usize {
  if (load<u32>(record, ACCOUNT_EPOCH) !== accountEpoch) reload(record)
  return record
}

function reload(record: usize): void {
  const isFirst = load<u32>(record, ACCOUNT_EPOCH) === 0
  loadAccount(record)
  store<u32>(record, accountEpoch, ACCOUNT_EPOCH)
  store<usize>(record, 0, ACCOUNT_CODE)
  if (isFirst && (load<u32>(record, ACCOUNT_FLAGS) & ACCOUNT_WARM) !== 0) store<u32>(record, 1, ACCOUNT_IS_WARM)
}

/** Returns the record of an address of 20 bytes, up to date. */
export function accountAt(address: usize): usize {
  return refresh(recordOf(address))
}

/** Brings a record that was found earlier up to date. */
export function currentAccount(record: usize): usize {
  return refresh(record)
}

/**
 * Returns the record of the account that a word names, which is warm afterwards. 0 when it is cold
 * and `gas` is below the price: nothing is read from the state before it is paid for.
 * {@link accessCost} is the price; for a warm account the caller must still check that the gas is
 * enough.
 */
export function accessAccount(word: usize, gas: i64): usize {
  addressOfWord(scratch, word)
  return accessAddress(scratch, gas)
}

/** Does the same as {@link accessAccount} for an address of 20 bytes. */
export function accessAddress(address: usize, gas: i64): usize {
  const record = recordOf(address)
  if (load<u32>(record, ACCOUNT_EPOCH) === 0 && gas < COLD_ACCOUNT && isWarmAddress(record) === 0) {
    accessCost = COLD_ACCOUNT
    return 0
  }
  refresh(record)
  if (load<u32>(record, ACCOUNT_IS_WARM) !== 0) {
    accessCost = WARM_ACCESS
  } else {
    accessCost = COLD_ACCOUNT
    if (gas < COLD_ACCOUNT) return 0
    warmAccount(record)
  }
  return record
}

export let accessCost: i64 = 0

/** Returns the price of {@link accessAddress}, without warming the account. */
export function peekAccessCost(address: usize): i64 {
  const record = recordOf(address)
  if (load<u32>(record, ACCOUNT_EPOCH) === 0) return isWarmAddress(record) !== 0 ? WARM_ACCESS : COLD_ACCOUNT
  return load<u32>(record, ACCOUNT_IS_WARM) !== 0 ? WARM_ACCESS : COLD_ACCOUNT
}

export function warmAccount(record: usize): void {
  if (load<u32>(record, ACCOUNT_IS_WARM) !== 0) return
  store<u32>(record, 1, ACCOUNT_IS_WARM)
  recordAccountWarm(record)
}

/** Returns the code entry of a record that is up to date; for precompiles the entry of no code. */
export function codeOfAccount(record: usize): usize {
  const code = load<usize>(record, ACCOUNT_CODE)
  if (code !== 0) return code
  const hasCode = (load<u32>(record, ACCOUNT_FLAGS) & ACCOUNT_HAS_CODE) !== 0
  const found = hasCode ? acquireCode(record) : emptyCode
  // acquireCode may have freed entries that other records point to, and made all records stale; this one is current
  store<u32>(record, accountEpoch, ACCOUNT_EPOCH)
  store<usize>(record, found, ACCOUNT_CODE)
  return found
}

export function isPrecompile(record: usize): bool {
  return (load<u32>(record, ACCOUNT_FLAGS) & PRECOMPILES) !== 0
}
