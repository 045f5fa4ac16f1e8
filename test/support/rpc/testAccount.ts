import {
  buildTransaction,
  type SignedTransaction,
  type UnsignedTransaction,
} from '../../../src/chain/block/transaction.ts'
import { recoverSender } from '../../../src/chain/block/transactionSender.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import { signEvmTransaction } from '../../signEvmTransaction.ts'
import { TEST_CHAIN } from './memoryNode.ts'

/** An account whose key derives from its name. */
interface TestAccount {
  readonly address: Address
  readonly hex: `0x${string}`
  readonly privateKey: Uint8Array
  /** Signs a transaction: type 2 with generous fees and gas unless told otherwise. */
  sign(fields: Partial<UnsignedTransaction> & { readonly gasPrice?: bigint }): SignedTransaction
}

export function testAccount(name: string): TestAccount {
  const privateKey = keccak256(new TextEncoder().encode(name))
  const sign: TestAccount['sign'] = (fields) => {
    const { gasPrice } = fields
    const fees = gasPrice === undefined ? { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 100_000_000n } : {}
    const unsigned = buildTransaction({
      type: gasPrice === undefined ? 2 : 0,
      chainId: TEST_CHAIN.evmChainId,
      gasLimit: 1_000_000n,
      ...fees,
      ...fields,
    })
    return { transaction: signEvmTransaction(unsigned, privateKey), sender: address }
  }
  const probe = signEvmTransaction(buildTransaction({ type: 2, chainId: 1n }), privateKey)
  const recovery = recoverSender(probe, { chainId: 1n, allowUnprotected: false })
  if ('reason' in recovery) throw new Error(recovery.reason)
  const address = recovery.sender
  return { address, hex: bytesToHex(address), privateKey, sign }
}
