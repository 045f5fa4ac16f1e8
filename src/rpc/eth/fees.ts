import { blobBaseFee as blobBaseFeeOf } from '../../chain/baseFee.ts'
import { forkAt } from '../../chain/chainConfig.ts'
import { toNullableQuantity, toQuantity } from '../format/quantity.ts'
import { defineMethod } from '../method.ts'
import { baseFeeAfterHead, headHeader } from './nextBlock.ts'
import { suggestTip } from './suggestedTip.ts'

/**
 * A price that a transaction should get in with, in wei per gas: the next base fee with some room to rise and the
 * suggested tip. Wallets that don't know the chain pay all of it, so it stays within 1.25 times the base fee while the
 * tip allows that.
 */
export function suggestGasPrice(baseFee: bigint, tip: bigint): bigint {
  const comfortable = (baseFee * 11n) / 10n + tip
  const bound = (baseFee * 5n) / 4n
  const least = baseFee + tip
  if (comfortable <= bound) return comfortable
  return bound > least ? bound : least
}

export const gasPrice = defineMethod({
  name: 'eth_gasPrice',
  queue: 'cheap',
  params: [],
  required: 0,
  run: ({ view, chain }) => {
    const baseFee = baseFeeAfterHead(view, chain) ?? 0n
    return toQuantity(suggestGasPrice(baseFee, suggestTip(view.chain)))
  },
})

export const maxPriorityFeePerGas = defineMethod({
  name: 'eth_maxPriorityFeePerGas',
  queue: 'cheap',
  params: [],
  required: 0,
  run: ({ view }) => toQuantity(suggestTip(view.chain)),
})

/** Of the next block; null before London. */
export const baseFee = defineMethod({
  name: 'eth_baseFee',
  queue: 'socket',
  params: [],
  required: 0,
  run: ({ view, chain }) => toNullableQuantity(baseFeeAfterHead(view, chain)),
})

/** The chain takes no blob transactions, so it stays at its minimum of 1 wei. */
export const blobBaseFee = defineMethod({
  name: 'eth_blobBaseFee',
  queue: 'socket',
  params: [],
  required: 0,
  run: ({ view, chain }) => {
    const { excessBlobGas, number } = headHeader(view.chain)
    return toQuantity(blobBaseFeeOf(excessBlobGas ?? 0n, forkAt(chain, number)))
  },
})
