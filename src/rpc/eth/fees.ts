import { blobBaseFee as blobBaseFeeOf } from '../../chain/block/baseFee.ts'
import { forkAt } from '../../chain/genesis/chainConfig.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { effectiveGasPrice } from '../../evm/transition.ts'
import { toQuantity } from '../../primitives/bytes.ts'
import { toNullableQuantity } from '../format/json.ts'
import { defineMethod } from '../jsonrpc/method.ts'
import { baseFeeAfterHead, headHeader } from './nextBlock.ts'

export const gasPrice = defineMethod({
  name: 'eth_gasPrice',
  runs: 'cheap',
  run: ({ view, chain }) => {
    const baseFee = baseFeeAfterHead(view, chain) ?? 0n
    return toQuantity(suggestGasPrice(baseFee, suggestTip(view.chain)))
  },
})

export const maxPriorityFeePerGas = defineMethod({
  name: 'eth_maxPriorityFeePerGas',
  runs: 'cheap',
  run: ({ view }) => toQuantity(suggestTip(view.chain)),
})

/** The next block's base fee; null before London. */
export const baseFee = defineMethod({
  name: 'eth_baseFee',
  runs: 'socket',
  run: ({ view, chain }) => toNullableQuantity(baseFeeAfterHead(view, chain)),
})

/** The chain takes no blob transactions, so the fee stays at its minimum of 1 wei. */
export const blobBaseFee = defineMethod({
  name: 'eth_blobBaseFee',
  runs: 'socket',
  run: ({ view, chain }) => {
    const { excessBlobGas, number } = headHeader(view.chain)
    return toQuantity(blobBaseFeeOf(excessBlobGas ?? 0n, forkAt(chain, number)))
  },
})

/**
 * Returns a gas price with which a transaction should get into a block, in wei: the next base fee
 * with some room to rise, plus the suggested tip. A legacy transaction pays the whole price, so it
 * stays within 1.25 times the base fee where the tip allows that.
 */
export function suggestGasPrice(baseFee: bigint, tip: bigint): bigint {
  const withRoom = (baseFee * 11n) / 10n + tip
  const bound = (baseFee * 5n) / 4n
  const least = baseFee + tip
  if (withRoom <= bound) return withRoom
  return bound > least ? bound : least
}

/** The tip that is suggested while blocks have room, in wei per gas. */
export const IDLE_TIP = 100_000_000n

/** Blocks that are examined, counted from the head: 8 seconds of the chain. */
const WINDOW = 20
/** Per mille of its gas limit from which a block counts as full. */
const FULL_PER_MILLE = 900n
/** How many of the newest full blocks have their tips read. */
const SAMPLED_BLOCKS = 4
/** As in geth's oracle: the number of lowest tips taken from each block, and the percentile of all of them. */
const TIPS_PER_BLOCK = 3
const PERCENTILE = 60
/** The highest suggested tip, in wei per gas (geth: 500 gwei). */
const MAX_TIP = 500_000_000_000n

type Chain = Pick<ChainReader, 'headHeight' | 'header' | 'transactions'>

/**
 * Returns the tip that a transaction should offer, in wei per gas. It is a constant unless at least
 * half of the last blocks are full: an oracle over mostly empty blocks would only oscillate, since
 * any tip gets in.
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
