import type { ChainReader } from '../../chain/store.ts'
import { effectiveGasPrice } from '../format/transaction.ts'

/** wei per gas: what is suggested while blocks have room. */
export const IDLE_TIP = 100_000_000n

/** Blocks that are looked at, counted from the head: 8 seconds of the chain. */
const WINDOW = 20
/** Per mille of its gas limit from which a block counts as full. */
const FULL_PER_MILLE = 900n
/** The newest full blocks whose tips are read. */
const SAMPLED_BLOCKS = 4
/** As in geth's oracle: this many of the lowest tips of each block, and this percentile of all of them. */
const TIPS_PER_BLOCK = 3
const PERCENTILE = 60
/** wei per gas: the most that is suggested (geth: 500 gwei). */
const MAX_TIP = 500_000_000_000n

type Chain = Pick<ChainReader, 'headHeight' | 'header' | 'transactions'>

/**
 * The tip that a transaction should offer, in wei per gas. It is a constant unless at least half of the last blocks are
 * full: an oracle over mostly empty blocks would only oscillate, since any tip gets in.
 */
export function suggestTip(chain: Chain): bigint {
  const from = Math.max(0, chain.headHeight - WINDOW + 1)
  const full: number[] = []
  for (let height = from; height <= chain.headHeight; height++) {
    const header = chain.header(height)
    if (header !== undefined && header.gasUsed * 1000n >= header.gasLimit * FULL_PER_MILLE) full.push(height)
  }
  if (full.length * 2 < chain.headHeight - from + 1) return IDLE_TIP
  const tips = full
    .slice(-SAMPLED_BLOCKS)
    .flatMap((height) => lowestTips(chain, height))
    .sort(ascending)
  const tip = tips[Math.floor(((tips.length - 1) * PERCENTILE) / 100)] ?? IDLE_TIP
  if (tip < IDLE_TIP) return IDLE_TIP
  return tip > MAX_TIP ? MAX_TIP : tip
}

function lowestTips(chain: Chain, height: number): bigint[] {
  const baseFee = chain.header(height)?.baseFeePerGas ?? 0n
  const transactions = chain.transactions(height) ?? []
  return transactions
    .map(({ transaction }) => effectiveGasPrice(transaction, baseFee) - baseFee)
    .sort(ascending)
    .slice(0, TIPS_PER_BLOCK)
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
