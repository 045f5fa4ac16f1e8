import { encodeEthereumBlock, encodeEthereumHeader } from '../../chain/block/ethereumBlock.ts'
import { encodeReceipt } from '../../chain/block/receipt.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { bodyRead, findBody, findHeader, findReceipts, headerRead, heightOfTag } from '../eth/blockLookup.ts'
import { rawTransaction, transactionRead } from '../eth/transactions.ts'
import { type RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import { type BlockSelector, readBlockNumberOrHash } from '../params/blockSelector.ts'
import { readHash } from '../params/values.ts'

/** RLP of a header. */
export const getRawHeader = defineMethod({
  name: 'debug_getRawHeader',
  runs: 'socket',
  params: [readBlockNumberOrHash],
  reads: (chain, selector) => headerRead(chain, selector),
  run: (context, selector) => {
    const found = findHeader(context.view.chain, selector)
    if (found === undefined) throw blockNotFound(context, selector)
    return bytesToHex(encodeEthereumHeader(found.header))
  },
})

/** RLP of an Ethereum block. */
export const getRawBlock = defineMethod({
  name: 'debug_getRawBlock',
  runs: 'cheap',
  params: [readBlockNumberOrHash],
  reads: (chain, selector) => bodyRead(chain, selector),
  run: (context, selector) => {
    const block = findBody(context.view.chain, selector)
    if (block === undefined) throw blockNotFound(context, selector)
    const { header, transactions } = block
    // A restored node lacks results of its first block, not its transactions.
    return bytesToHex(context.view.chain.ethereumBlock(header.number) ?? encodeEthereumBlock(header, transactions))
  },
})

/** The consensus encoding of each receipt of a block. */
export const getRawReceipts = defineMethod({
  name: 'debug_getRawReceipts',
  runs: 'cheap',
  params: [readBlockNumberOrHash],
  reads: (chain, selector) => bodyRead(chain, selector),
  run: (context, selector) => {
    const block = findReceipts(context.view.chain, selector)
    if (block === undefined) throw blockNotFound(context, selector)
    return block.receipts.map((receipt) => bytesToHex(encodeReceipt(receipt)))
  },
})

/** The envelope of a mined or pooled transaction; `0x` for an unknown one. */
export const getRawTransaction = defineMethod({
  name: 'debug_getRawTransaction',
  runs: 'socket',
  params: [readHash],
  reads: (chain, hash) => transactionRead(chain, hash),
  run: (context, hash) => rawTransaction(context, hash),
})

/** The methods of the `debug` namespace that return stored bytes. */
export const rawMethods: readonly RpcMethod[] = [getRawBlock, getRawHeader, getRawReceipts, getRawTransaction]

/** Returns geth's error for a block that a debug method does not find. */
export function blockNotFound({ view }: Pick<RpcContext, 'view'>, selector: BlockSelector): RpcError {
  return serverError(
    selector.kind === 'hash'
      ? `block ${bytesToHex(selector.hash)} not found`
      : `block #${heightOfTag(view.chain, selector.number)} not found`,
  )
}
