// Opcodes that look at accounts and at earlier blocks. Those with a price of their own take the gas and give what is left,
// or -1 with the failure set.
import { accessAccount, accessCost, codeOfAccount, currentAccount } from './accounts'
import { ENV_BLOB_HASH_COUNT, ENV_BLOB_HASHES, ENV_NUMBER, OUT_OF_GAS } from './constants'
import { copyCost, copyOut } from './copyOpcodes'
import { expandMemory, rangeEnd } from './evmMemory'
import { fail } from './failure'
import { blockHash } from './host'
import {
  ACCOUNT_BALANCE,
  ACCOUNT_CODE_HASH,
  CODE_BYTES,
  CODE_LENGTH,
  environment,
  MEMORY,
  RECORD,
  WORD,
} from './layout'
import { clearWord, copyWord, fitsU64, saturatedU64, setWord } from './wordAccess'

function paid(gas: i64): i64 {
  return gas < 0 ? fail(OUT_OF_GAS) : gas
}

export function balance(sp: usize, gas: i64): i64 {
  const record = accessAccount(sp, gas)
  if (record === 0) return fail(OUT_OF_GAS)
  copyWord(sp, record + ACCOUNT_BALANCE)
  return paid(gas - accessCost)
}

export function selfBalance(frame: usize, sp: usize): void {
  copyWord(sp, currentAccount(load<usize>(frame, RECORD)) + ACCOUNT_BALANCE)
}

export function extCodeSize(sp: usize, gas: i64): i64 {
  const record = accessAccount(sp, gas)
  if (record === 0) return fail(OUT_OF_GAS)
  setWord(sp, load<u32>(codeOfAccount(record), CODE_LENGTH))
  return paid(gas - accessCost)
}

export function extCodeHash(sp: usize, gas: i64): i64 {
  const record = accessAccount(sp, gas)
  if (record === 0) return fail(OUT_OF_GAS)
  copyWord(sp, record + ACCOUNT_CODE_HASH)
  return paid(gas - accessCost)
}

export function extCodeCopy(frame: usize, sp: usize, gas: i64): i64 {
  const length = saturatedU64(sp - 3 * WORD)
  gas = expandMemory(frame, rangeEnd(saturatedU64(sp - WORD), length), gas)
  if (gas < 0) return -1
  gas -= copyCost(length)
  const record = accessAccount(sp, gas)
  if (gas < 0 || record === 0) return fail(OUT_OF_GAS)
  gas -= accessCost
  if (gas < 0) return fail(OUT_OF_GAS)
  if (length === 0) return gas
  const code = codeOfAccount(record)
  const to = load<usize>(frame, MEMORY) + <usize>load<u64>(sp - WORD)
  copyOut(to, load<usize>(code, CODE_BYTES), load<u32>(code, CODE_LENGTH), saturatedU64(sp - 2 * WORD), length)
  return gas
}

/** The hashes that this run has asked for: by the number's low byte, a word; and whether it is known. */
const hashes: usize = heap.alloc(256 * WORD)
const isKnown: usize = heap.alloc(256)

export function forgetBlockHashes(): void {
  memory.fill(isKnown, 0, 256)
}

export function blockHashOf(sp: usize): void {
  const current = load<u64>(environment, ENV_NUMBER)
  const number = load<u64>(sp)
  if (!fitsU64(sp) || number >= current || current - number > 256) {
    clearWord(sp)
    return
  }
  const place = <usize>(number & 0xff)
  const hash = hashes + place * WORD
  if (load<u8>(isKnown + place) === 0) {
    blockHash(<u32>number, <u32>(number >> 32), hash)
    store<u8>(isKnown + place, 1)
  }
  copyWord(sp, hash)
}

export function blobHash(sp: usize): void {
  if (saturatedU64(sp) >= <u64>load<u32>(environment, ENV_BLOB_HASH_COUNT)) clearWord(sp)
  else copyWord(sp, load<usize>(environment, ENV_BLOB_HASHES) + <usize>load<u64>(sp) * WORD)
}
