import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import type { TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeTransaction } from '../../../../src/chain/block/transaction.ts'
import { NAMESPACES } from '../../../../src/config/namespaces.ts'
import { bytesToHex, hexToBytes, toQuantity } from '../../../../src/primitives/bytes.ts'
import { type MethodTable, type RpcContext, resultText } from '../../../../src/rpc/jsonrpc/method.ts'
import { createSocketMethods } from '../../../../src/rpc/jsonrpc/methodTable.ts'
import { methodsOf } from '../../../../src/rpc/jsonrpc/namespaces.ts'
import { createFilterStore } from '../../../../src/rpc/subscriptions/filters.ts'
import { createClientBudget } from '../../../../src/rpc/transport/clientBudget.ts'
import { createViewCaches, type NodeView, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { openrpcValidator, type ResultValidator } from '../../../conformance/rpcCompat/openrpc.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../../support/execution/testChain.ts'
import { chainContext } from '../../../support/rpc/chainContext.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { COUNTER } from '../../../support/rpc/testContracts.ts'

/** The document of execution-apis; where it is absent, the node's own is the only one. */
const SUITE = fileURLToPath(new URL('../../../../../shared/fixtures/rpc-compat/openrpc', import.meta.url))

const account = privateKeyToAccount(WALLET_KEY)
const WALLET_HEX = bytesToHex(WALLET)
const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`
const UNKNOWN = `0x${'99'.repeat(32)}`

/** Init code that returns {@link COUNTER}. */
const DEPLOY = `0x60${COUNTER.length.toString(16)}600a5f3960${COUNTER.length.toString(16)}5ff3${bytesToHex(COUNTER).slice(2)}`

interface Document {
  readonly methods: readonly {
    readonly name: string
    readonly params: readonly { readonly name: string; readonly required: boolean; readonly schema: object }[]
    readonly result: { readonly schema: object }
  }[]
  readonly components: object
}

let chain: TestChain
let database: Database
let view: NodeView
let context: RpcContext
let methods: MethodTable
let document: Document
let official: ResultValidator
let ajv: Ajv
let blockHash: string
let creation: string
let mined: string
let counter: string
let nonce = 0

const LEGACY = {
  type: 'legacy',
  gasPrice: 10n ** 10n,
  maxFeePerGas: undefined,
  maxPriorityFeePerGas: undefined,
}

const sign = (fields: object): Promise<`0x${string}`> =>
  account.signTransaction({
    chainId: 76287,
    type: 'eip1559',
    gas: 300_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 10n ** 9n,
    nonce: nonce++,
    ...fields,
  } as TransactionSerializable)

/** Blocks: 1 deploys, 2 calls the contract with an access list and makes a transfer, 3 is empty. */
beforeAll(async () => {
  chain = await createTestChain()
  await chain.produce([hexToBytes(await sign({ data: DEPLOY }))])
  const { address } = account
  const to = await createdAddress()
  const calls = [
    await sign({ to, value: 0n, accessList: [{ address: to, storageKeys: [word(0)] }] }),
    await sign({ to: `0x${'aa'.repeat(20)}`, value: 5n, ...LEGACY }),
    await sign({ to: address, value: 7n }),
  ]
  await chain.produce(calls.map(hexToBytes))
  await chain.produce()
  database = await Database.open(chain.location, { readOnly: true })
  view = openView(database.snapshot(), createViewCaches())
  context = chainContext(chain, view)
  counter = to
  blockHash = bytesToHex(view.chain.hash(2)!)
  const hashes = [1, 2].map((height) => bytesToHex(view.chain.transactions(height)![0]!.transaction.hash))
  ;[creation, mined] = hashes as [string, string]
  const views = {
    call: async (_: unknown, name: string, params: readonly unknown[]) => resultText(await invokeText(name, params)),
  }
  const filters = createFilterStore({ criteria: createClientBudget({ total: 1e8 }) })
  methods = methodsOf(createSocketMethods({ filters, views } as never), new Set(NAMESPACES))
  document = (await invoke(methods.get('rpc_discover')!, context)) as Document
  ajv = new Ajv({ strict: false })
  ajv.addSchema({ $id: 'document', components: document.components })
  official = existsSync(SUITE) ? openrpcValidator(SUITE) : () => undefined
  const waiting = await sign({ to, gas: 100_000n })
  const { raw, hash } = decodeTransaction(hexToBytes(waiting))
  await context.txs.add({ raw, hash, sender: WALLET, authorizations: 0 }, context.scope.client)
})

const invokeText = async (name: string, params: readonly unknown[]) => invoke(methods.get(name)!, context, ...params)

async function createdAddress(): Promise<`0x${string}`> {
  const opened = await Database.open(chain.location, { readOnly: true })
  const found = openView(opened.snapshot(), createViewCaches()).chain.receipts(1)![0]!.contractAddress!
  await opened.close()
  return bytesToHex(found)
}

afterAll(async () => {
  await database.close()
  await chain.close()
})

function compile(schema: object): ValidateFunction {
  return ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')) as object)
}

const schemaOf = (name: string): object => ({ $ref: `#/components/schemas/${name}` })

/** A request of a method, and what its answer has to be beyond the schema of the document. */
interface Sample {
  readonly params: () => readonly unknown[]
  readonly schema?: object
  /** the answer may be null or an empty list */
  readonly isEmpty?: true
  /** why geth's answer, and so this one, is not as the document of execution-apis says */
  readonly unlikeOfficial?: string
}
const with_ = (...params: unknown[]): Sample => ({ params: () => params })
const lazy = (params: () => readonly unknown[], rest: Omit<Sample, 'params'> = {}): Sample => ({ params, ...rest })
const empty = (...params: unknown[]): Sample => ({ params: () => params, isEmpty: true })
const traced = (tracer: string | undefined, schema: string, tracerConfig = {}): Sample =>
  lazy(() => [mined, tracer === undefined ? {} : { tracer, tracerConfig }], { schema: schemaOf(schema) })
const TYPES = ['trace', 'stateDiff', 'vmTrace']
const call = () => ({ from: WALLET_HEX, to: counter, gas: '0x186a0' })
const filterOf = async (name: string, ...params: unknown[]) => invokeText(name, params)
let filterId = ''

const PENDING_BLOCK: Sample = {
  params: () => ['pending', false],
  unlikeOfficial: 'hash, nonce and miner of a pending block are null',
}

const SAMPLES: Readonly<Record<string, readonly Sample[]>> = {
  debug_accountRange: [with_('0x2', '0x', 10)],
  debug_executionWitness: [with_('0x2')],
  debug_getBadBlocks: [empty()],
  debug_getModifiedAccountsByHash: [lazy(() => [blockHash])],
  debug_getModifiedAccountsByNumber: [with_('0x2')],
  debug_getRawBlock: [with_('0x2')],
  debug_getRawHeader: [with_('0x2')],
  debug_getRawReceipts: [with_('0x2')],
  debug_getRawTransaction: [lazy(() => [mined])],
  debug_intermediateRoots: [lazy(() => [blockHash])],
  debug_storageRangeAt: [lazy(() => ['0x3', 0, counter, '0x', 5])],
  debug_traceBlock: [lazy(() => [rawBlock])],
  debug_traceBlockByHash: [lazy(() => [blockHash, { tracer: 'callTracer' }])],
  debug_traceBlockByNumber: [with_('0x2', { tracer: 'callTracer' })],
  debug_traceCall: [
    lazy(() => [call(), 'latest', { tracer: 'callTracer' }], { schema: schemaOf('CallFrame') }),
    lazy(() => [call()], { schema: schemaOf('StructLogs') }),
  ],
  debug_traceCallMany: [lazy(() => [[{ transactions: [call()] }], {}, { tracer: 'callTracer' }])],
  debug_traceTransaction: [
    traced(undefined, 'StructLogs'),
    lazy(() => [mined, { enableMemory: true, enableReturnData: true }], { schema: schemaOf('StructLogs') }),
    traced('callTracer', 'CallFrame', { withLog: true }),
    traced('prestateTracer', 'Prestate'),
    traced('prestateTracer', 'StateDifference', { diffMode: true }),
    lazy(() => [creation, { tracer: 'callTracer' }], { schema: schemaOf('CallFrame') }),
    lazy(() => [mined, { tracer: 'flatCallTracer' }], {
      schema: { type: 'array', items: schemaOf('LocatedParityTrace') },
    }),
  ],
  eth_accounts: [empty()],
  eth_baseFee: [with_()],
  eth_blobBaseFee: [with_()],
  eth_blockNumber: [with_()],
  eth_call: [lazy(() => [call()])],
  eth_callMany: [lazy(() => [[{ transactions: [call()] }]])],
  eth_capabilities: [with_()],
  eth_chainId: [with_()],
  eth_coinbase: [with_()],
  eth_config: [with_()],
  eth_createAccessList: [lazy(() => [call()])],
  eth_estimateGas: [lazy(() => [call()])],
  eth_feeHistory: [with_('0x3', 'latest', [10, 50])],
  eth_fillTransaction: [lazy(() => [call()], { unlikeOfficial: 'the price that the type does not have is null' })],
  eth_gasPrice: [with_()],
  eth_getAccount: [lazy(() => [counter]), empty(`0x${'98'.repeat(20)}`)],
  eth_getBalance: [with_(WALLET_HEX), with_(`0x${'aa'.repeat(20)}`)],
  eth_getBlockAccessList: [empty('0x99')],
  eth_getBlockByHash: [lazy(() => [blockHash, true]), lazy(() => [blockHash, false]), empty(UNKNOWN, false)],
  eth_getBlockByNumber: [with_('0x2', true), with_('0x0', true), PENDING_BLOCK, empty('0x99', false)],
  eth_getBlockReceipts: [with_('0x2'), with_('0x1')],
  eth_getBlockTransactionCountByHash: [lazy(() => [blockHash])],
  eth_getBlockTransactionCountByNumber: [with_('0x2')],
  eth_getCode: [lazy(() => [counter])],
  eth_newBlockFilter: [with_()],
  eth_newFilter: [with_({ fromBlock: '0x0' })],
  eth_newPendingTransactionFilter: [with_()],
  eth_getFilterChanges: [
    lazy(() => [filterId], { isEmpty: true, unlikeOfficial: 'an empty list is of each kind that may be there' }),
  ],
  eth_getFilterLogs: [lazy(() => [filterId])],
  eth_getHeaderByHash: [lazy(() => [blockHash])],
  eth_getHeaderByNumber: [with_('0x2')],
  eth_getLogs: [with_({ fromBlock: '0x0' })],
  eth_getLogsWithCursor: [with_({ fromBlock: '0x0' })],
  eth_getProof: [lazy(() => [counter, ['0x0', word(0), word(1)]])],
  eth_getRawTransactionByBlockHashAndIndex: [lazy(() => [blockHash, '0x0'])],
  eth_getRawTransactionByBlockNumberAndIndex: [with_('0x2', '0x0')],
  eth_getRawTransactionByHash: [lazy(() => [mined])],
  eth_getStorageAt: [lazy(() => [counter, '0x0'])],
  eth_getStorageValues: [lazy(() => [{ [counter]: [word(0)] }])],
  eth_getTransactionByBlockHashAndIndex: [lazy(() => [blockHash, '0x0'])],
  eth_getTransactionByBlockNumberAndIndex: [with_('0x2', '0x1'), with_('0x2', '0x2')],
  eth_getTransactionByHash: [lazy(() => [mined]), lazy(() => [creation])],
  eth_getTransactionCount: [with_(WALLET_HEX), with_(WALLET_HEX, 'pending')],
  eth_getTransactionReceipt: [lazy(() => [mined]), lazy(() => [creation])],
  eth_getUncleByBlockHashAndIndex: [lazy(() => [blockHash, '0x0'], { isEmpty: true })],
  eth_getUncleByBlockNumberAndIndex: [empty('0x2', '0x0')],
  eth_getUncleCountByBlockHash: [lazy(() => [blockHash])],
  eth_getUncleCountByBlockNumber: [with_('0x2')],
  eth_maxPriorityFeePerGas: [with_()],
  eth_pendingTransactions: [with_()],
  eth_simulateV1: [
    lazy(() => [{ blockStateCalls: [{ calls: [call()] }], returnFullTransactions: true, traceTransfers: true }]),
    lazy(() => [{ blockStateCalls: [{ calls: [{ ...call(), data: '0x00', gas: '0x5300' }] }] }], {
      unlikeOfficial: 'errors have the texts of eth_call',
    }),
  ],
  eth_syncing: [with_()],
  eth_uninstallFilter: [lazy(() => [filterId])],
  net_listening: [with_()],
  net_peerCount: [with_()],
  net_version: [with_()],
  rpc_discover: [with_()],
  rpc_modules: [with_()],
  testing_buildBlockV1: [
    lazy(() => [
      bytesToHex(view.chain.hash(3)!),
      {
        timestamp: toQuantity(view.chain.header(3)!.timestamp + 1),
        prevRandao: UNKNOWN,
        suggestedFeeRecipient: WALLET_HEX,
        withdrawals: [],
        parentBeaconBlockRoot: UNKNOWN,
      },
      null,
    ]),
  ],
  trace_block: [with_('0x2')],
  trace_call: [lazy(() => [call(), TYPES])],
  trace_callMany: [lazy(() => [[[call(), TYPES]]])],
  trace_filter: [with_({ fromBlock: '0x1', toBlock: '0x2' })],
  trace_get: [lazy(() => [mined, []])],
  trace_rawTransaction: [lazy(() => [rawPooled, TYPES])],
  trace_replayBlockTransactions: [with_('0x2', TYPES), with_('0x1', TYPES)],
  trace_replayTransaction: [lazy(() => [mined, TYPES])],
  trace_transaction: [lazy(() => [creation])],
  txpool_content: [with_()],
  txpool_contentFrom: [with_(WALLET_HEX)],
  txpool_inspect: [with_()],
  txpool_status: [with_()],
  web3_clientVersion: [with_()],
  web3_sha3: [with_('0x00')],
}
/** Those whose answer needs a block that comes, and those that have only errors here; their answers are those of others. */
const WITHOUT_SAMPLE = [
  'debug_getRawBlockAccessList',
  'debug_traceBadBlock',
  'eth_sendRawTransaction',
  'eth_sendRawTransactionSync',
  'testing_commitBlockV1',
]
let rawBlock = ''
let rawPooled = ''

describe('the answers of all methods', () => {
  it('have a sample each', () => {
    expect([...Object.keys(SAMPLES), ...WITHOUT_SAMPLE].sort()).toEqual([...methods.keys()].sort())
  })

  it.each(Object.entries(SAMPLES).flatMap(([name, samples]) => samples.map((sample, i) => ({ name, sample, i }))))(
    '$name ($i) is as the documents say, with quantities that are numbers',
    async ({ name, sample }) => {
      rawBlock ||= (await invokeText('debug_getRawBlock', ['0x2'])) as string
      rawPooled ||= await sign({ to: counter as `0x${string}`, nonce: 4 })
      filterId = (await filterOf('eth_newFilter', { fromBlock: '0x0' })) as string
      const params = sample.params()
      const described = document.methods.find((one) => one.name === name)!
      for (const [index, param] of params.entries()) {
        if (param === null || param === undefined) continue
        const validate = compile(described.params[index]!.schema)
        expect(validate(param), `${name} parameter ${index}: ${ajv.errorsText(validate.errors)}`).toBe(true)
      }
      const answer = await invokeText(name, params)
      for (const schema of [described.result.schema, ...(sample.schema === undefined ? [] : [sample.schema])]) {
        const validate = compile(schema)
        expect(
          validate(answer),
          `${name}: ${ajv.errorsText(validate.errors)} ${JSON.stringify(answer).slice(0, 2_000)}`,
        ).toBe(true)
      }
      if (sample.unlikeOfficial === undefined) expect(official(name, answer)).toBeUndefined()
      if (sample.isEmpty !== true) expect(answer).not.toEqual(Array.isArray(answer) ? [] : null)
    },
  )
})

describe('rpc_discover', () => {
  it('lists all methods of its listener, with the parameters that they have', () => {
    const subscriptions = ['debug_subscribe', 'debug_unsubscribe', 'eth_subscribe', 'eth_unsubscribe']
    expect(document.methods.map(({ name }) => name)).toEqual([...methods.keys(), ...subscriptions].sort())
    for (const { name, params } of document.methods) {
      const method = methods.get(name)
      if (method === undefined) continue
      expect(params.length, name).toBe(method.params.length)
      expect(params.filter(({ required }) => required).length, name).toBe(method.required)
    }
  })

  it('describes only what the listener serves', async () => {
    const few = methodsOf(methods, new Set(['net', 'web3']))
    const { methods: described } = (await invoke(few.get('rpc_discover')!, context)) as Document
    expect(described.map(({ name }) => name)).toEqual([
      'net_listening',
      'net_peerCount',
      'net_version',
      'rpc_discover',
      'rpc_modules',
      'web3_clientVersion',
      'web3_sha3',
    ])
  })

  it('knows a quantity from data', () => {
    const validate = compile(schemaOf('Quantity'))
    expect(['0x0', '0x1', '0xa0'].map((text) => validate(text))).toEqual([true, true, true])
    expect(['0x', '0x00', '0x01', '0x0a', '0xA', '1', 1].map((text) => validate(text))).toEqual(Array(7).fill(false))
  })
})
