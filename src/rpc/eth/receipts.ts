import type { Hash } from '../../primitives/hash.ts'
import type { NodeView } from '../../state/view.ts'
import type { JsonObject } from '../format/json.ts'
import { defineMethod } from '../method.ts'
import { readBlockNumberOrHash } from '../params/blockNumberOrHash.ts'
import { readHash } from '../params/data.ts'
import { findReceipts, formatReceipts } from './loadBlock.ts'
import { locateMined } from './transactions.ts'

/** Null while the transaction is not in a block. */
export const getTransactionReceipt = defineMethod({
  name: 'eth_getTransactionReceipt',
  queue: 'socket',
  params: [readHash],
  required: 1,
  run: ({ view }, hash) => minedReceipt(view, hash) ?? null,
})

/** All receipts of a block in order; null for an unknown block. */
export const getBlockReceipts = defineMethod({
  name: 'eth_getBlockReceipts',
  queue: 'cheap',
  params: [readBlockNumberOrHash],
  required: 1,
  run: ({ view }, selector) => {
    const block = findReceipts(view.chain, selector)
    return block === undefined ? null : formatReceipts(block)
  },
})

/** The receipt of a mined transaction in JSON; undefined when it is in no block. */
export function minedReceipt(view: Pick<NodeView, 'chain'>, hash: Hash): JsonObject | undefined {
  const location = locateMined(view, hash)
  if (location === undefined) return undefined
  const block = findReceipts(view.chain, { kind: 'number', number: location.height })
  return block === undefined ? undefined : formatReceipts(block, location.index)[0]
}
