import type { Transaction } from '../chain/block/transaction.ts'
import { type Hardfork, includesFork } from '../chain/genesis/hardfork.ts'

/** EIP-7825 (Osaka): the highest gas limit of one transaction. */
export const MAX_TRANSACTION_GAS = 2n ** 24n
/** EIP-3860 (Shanghai): the longest init code. */
export const MAX_INIT_CODE_BYTES = 49_152

const TRANSACTION = 21_000
const CREATION = 32_000
const ZERO_BYTE = 4
const NON_ZERO_BYTE = 16
/** before EIP-2028 (Istanbul) */
const NON_ZERO_BYTE_FRONTIER = 68
/** EIP-3860: for each 32-byte word of init code */
const INIT_CODE_WORD = 2
/** EIP-2930 */
const ACCESS_LIST_ADDRESS = 2_400
const ACCESS_LIST_SLOT = 1_900
/** EIP-7702: for each authorization, as if it created its account */
const AUTHORIZATION = 25_000
/** EIP-7623: a byte that is not zero counts as four tokens */
const TOKENS_OF_NON_ZERO_BYTE = 4
const FLOOR_PER_TOKEN = 10

/**
 * Returns the gas that a transaction pays before its code runs (EIP-2, 2028, 2930, 3860, 7702;
 * geth: core/state_transition.go).
 */
export function intrinsicGas(
  transaction: Pick<Transaction, 'to' | 'data' | 'accessList' | 'authorizationList'>,
  fork: Hardfork,
): bigint {
  const { to, data, accessList, authorizationList } = transaction
  const zeros = countZeros(data)
  const nonZeroByte = includesFork(fork, 'istanbul') ? NON_ZERO_BYTE : NON_ZERO_BYTE_FRONTIER
  let gas = TRANSACTION + zeros * ZERO_BYTE + (data.length - zeros) * nonZeroByte
  if (to === undefined) {
    if (includesFork(fork, 'homestead')) gas += CREATION
    if (includesFork(fork, 'shanghai')) gas += Math.ceil(data.length / 32) * INIT_CODE_WORD
  }
  for (const { storageKeys } of accessList) gas += ACCESS_LIST_ADDRESS + storageKeys.length * ACCESS_LIST_SLOT
  return BigInt(gas + authorizationList.length * AUTHORIZATION)
}

/** Returns the least gas that a transaction with this data is charged for in the end (EIP-7623); 0 before Prague. */
export function floorDataGas(data: Uint8Array, fork: Hardfork): bigint {
  if (!includesFork(fork, 'prague')) return 0n
  const zeros = countZeros(data)
  return BigInt(TRANSACTION + (zeros + (data.length - zeros) * TOKENS_OF_NON_ZERO_BYTE) * FLOOR_PER_TOKEN)
}

function countZeros(data: Uint8Array): number {
  let zeros = 0
  for (let i = 0; i < data.length; i++) if (data[i] === 0) zeros++
  return zeros
}
