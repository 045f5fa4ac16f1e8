import { encodeRLP, encodeRLPList } from '../primitives/rlp.ts'
import type { EthereumHeader } from './ethereumHeader.ts'
import { encodeEthereumHeader } from './ethereumHeaderCodec.ts'
import type { SignedTransaction } from './transaction.ts'

/**
 * RLP of the Ethereum block: header, transactions (typed ones as byte strings), no uncles, no withdrawals.
 * Source: EIP-2718, EIP-4895.
 */
export function encodeEthereumBlock(header: EthereumHeader, transactions: readonly SignedTransaction[]): Uint8Array {
  const parts = [
    encodeEthereumHeader(header),
    encodeRLPList(
      transactions.map(({ transaction }) => (transaction.type === 0 ? transaction.raw : encodeRLP(transaction.raw))),
    ),
    EMPTY_LIST,
  ]
  if (header.withdrawalsRoot !== undefined) parts.push(EMPTY_LIST)
  return encodeRLPList(parts)
}

/** Bytes of {@link encodeEthereumBlock}. */
export function ethereumBlockSize(header: EthereumHeader, transactions: readonly SignedTransaction[]): number {
  return encodeEthereumBlock(header, transactions).length
}

const EMPTY_LIST = Uint8Array.of(0xc0)
