import { blobBaseFee } from '../../chain/block/baseFee.ts'
import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import { type ChainConfig, forkAt } from '../../chain/genesis/chainConfig.ts'
import { includesFork } from '../../chain/genesis/hardfork.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { effectiveGasPrice } from '../../evm/transition.ts'
import { toQuantity } from '../../primitives/bytes.ts'
import { InvalidArgument, RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader } from '../jsonrpc/method.ts'
import { readBlockNumberOrTag } from '../params/blockSelector.ts'
import { jsonKind, listReader, TypeMismatch } from '../params/values.ts'
import { heightOfTag, prunedHistory } from './blockLookup.ts'
import { baseFeeAfterHead } from './nextBlock.ts'

/** geth's limits (eth/gasprice/feehistory.go). */
const MAX_BLOCKS = 1024
const MAX_PERCENTILES = 100

/**
 * Reads a count as clients write it: QUANTITY, a decimal string or a JSON number (geth:
 * math.HexOrDecimal64).
 */
export const readBlockCount: ParamReader<number> = (json) => {
  const text = typeof json === 'string' ? json : typeof json === 'number' ? String(json) : undefined
  if (text === undefined) throw new TypeMismatch(jsonKind(json), 'math.HexOrDecimal64')
  if (text === '') return 0
  const value = /^(0x[0-9a-f]+|[0-9]+)$/i.test(text) ? BigInt(text) : undefined
  if (value === undefined || value >= 1n << 64n) {
    throw new InvalidArgument(`invalid hex or decimal integer ${JSON.stringify(text.slice(0, 100))}`)
  }
  return Number(value)
}

const readPercentile: ParamReader<number> = (json) => {
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'float64')
  return json
}

/** Reads reward percentiles; the method checks their order and range. */
export const readPercentiles: ParamReader<readonly number[]> = listReader(readPercentile, '[]float64')

export const feeHistory = defineMethod({
  name: 'eth_feeHistory',
  runs: 'heavy',
  params: [readBlockCount, readBlockNumberOrTag, readPercentiles],
  required: 2,
  run: async ({ view, chain: config, execution, limits, monotonicMs }, count, newestBlock, percentiles = []) => {
    const { chain } = view
    if (count < 1) return { oldestBlock: '0x0', gasUsedRatio: null }
    checkPercentiles(percentiles)
    const newest = heightOfTag(chain, newestBlock)
    if (newest > chain.headHeight) {
      throw serverError(`request beyond head block: requested ${newest}, head ${chain.headHeight}`)
    }
    const lowest = Math.max(0, newest - Math.min(count, MAX_BLOCKS) + 1)
    const pause = execution?.yieldUntil(monotonicMs() + limits.callTimeoutMs)
    const headers = await headersOf(chain, lowest, newest, percentiles.length > 0, pause)
    const last = headers.at(-1)
    if (last === undefined) throw prunedHistory(chain)
    const following = chain.header(newest + 1)
    const nextFee = following === undefined ? baseFeeAfterHead(view, config) : following.baseFeePerGas
    const reward: string[][] = []
    for (const header of percentiles.length === 0 ? [] : headers) {
      await pause?.()
      reward.push(rewards(chain, header, percentiles).map(toQuantity))
    }
    return {
      oldestBlock: toQuantity(headers[0]!.number),
      ...(percentiles.length === 0 ? {} : { reward }),
      baseFeePerGas: [...headers.map((header) => header.baseFeePerGas), nextFee].map((fee) => toQuantity(fee ?? 0n)),
      gasUsedRatio: headers.map((header) => Number(header.gasUsed) / Number(header.gasLimit)),
      baseFeePerBlobGas: [...headers, following ?? last].map((header) => toQuantity(blobFee(header, config))),
      blobGasUsedRatio: headers.map((header) => Number(header.blobGasUsed ?? 0n) / maxBlobGas(header, config)),
    }
  },
})

function checkPercentiles(percentiles: readonly number[]): void {
  const refuse = (why: string): never => {
    throw new RpcError(RPC_CODES.server, `invalid reward percentile: ${why}`)
  }
  if (percentiles.length > MAX_PERCENTILES) refuse(`over the query limit ${MAX_PERCENTILES}`)
  percentiles.forEach((percentile, index) => {
    if (!(percentile >= 0 && percentile <= 100)) refuse(String(percentile))
    const previous = percentiles[index - 1]
    if (previous !== undefined && percentile <= previous) {
      refuse(`#${index - 1}:${previous} >= #${index}:${percentile}`)
    }
  })
}

/**
 * Headers that are decoded together where blocks are in segments, which takes some milliseconds.
 */
const HEADERS_PER_PAUSE = 64

/**
 * Returns the headers in [from, to], ascending. Blocks that are not retained, or whose
 * receipts are not although rewards need them, are left out at the lower end. Clients have to
 * expect fewer blocks than they requested (execution-apis); `oldestBlock` is the first one. For the
 * rewards of a block without receipts geth returns null, which few clients understand.
 */
async function headersOf(
  chain: ChainReader,
  from: number,
  to: number,
  withRewards: boolean,
  pause: (() => Promise<void>) | undefined,
): Promise<EthereumHeader[]> {
  const headers: EthereumHeader[] = []
  for (let height = to; height >= from; height--) {
    if (height % HEADERS_PER_PAUSE === 0) await pause?.()
    const header = chain.header(height)
    if (header === undefined) break
    if (withRewards && height < chain.oldestBlock && header.gasUsed > 0n) break
    headers.push(header)
  }
  return headers.reverse()
}

/**
 * Returns the tips at the percentiles of the block's gas, ascending by tip; zeros for an empty
 * block.
 */
function rewards(chain: ChainReader, header: EthereumHeader, percentiles: readonly number[]): bigint[] {
  if (header.gasUsed === 0n) return percentiles.map(() => 0n)
  const transactions = chain.transactions(header.number)
  const receipts = chain.receipts(header.number)
  if (transactions === undefined || receipts === undefined) throw prunedHistory(chain)
  const baseFee = header.baseFeePerGas ?? 0n
  const paid = transactions
    .map(({ transaction }, index) => ({
      tip: effectiveGasPrice(transaction, baseFee) - baseFee,
      gasUsed: receipts[index]!.gasUsed,
    }))
    .sort((a, b) => (a.tip < b.tip ? -1 : a.tip > b.tip ? 1 : 0))
  let at = 0
  let gas = paid[0]?.gasUsed ?? 0n
  return percentiles.map((percentile) => {
    const threshold = BigInt(Math.floor((Number(header.gasUsed) * percentile) / 100))
    while (gas < threshold && at < paid.length - 1) gas += paid[++at]!.gasUsed
    return paid[at]?.tip ?? 0n
  })
}

function blobFee(header: EthereumHeader, config: Pick<ChainConfig, 'forks'>): bigint {
  return header.excessBlobGas === undefined ? 0n : blobBaseFee(header.excessBlobGas, forkAt(config, header.number))
}

/** Returns the most blob gas per block. EIP-4844: six blobs of 2^17 gas; EIP-7691: nine. */
function maxBlobGas(header: EthereumHeader, config: Pick<ChainConfig, 'forks'>): number {
  return (includesFork(forkAt(config, header.number), 'prague') ? 9 : 6) * 2 ** 17
}
