import { bytesToHex } from '../../primitives/bytes.ts'
import { serverError } from '../errors.ts'
import { toQuantity } from '../format/quantity.ts'
import { defineMethod } from '../method.ts'

/** How far back each kind of data reaches. */
export const capabilities = defineMethod({
  name: 'eth_capabilities',
  queue: 'socket',
  params: [],
  required: 0,
  run: ({ view }) => {
    const { headHeight, oldestBlock } = view.chain
    const hash = view.chain.hash(headHeight)
    if (hash === undefined) throw serverError('header not found')
    const since = (oldest: number) => ({ disabled: false, oldestBlock: toQuantity(oldest) })
    return {
      head: { number: toQuantity(headHeight), hash: bytesToHex(hash) },
      state: since(view.oldestState),
      tx: since(oldestBlock),
      logs: since(oldestBlock),
      receipts: since(oldestBlock),
      blocks: since(oldestBlock),
      stateproofs: since(view.oldestState),
    }
  },
})
