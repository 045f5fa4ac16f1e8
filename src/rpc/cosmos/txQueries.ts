import { nativeGasLimit } from '../../chain/genesis/chainConfig.ts'
import { runningParams } from '../../execution/blockContext.ts'
import { DEFAULT_POOL_LIMITS } from '../../mempool/types.ts'
import { checkNativeSize } from '../../mempool/validateAdmission.ts'
import { PageRequest, PageResponse } from '../../modules/pagination.ts'
import {
  Block,
  BlockId,
  blockUnavailable,
  toBlockIdMessage,
  toBlockMessage,
  wholeBlock,
} from '../../modules/query/blockMessages.ts'
import { paginate, positionWalk } from '../../modules/query/paginate.ts'
import {
  failedSimulation,
  fromSdkError,
  GRPC_CODES,
  invalidArgument,
  notFound,
  QueryError,
  tooLarge,
} from '../../modules/query/queryError.ts'
import { isSdkError, SDK_ERRORS } from '../../modules/sdkError.ts'
import { type SimulationGas, simulateNative } from '../../modules/tx/simulateNative.ts'
import { Tx, TxMsgData } from '../../modules/tx/types.ts'
import { bytesToUpperHex } from '../../primitives/bytes.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import { JsonFormError } from '../../primitives/protoScalars.ts'
import { bytes, enumeration, int64, message, repeated, string, uint64 } from '../../primitives/protoSchema.ts'
import { bytesOf } from '../../primitives/valueBytes.ts'
import { EventQueryError, parseEventQuery } from '../events/eventQuery.ts'
import { findTransactions, locateTransaction, SearchError } from '../events/search.ts'
import { aminoBinaryToJson, aminoJsonToBinary } from './aminoTx.ts'
import { unwrapEthereumTx } from './ethereumTx.ts'
import { defineNodeQuery, type NativeQuery, pauseUntilDeadline, type QueryContext } from './queryPort.ts'
import { simulateEthereumTx } from './simulateEthereumTx.ts'
import { GasInfo, Result, type ShownTransaction, showTransaction, TxResponse, toAbciEvent } from './txResponse.ts'

const SERVICE = 'cosmos.tx.v1beta1.Service'
const BASE = '/cosmos/tx/v1beta1'

const BROADCAST_MODES = {
  BROADCAST_MODE_UNSPECIFIED: 0,
  BROADCAST_MODE_BLOCK: 1,
  BROADCAST_MODE_SYNC: 2,
  BROADCAST_MODE_ASYNC: 3,
} as const

const ORDER_BY = { ORDER_BY_UNSPECIFIED: 0, ORDER_BY_ASC: 1, ORDER_BY_DESC: 2 } as const
/** As CometBFT's tx_search. */
const MAX_LIMIT = 100n

/** x/auth/tx/service.go and client/broadcast.go of the SDK. */
export const TX_SERVICE_QUERIES: readonly NativeQuery[] = [
  // What a transaction would do in the next block, signatures or not. One that fails is an error with the gas that it used.
  defineNodeQuery({
    service: SERVICE,
    name: 'Simulate',
    post: [`${BASE}/simulate`],
    runs: 'heavy',
    request: { tx: message(1, Tx), txBytes: bytes(2) },
    response: { gasInfo: message(1, GasInfo), result: message(2, Result) },
    run: (context, { tx, txBytes }) => {
      const raw = txBytes.length === 0 && tx !== undefined ? Tx.encode(tx) : txBytes
      if (raw.length === 0) throw invalidArgument('empty txBytes is not allowed')
      const oversized = checkNativeSize(raw.length, DEFAULT_POOL_LIMITS)
      if (oversized !== undefined) throw failedSimulation(oversized.message, 0n)
      const wrapped = unwrapEthereumTx(raw)
      if (isSdkError(wrapped)) throw failedSimulation(wrapped.message, 0n)
      if (wrapped !== undefined) return simulateEthereumTx(context, wrapped)
      const { world, block, rpc } = context
      const outcome = simulateNative(raw, {
        world,
        block: { height: block.height + 1, timeMs: block.timeMs + rpc.chain.blockIntervalMs },
        baseFeePerGas: context.nextBaseFee(),
        gasCap: simulationGas(context),
        decoder: rpc.decoder,
      })
      if (isSdkError(outcome)) throw failedSimulation(outcome.message, 0n)
      const { code, log, data, events, gasWanted, gasUsed } = outcome
      if (code !== 0) throw failedSimulation(log, gasUsed)
      const { msgResponses } = TxMsgData.decode(data)
      return { gasInfo: { gasWanted, gasUsed }, result: { data, log, events: events.map(toAbciEvent), msgResponses } }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'GetTx',
    get: [`${BASE}/txs/{hash}`],
    // Old blocks are in segments.
    runs: 'heavy',
    request: { hash: string(1) },
    response: { tx: message(1, Tx), txResponse: message(2, TxResponse) },
    run: async ({ chain }, { hash }) => {
      const digits = hash.replace(/^0x/i, '')
      if (digits === '') throw invalidArgument('tx hash cannot be empty')
      if (!/^[0-9a-f]{64}$/i.test(digits))
        throw invalidArgument(`a tx hash is 64 hex digits, not ${hash.slice(0, 100)}`)
      const found = await locateTransaction(chain, new Uint8Array(Buffer.from(digits, 'hex')))
      const shown = found && showTransaction(chain, found)
      if (shown === undefined) throw notFound(`tx not found: ${hash}`)
      return { tx: shown.tx, txResponse: shown.response }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'BroadcastTx',
    post: [`${BASE}/txs`],
    runs: 'socket',
    request: { txBytes: bytes(1), mode: enumeration(2, BROADCAST_MODES) },
    response: { txResponse: message(1, TxResponse) },
    run: async ({ rpc }, { txBytes, mode }) => {
      if (txBytes.length === 0) throw invalidArgument('invalid empty tx')
      if (mode !== BROADCAST_MODES.BROADCAST_MODE_SYNC && mode !== BROADCAST_MODES.BROADCAST_MODE_ASYNC) {
        throw invalidArgument('unsupported broadcast mode; supported types: sync, async')
      }
      const { hash, code, codespace, log } = await rpc.submissions.submit(txBytes, rpc.scope.client)
      const txhash = bytesToUpperHex(hash)
      // A client that asks for async does not want the result.
      const checked = mode === BROADCAST_MODES.BROADCAST_MODE_SYNC ? { code, codespace, rawLog: log } : {}
      return { txResponse: TxResponse.create({ txhash, ...checked }) }
    },
  }),
  // By `query`, or by `events` of older clients, which all have to be met.
  defineNodeQuery({
    service: SERVICE,
    name: 'GetTxsEvent',
    get: [`${BASE}/txs`],
    runs: 'heavy',
    request: {
      events: repeated(string(1)),
      pagination: message(2, PageRequest),
      orderBy: enumeration(3, ORDER_BY),
      page: uint64(4),
      limit: uint64(5),
      query: string(6),
    },
    response: {
      txs: repeated(message(1, Tx)),
      txResponses: repeated(message(2, TxResponse)),
      pagination: message(3, PageResponse),
      total: uint64(4),
    },
    run: async (context, { events, query, orderBy, ...paging }) => {
      const text = query === '' ? events.join(' AND ') : query
      if (text === '') throw invalidArgument('query cannot be empty')
      const { page, limit } = readPage(paging)
      const pause = pauseUntilDeadline(context.rpc)
      const found = await search(context, text, pause)
      const ordered = orderBy === ORDER_BY.ORDER_BY_DESC ? found.toReversed() : found
      const start = (page - 1n) * limit
      const onPage = start < ordered.length ? ordered.slice(Number(start), Number(start + limit)) : []
      const shown: ShownTransaction[] = []
      let bytes = 0
      for (const position of onPage) {
        await pause()
        const transaction = showTransaction(context.chain, position)
        if (transaction === undefined) continue
        // Each transaction is there twice, and in other forms: an answer that is too large is so before all of them are read.
        bytes += bytesOf(transaction)
        if (bytes > context.rpc.limits.responseBytes) throw tooLarge()
        shown.push(transaction)
      }
      return {
        txs: shown.map(({ tx }) => tx),
        txResponses: shown.map(({ response }) => response),
        pagination: undefined,
        total: BigInt(found.length),
      }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'GetBlockWithTxs',
    get: [`${BASE}/txs/block/{height}`],
    runs: 'heavy',
    request: { height: int64(1), pagination: message(2, PageRequest) },
    response: {
      txs: repeated(message(1, Tx)),
      blockId: message(2, BlockId),
      block: message(3, Block),
      pagination: message(4, PageResponse),
    },
    run: async (context, { height: requested, pagination: page }) => {
      const { chain } = context
      if (requested < 1n || requested > chain.headHeight) {
        throw invalidArgument(
          `requested height ${requested} but height must not be less than 1 or greater than the current height ${chain.headHeight}`,
        )
      }
      const height = Number(requested)
      const block = wholeBlock(chain, height)
      // Right after a restore the newest block has no results, which say whose its transactions are.
      if (height < chain.oldestBlock) throw blockUnavailable(chain, height)
      const walk = positionWalk([...block.txs.keys()])
      const { items, pagination } = await paginate(
        context,
        page,
        walk,
        (position) => showTransaction(chain, { height, position })?.tx,
      )
      return {
        txs: items,
        blockId: toBlockIdMessage(chain.blockId(height)!),
        block: toBlockMessage(block),
        // Unlike its other lists, the SDK always says the total here.
        pagination: { ...pagination, total: BigInt(block.txs.length) },
      }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'TxDecode',
    post: [`${BASE}/decode`],
    request: { txBytes: bytes(1) },
    response: { tx: message(1, Tx) },
    run: ({ rpc }, { txBytes }) => {
      if (txBytes.length === 0) throw invalidArgument('invalid empty tx bytes')
      const wrapped = unwrapEthereumTx(txBytes)
      // What may not be sent is shown all the same.
      const isReadable = !isSdkError(wrapped) || wrapped.code !== SDK_ERRORS.txDecode[0]
      if (wrapped !== undefined && isReadable) return { tx: Tx.decode(txBytes) }
      const decoded = rpc.decoder.decodeParts(txBytes)
      if (isSdkError(decoded)) throw fromSdkError(decoded)
      const { body, authInfo, txRaw } = decoded
      return { tx: { body, authInfo, signatures: txRaw.signatures } }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'TxEncode',
    post: [`${BASE}/encode`],
    request: { tx: message(1, Tx) },
    response: { txBytes: bytes(1) },
    run: (_, { tx }) => {
      if (tx === undefined) throw invalidArgument('invalid empty tx')
      return { txBytes: Tx.encode(tx) }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'TxEncodeAmino',
    post: [`${BASE}/encode/amino`],
    request: { aminoJson: string(1) },
    response: { aminoBinary: bytes(1) },
    run: (_, { aminoJson }) => {
      if (aminoJson === '') throw invalidArgument('invalid empty tx json')
      return { aminoBinary: readingAmino(() => aminoJsonToBinary(aminoJson)) }
    },
  }),
  defineNodeQuery({
    service: SERVICE,
    name: 'TxDecodeAmino',
    post: [`${BASE}/decode/amino`],
    request: { aminoBinary: bytes(1) },
    response: { aminoJson: string(1) },
    run: (_, { aminoBinary }) => {
      if (aminoBinary.length === 0) throw invalidArgument('invalid empty tx bytes')
      return { aminoJson: readingAmino(() => aminoBinaryToJson(aminoBinary)) }
    },
  }),
]

/** Gas that a transaction can use in a block, and a client in one call. */
function simulationGas({ world, rpc }: QueryContext): SimulationGas {
  const { chain, limits } = rpc
  return { lane: nativeGasLimit(runningParams(world.native, chain).blockGasLimit), call: limits.callGas }
}

function readingAmino<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    const isWrong = error instanceof ProtobufError || error instanceof JsonFormError || error instanceof SyntaxError
    throw isWrong ? invalidArgument(error.message) : error
  }
}

async function search({ chain }: QueryContext, text: string, pause: () => Promise<void>) {
  try {
    return await findTransactions(chain, parseEventQuery(text), { pause })
  } catch (error) {
    if (error instanceof EventQueryError) throw invalidArgument(error.message)
    if (error instanceof SearchError) {
      const code = error.reason === 'too many' ? GRPC_CODES.resourceExhausted : GRPC_CODES.failedPrecondition
      throw new QueryError(code, error.message)
    }
    throw error
  }
}

/** Older clients have the page in `pagination`. */
function readPage(requested: {
  readonly page: bigint
  readonly limit: bigint
  readonly pagination: PageRequest | undefined
}): { readonly page: bigint; readonly limit: bigint } {
  const { offset = 0n, limit: oldLimit = 0n } = requested.pagination ?? {}
  const wanted = requested.limit === 0n ? oldLimit : requested.limit
  const limit = wanted === 0n || wanted > MAX_LIMIT ? MAX_LIMIT : wanted
  const page = requested.page === 0n ? offset / limit + 1n : requested.page
  return { page, limit }
}
