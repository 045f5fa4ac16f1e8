import { toQuantity } from '../format/quantity.ts'
import { defineMethod } from '../method.ts'

export const chainId = defineMethod({
  name: 'eth_chainId',
  queue: 'socket',
  params: [],
  required: 0,
  run: ({ chain }) => toQuantity(chain.evmChainId),
})

export const blockNumber = defineMethod({
  name: 'eth_blockNumber',
  queue: 'socket',
  params: [],
  required: 0,
  run: ({ view }) => toQuantity(view.chain.headHeight),
})

export const syncing = defineMethod({
  name: 'eth_syncing',
  queue: 'socket',
  params: [],
  required: 0,
  run: ({ syncing }) => {
    const status = syncing()
    if (status === undefined) return false
    return {
      startingBlock: toQuantity(status.startingBlock),
      currentBlock: toQuantity(status.currentBlock),
      highestBlock: toQuantity(status.highestBlock),
    }
  },
})

/** The node keeps no keys of accounts. */
export const accounts = defineMethod({
  name: 'eth_accounts',
  queue: 'socket',
  params: [],
  required: 0,
  run: () => [],
})
