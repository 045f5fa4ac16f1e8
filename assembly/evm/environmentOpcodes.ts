// Opcodes of the yellow paper's groups "environmental information" and "block information": what they read of the frame, the
// transaction, the block and of accounts. Those with a price of their own take the gas and give what is left, or -1 with the
// failure set.
import { WARM_ACCESS, accessAccount, accessCost, codeOfAccount, currentAccount } from './accounts'
import { returnLength } from './buffer'
import {
  ENV_BASE_FEE, ENV_BLOB_BASE_FEE, ENV_BLOB_HASHES, ENV_BLOB_HASH_COUNT, ENV_CHAIN_ID, ENV_COINBASE, ENV_GAS_LIMIT,
  ENV_GAS_PRICE, ENV_NUMBER, ENV_ORIGIN, ENV_PREV_RANDAO, ENV_TIMESTAMP, OP_ADDRESS, OP_BASEFEE, OP_CALLDATASIZE,
  OP_CALLER, OP_CALLVALUE, OP_CHAINID, OP_CODESIZE, OP_COINBASE, OP_GASLIMIT, OP_GASPRICE, OP_NUMBER, OP_ORIGIN,
  OP_PREVRANDAO, OP_RETURNDATASIZE, OP_SELFBALANCE, OP_TIMESTAMP, OUT_OF_GAS,
} from './constants'
import { copyCost, copyOut } from './copyOpcodes'
import { expandMemory, rangeEnd } from './evmMemory'
import { fail } from './failure'
import { blockHash } from './host'
import {
  ACCOUNT_BALANCE, ACCOUNT_CODE_HASH, ADDRESS_WORD, CALLER_WORD, CODE, CODE_BYTES, CODE_LENGTH, INPUT_LENGTH, MEMORY,
  RECORD, VALUE, WORD, environment,
} from './layout'
import { clearWord, copyWord, fitsU64, saturatedU64, setWord } from './word'

/** Writes the word that `opcode` pushes to `sp`. */
export function pushContext(opcode: u32, frame: usize, sp: usize): void {
  switch (opcode) {
    case OP_ADDRESS:
      copyWord(sp, frame + ADDRESS_WORD)
      return
    case OP_ORIGIN:
      copyWord(sp, environment + ENV_ORIGIN)
      return
    case OP_CALLER:
      copyWord(sp, frame + CALLER_WORD)
      return
    case OP_CALLVALUE:
      copyWord(sp, frame + VALUE)
      return
    case OP_CALLDATASIZE:
      setWord(sp, load<u32>(frame, INPUT_LENGTH))
      return
    case OP_CODESIZE:
      setWord(sp, load<u32>(load<usize>(frame, CODE), CODE_LENGTH))
      return
    case OP_GASPRICE:
      copyWord(sp, environment + ENV_GAS_PRICE)
      return
    case OP_RETURNDATASIZE:
      setWord(sp, returnLength)
      return
    case OP_COINBASE:
      copyWord(sp, environment + ENV_COINBASE)
      return
    case OP_TIMESTAMP:
      copyWord(sp, environment + ENV_TIMESTAMP)
      return
    case OP_NUMBER:
      copyWord(sp, environment + ENV_NUMBER)
      return
    case OP_PREVRANDAO:
      copyWord(sp, environment + ENV_PREV_RANDAO)
      return
    case OP_GASLIMIT:
      copyWord(sp, environment + ENV_GAS_LIMIT)
      return
    case OP_CHAINID:
      copyWord(sp, environment + ENV_CHAIN_ID)
      return
    case OP_SELFBALANCE:
      selfBalance(frame, sp)
      return
    case OP_BASEFEE:
      copyWord(sp, environment + ENV_BASE_FEE)
      return
    default:
      copyWord(sp, environment + ENV_BLOB_BASE_FEE)
  }
}

function paid(gas: i64): i64 {
  return gas < 0 ? fail(OUT_OF_GAS) : gas
}

export function balance(sp: usize, gas: i64): i64 {
  const record = accessAccount(sp, gas)
  if (record === 0) return fail(OUT_OF_GAS)
  copyWord(sp, record + ACCOUNT_BALANCE)
  return paid(gas - accessCost)
}

function selfBalance(frame: usize, sp: usize): void {
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
  // As in geth, which charges this before it looks at the memory: a range that is too large is another failure.
  if (gas < WARM_ACCESS) return fail(OUT_OF_GAS)
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

/** The block hashes that this run has asked for, a word each by the low byte of the number, and whether each is known. */
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
  const index = <usize>(number & 0xff)
  const hash = hashes + index * WORD
  if (load<u8>(isKnown + index) === 0) {
    blockHash(<u32>number, <u32>(number >> 32), hash)
    store<u8>(isKnown + index, 1)
  }
  copyWord(sp, hash)
}

export function blobHash(sp: usize): void {
  if (saturatedU64(sp) >= <u64>load<u32>(environment, ENV_BLOB_HASH_COUNT)) clearWord(sp)
  else copyWord(sp, load<usize>(environment, ENV_BLOB_HASHES) + <usize>load<u64>(sp) * WORD)
}
