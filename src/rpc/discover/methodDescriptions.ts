import { ANY, anyOf, BOOL, INTEGER, list, mapOf, NULL, object, orNull, ref, type Schema, TEXT } from './schemas.ts'

/** The description of a method in the document of rpc_discover. */
interface MethodDescription {
  /** by position; the method itself defines which of them may be omitted */
  readonly params: readonly (readonly [name: string, schema: Schema])[]
  readonly result: Schema
}

function method(params: Readonly<Record<string, Schema>>, result: Schema): MethodDescription {
  return { params: Object.entries(params), result }
}

const quantity = ref('Quantity')
const data = ref('Data')
const hash = ref('Hash')
const address = ref('Address')
const at = ref('BlockNumberOrTagOrHash')
const number = ref('BlockNumberOrTag')
const transaction = orNull(ref('Transaction'))
const block = orNull(ref('Block'))
const header = orNull(ref('Header'))
const call = ref('Call')
const overrides = { stateOverrides: ref('StateOverrides'), blockOverrides: ref('BlockOverrides') }
const config = ref('TraceConfig')
const types = ref('ParityTypes')
const located = list(ref('LocatedParityTrace'))
const bundles = list(ref('CallBundle'))
const byIndex = { blockHash: hash, index: quantity }
const byNumberAndIndex = { block: number, index: quantity }

/** Every method that a listener may serve. */
export const METHOD_DESCRIPTIONS: ReadonlyMap<string, MethodDescription> = new Map(
  Object.entries({
    debug_accountRange: method(
      { block: at, start: data, maxResults: ref('Count'), noCode: BOOL, noStorage: BOOL, incompletes: BOOL },
      object({ root: TEXT, accounts: mapOf({ type: 'object' }), 'next?': address }),
    ),
    debug_executionWitness: method(
      { block: at },
      object({ state: list(data), codes: list(data), keys: list(data), headers: list(data) }),
    ),
    debug_getBadBlocks: method({}, list(ANY)),
    debug_getModifiedAccountsByHash: method({ startHash: hash, endHash: hash }, list(address)),
    debug_getModifiedAccountsByNumber: method(
      { start: anyOf(INTEGER, number), end: anyOf(INTEGER, number) },
      list(address),
    ),
    debug_getRawBlock: method({ block: at }, data),
    debug_getRawBlockAccessList: method({ block: at }, data),
    debug_getRawHeader: method({ block: at }, data),
    debug_getRawReceipts: method({ block: at }, list(data)),
    debug_getRawTransaction: method({ transactionHash: hash }, data),
    debug_intermediateRoots: method({ blockHash: hash, config }, list(hash)),
    debug_storageRangeAt: method(
      { block: at, transactionIndex: ref('Count'), address, keyStart: data, maxResult: ref('Count') },
      object({ storage: mapOf(object({ key: hash, value: hash })), nextKey: orNull(hash) }),
    ),
    debug_subscribe: method({ name: { const: 'traceChain' }, start: number, end: number, config }, quantity),
    debug_traceBadBlock: method({ blockHash: hash, config }, ref('TransactionTraces')),
    debug_traceBlock: method({ block: data, config }, ref('TransactionTraces')),
    debug_traceBlockByHash: method({ blockHash: hash, config }, ref('TransactionTraces')),
    debug_traceBlockByNumber: method({ block: number, config }, ref('TransactionTraces')),
    debug_traceCall: method({ call, block: at, config: ref('TraceCallConfig') }, ref('Trace')),
    debug_traceCallMany: method(
      { bundles, state: ref('StateContext'), config: ref('TraceCallConfig') },
      list(list(ref('Trace'))),
    ),
    debug_traceTransaction: method({ transactionHash: hash, config }, ref('Trace')),
    debug_unsubscribe: method({ subscription: quantity }, BOOL),

    eth_accounts: method({}, list(address)),
    eth_baseFee: method({}, orNull(quantity)),
    eth_blobBaseFee: method({}, orNull(quantity)),
    eth_blockNumber: method({}, quantity),
    eth_call: method({ call, block: at, ...overrides }, data),
    eth_callMany: method(
      { bundles, state: ref('StateContext'), stateOverrides: ref('StateOverrides'), timeoutMs: ref('Count') },
      list(list(anyOf(object({ value: data }), object({ error: TEXT })))),
    ),
    eth_capabilities: method({}, ref('Capabilities')),
    eth_chainId: method({}, quantity),
    eth_coinbase: method({}, address),
    eth_config: method({}, ref('ForkConfig')),
    eth_createAccessList: method(
      { call, block: at, stateOverrides: ref('StateOverrides') },
      object({ accessList: ref('AccessList'), gasUsed: quantity, 'error?': TEXT }),
    ),
    eth_estimateGas: method({ call, block: at, ...overrides }, quantity),
    eth_feeHistory: method(
      { blockCount: ref('Count'), newestBlock: number, rewardPercentiles: list({ type: 'number' }) },
      ref('FeeHistory'),
    ),
    eth_fillTransaction: method({ call }, object({ raw: data, tx: ref('UnsignedTransaction') })),
    eth_gasPrice: method({}, quantity),
    eth_getAccount: method({ address, block: at }, orNull(ref('Account'))),
    eth_getBalance: method({ address, block: at }, quantity),
    eth_getBlockAccessList: method({ block: at }, orNull(list(ANY))),
    eth_getBlockByHash: method({ blockHash: hash, fullTransactions: BOOL }, block),
    eth_getBlockByNumber: method({ block: number, fullTransactions: BOOL }, block),
    eth_getBlockReceipts: method({ block: at }, orNull(list(ref('Receipt')))),
    eth_getBlockTransactionCountByHash: method({ blockHash: hash }, orNull(quantity)),
    eth_getBlockTransactionCountByNumber: method({ block: number }, orNull(quantity)),
    eth_getCode: method({ address, block: at }, data),
    eth_getFilterChanges: method({ filter: quantity }, anyOf(list(hash), list(ref('Log')), list(ref('Transaction')))),
    eth_getFilterLogs: method({ filter: quantity }, list(ref('Log'))),
    eth_getHeaderByHash: method({ blockHash: hash }, header),
    eth_getHeaderByNumber: method({ block: number }, header),
    eth_getLogs: method({ filter: ref('LogFilter') }, list(ref('Log'))),
    eth_getLogsWithCursor: method(
      { filter: { allOf: [ref('LogFilter'), { type: 'object', properties: { cursor: TEXT } }] } },
      object({ logs: list(ref('Log')), 'cursor?': TEXT }),
    ),
    eth_getProof: method({ address, storageKeys: list(TEXT), block: at }, ref('AccountProof')),
    eth_getRawTransactionByBlockHashAndIndex: method(byIndex, data),
    eth_getRawTransactionByBlockNumberAndIndex: method(byNumberAndIndex, data),
    eth_getRawTransactionByHash: method({ transactionHash: hash }, data),
    eth_getStorageAt: method({ address, slot: TEXT, block: at }, hash),
    eth_getStorageValues: method({ slots: mapOf(list(hash)), block: at }, mapOf(list(hash))),
    eth_getTransactionByBlockHashAndIndex: method(byIndex, transaction),
    eth_getTransactionByBlockNumberAndIndex: method(byNumberAndIndex, transaction),
    eth_getTransactionByHash: method({ transactionHash: hash }, transaction),
    eth_getTransactionCount: method({ address, block: at }, quantity),
    eth_getTransactionReceipt: method({ transactionHash: hash }, orNull(ref('Receipt'))),
    eth_getUncleByBlockHashAndIndex: method(byIndex, NULL),
    eth_getUncleByBlockNumberAndIndex: method(byNumberAndIndex, NULL),
    eth_getUncleCountByBlockHash: method({ blockHash: hash }, orNull(quantity)),
    eth_getUncleCountByBlockNumber: method({ block: number }, orNull(quantity)),
    eth_maxPriorityFeePerGas: method({}, quantity),
    eth_newBlockFilter: method({}, quantity),
    eth_newFilter: method({ filter: ref('LogFilter') }, quantity),
    eth_newPendingTransactionFilter: method({ fullTransactions: BOOL }, quantity),
    eth_pendingTransactions: method({}, list(ref('Transaction'))),
    eth_sendRawTransaction: method({ transaction: data }, hash),
    eth_sendRawTransactionSync: method({ transaction: data, timeoutMs: ref('Count') }, ref('Receipt')),
    eth_simulateV1: method(
      {
        request: {
          type: 'object',
          properties: {
            blockStateCalls: list({ type: 'object', properties: { ...overrides, calls: list(call) } }),
            traceTransfers: BOOL,
            validation: BOOL,
            returnFullTransactions: BOOL,
          },
        },
        block: at,
      },
      list(ref('SimulatedBlock')),
    ),
    eth_subscribe: method(
      {
        name: { enum: ['newHeads', 'logs', 'newPendingTransactions', 'transactionReceipts', 'syncing'] },
        options: anyOf(ref('LogFilter'), BOOL, { type: 'object', properties: { transactionHashes: list(hash) } }),
      },
      quantity,
    ),
    eth_syncing: method({}, ref('SyncStatus')),
    eth_uninstallFilter: method({ filter: quantity }, BOOL),
    eth_unsubscribe: method({ subscription: quantity }, BOOL),

    net_listening: method({}, BOOL),
    net_peerCount: method({}, quantity),
    net_version: method({}, TEXT),

    rpc_discover: method({}, { type: 'object' }),
    rpc_modules: method({}, mapOf(TEXT)),

    testing_buildBlockV1: method(
      { parentHash: hash, attributes: ref('PayloadAttributes'), transactions: orNull(list(data)), extraData: data },
      ref('Payload'),
    ),
    testing_commitBlockV1: method(
      { attributes: ref('PayloadAttributes'), transactions: orNull(list(data)), extraData: data },
      hash,
    ),

    trace_block: method({ block: at }, orNull(located)),
    trace_call: method({ call, types, block: at, ...overrides }, ref('ParityTraces')),
    trace_callMany: method({ calls: list({ type: 'array' }), block: at }, list(ref('ParityTraces'))),
    trace_filter: method(
      {
        filter: {
          type: 'object',
          properties: {
            fromBlock: number,
            toBlock: number,
            fromAddress: list(address),
            toAddress: list(address),
            mode: { enum: ['union', 'intersection'] },
            after: ref('Count'),
            count: ref('Count'),
          },
        },
      },
      located,
    ),
    trace_get: method({ transactionHash: hash, path: list(ref('Count')) }, orNull(ref('LocatedParityTrace'))),
    trace_rawTransaction: method({ transaction: data, types, block: at }, ref('ParityTraces')),
    trace_replayBlockTransactions: method({ block: at, types }, orNull(list(ref('ParityTraces')))),
    trace_replayTransaction: method({ transactionHash: hash, types }, orNull(ref('ParityTraces'))),
    trace_transaction: method({ transactionHash: hash }, orNull(located)),

    txpool_content: method(
      {},
      object({ pending: mapOf(ref('PooledTransactions')), queued: mapOf(ref('PooledTransactions')) }),
    ),
    txpool_contentFrom: method(
      { address },
      object({ pending: ref('PooledTransactions'), queued: ref('PooledTransactions') }),
    ),
    txpool_inspect: method({}, object({ pending: mapOf(mapOf(TEXT)), queued: mapOf(mapOf(TEXT)) })),
    txpool_status: method({}, object({ pending: quantity, queued: quantity })),

    web3_clientVersion: method({}, TEXT),
    web3_sha3: method({ data }, hash),
  }),
)
