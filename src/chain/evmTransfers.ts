import { bytesToBigInt, equalBytes, hexToBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import type { EvmEntry } from './entryResult.ts'
import { NATIVE_TOKEN_ADDRESS } from './genesisConstants.ts'
import type { Log } from './log.ts'
import type { ValueTransfer } from './valueTransfer.ts'

const NATIVE_TOKEN = hexToBytes(NATIVE_TOKEN_ADDRESS)
const TRANSFER = keccak256(new TextEncoder().encode('Transfer(address,address,uint256)'))
const DEPOSIT = keccak256(new TextEncoder().encode('Deposit(address,uint256)'))
const NOTHING: readonly ValueTransfer[] = []

/**
 * All coins that an EVM transaction moved, but for its fee: its own value, what code sent, and what moved through the native
 * token, as its logs say. Nothing when it failed.
 */
export function evmTransfers({ signed, receipt, transfers }: EvmEntry): readonly ValueTransfer[] {
  if (receipt.status !== 1) return NOTHING
  const { transaction, sender } = signed
  const to = transaction.to ?? receipt.contractAddress
  const isMoved = transaction.value > 0n && to !== undefined
  const own = isMoved ? [{ from: sender, to, amountAcoin: transaction.value }] : NOTHING
  if (transfers.length === 0 && receipt.logs.length === 0) return own
  return [...own, ...transfers, ...receipt.logs.flatMap(tokenTransfer)]
}

/** What a log of the native token tells: a transfer, or a deposit, which gives the call's value back. */
function tokenTransfer({ address, topics, data }: Log): readonly ValueTransfer[] {
  if (!equalBytes(address, NATIVE_TOKEN)) return NOTHING
  const amountAcoin = bytesToBigInt(data)
  if (amountAcoin === 0n) return NOTHING
  const [event, first, second] = topics
  if (event === undefined || first === undefined) return NOTHING
  if (second !== undefined && equalBytes(event, TRANSFER)) {
    return [{ from: first.subarray(12), to: second.subarray(12), amountAcoin }]
  }
  return equalBytes(event, DEPOSIT) ? [{ from: NATIVE_TOKEN, to: first.subarray(12), amountAcoin }] : NOTHING
}
