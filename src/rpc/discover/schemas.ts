/** A JSON schema, as far as the document of rpc_discover uses it. */
export type Schema = Readonly<Record<string, unknown>>

const HEX_QUANTITY = '^0x(0|[1-9a-f][0-9a-f]*)$'

export const ANY: Schema = {}
export const BOOL: Schema = { type: 'boolean' }
export const TEXT: Schema = { type: 'string' }
export const INTEGER: Schema = { type: 'integer' }
export const NULL: Schema = { type: 'null' }

export function ref(name: keyof typeof SCHEMAS): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

export function list(items: Schema): Schema {
  return { type: 'array', items }
}

/** Returns the schema of an object with free keys. */
export function mapOf(values: Schema): Schema {
  return { type: 'object', additionalProperties: values }
}

export function anyOf(...schemas: readonly Schema[]): Schema {
  return { anyOf: schemas }
}

export function orNull(schema: Schema): Schema {
  return anyOf(NULL, schema)
}

/**
 * Returns the schema of an object with only these members; those that end with `?` may be missing.
 */
export function object(members: Readonly<Record<string, Schema>>): Schema {
  const names = Object.keys(members)
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), members[name]])),
    additionalProperties: false,
  }
}

/**
 * Returns the schema of a request's object: every member may be missing, and unknown members are
 * ignored.
 */
function request(members: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties: members }
}

function hex(bytes: number): Schema {
  return { type: 'string', pattern: `^0x[0-9a-fA-F]{${2 * bytes}}$` }
}

const $ = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
const quantity = $('Quantity')
const data = $('Data')
const hash = $('Hash')
const address = $('Address')

const HEADER = {
  number: quantity,
  hash: orNull(hash),
  parentHash: hash,
  nonce: orNull(hex(8)),
  mixHash: hash,
  sha3Uncles: hash,
  logsBloom: hex(256),
  stateRoot: hash,
  miner: orNull(address),
  difficulty: quantity,
  extraData: data,
  gasLimit: quantity,
  gasUsed: quantity,
  timestamp: quantity,
  transactionsRoot: hash,
  receiptsRoot: hash,
  'baseFeePerGas?': quantity,
  'withdrawalsRoot?': hash,
  'blobGasUsed?': quantity,
  'excessBlobGas?': quantity,
  'parentBeaconBlockRoot?': hash,
  'requestsHash?': hash,
}
const BLOCK = {
  ...HEADER,
  size: quantity,
  transactions: anyOf(list(hash), list($('Transaction'))),
  uncles: list(hash),
  'withdrawals?': list(ANY),
}
const TYPED_FIELDS = {
  'chainId?': quantity,
  'accessList?': $('AccessList'),
  'maxFeePerGas?': orNull(quantity),
  'maxPriorityFeePerGas?': orNull(quantity),
  'maxFeePerBlobGas?': quantity,
  'blobVersionedHashes?': list(hash),
  'authorizationList?': list($('Authorization')),
  'yParity?': quantity,
}
const RETENTION = object({
  disabled: BOOL,
  oldestBlock: quantity,
  'deleteStrategy?': object({ type: TEXT, retentionBlocks: quantity }),
})
const FORK = object({
  activationTime: INTEGER,
  blobSchedule: mapOf(INTEGER),
  chainId: quantity,
  forkId: hex(4),
  precompiles: mapOf(address),
  systemContracts: mapOf(address),
})
const BLOCK_OVERRIDES = {
  number: quantity,
  difficulty: quantity,
  time: quantity,
  gasLimit: quantity,
  feeRecipient: address,
  prevRandao: hash,
  baseFeePerGas: quantity,
  blobBaseFee: quantity,
}
const TRACE_CONFIG = {
  tracer: TEXT,
  tracerConfig: { type: 'object' },
  timeout: TEXT,
  enableMemory: BOOL,
  disableStack: BOOL,
  disableStorage: BOOL,
  enableReturnData: BOOL,
  limit: INTEGER,
}
const PARITY_TRACE = {
  type: TEXT,
  action: object({
    'callType?': TEXT,
    'creationMethod?': TEXT,
    'from?': address,
    'to?': address,
    'gas?': quantity,
    'value?': quantity,
    'input?': data,
    'init?': data,
    'address?': address,
    'balance?': quantity,
    'refundAddress?': address,
  }),
  'result?': orNull(object({ gasUsed: quantity, 'output?': data, 'address?': address, 'code?': data })),
  'error?': TEXT,
  subtraces: INTEGER,
  traceAddress: list(INTEGER),
}
/**
 * Returns the schema of a change of a value: `=`, `{"+":new}`, `{"-":old}` or
 * `{"*":{"from":old,"to":new}}`.
 */
const diff = (value: Schema): Schema =>
  anyOf(
    { const: '=' },
    object({ '+': value }),
    object({ '-': value }),
    object({ '*': object({ from: value, to: value }) }),
  )

/** The schemas that methods share, by their names in the document. */
export const SCHEMAS = {
  Quantity: { type: 'string', pattern: HEX_QUANTITY },
  Data: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$' },
  Hash: hex(32),
  Address: hex(20),
  BlockTag: { type: 'string', enum: ['earliest', 'latest', 'safe', 'finalized', 'pending'] },
  BlockNumberOrTag: anyOf(quantity, $('BlockTag')),
  BlockNumberOrTagOrHash: anyOf(
    quantity,
    $('BlockTag'),
    hash,
    request({ blockNumber: $('BlockNumberOrTag'), blockHash: hash, requireCanonical: BOOL }),
  ),
  Count: anyOf(INTEGER, quantity),
  AccessList: list(object({ address, storageKeys: list(hash) })),
  Authorization: object({ chainId: quantity, address, nonce: quantity, yParity: quantity, r: quantity, s: quantity }),
  Call: request({
    from: address,
    to: orNull(address),
    gas: quantity,
    gasPrice: quantity,
    maxFeePerGas: quantity,
    maxPriorityFeePerGas: quantity,
    value: quantity,
    nonce: quantity,
    data,
    input: data,
    accessList: $('AccessList'),
    chainId: quantity,
    authorizationList: list($('Authorization')),
  }),
  StateOverrides: mapOf(
    request({
      nonce: quantity,
      code: data,
      balance: quantity,
      state: mapOf(hash),
      stateDiff: mapOf(hash),
      movePrecompileToAddress: address,
    }),
  ),
  BlockOverrides: request(BLOCK_OVERRIDES),
  LogFilter: request({
    blockHash: hash,
    fromBlock: $('BlockNumberOrTag'),
    toBlock: $('BlockNumberOrTag'),
    address: anyOf(address, list(address)),
    topics: list(anyOf(NULL, hash, list(orNull(hash)))),
  }),
  Log: object({
    address,
    topics: list(hash),
    data,
    blockNumber: quantity,
    transactionHash: hash,
    transactionIndex: quantity,
    blockHash: hash,
    blockTimestamp: quantity,
    logIndex: quantity,
    removed: BOOL,
  }),
  Transaction: object({
    blockHash: orNull(hash),
    blockNumber: orNull(quantity),
    blockTimestamp: orNull(quantity),
    from: address,
    gas: quantity,
    gasPrice: quantity,
    hash,
    input: data,
    nonce: quantity,
    to: orNull(address),
    transactionIndex: orNull(quantity),
    value: quantity,
    type: quantity,
    v: quantity,
    r: quantity,
    s: quantity,
    ...TYPED_FIELDS,
  }),
  UnsignedTransaction: object({
    type: quantity,
    nonce: quantity,
    to: orNull(address),
    gas: quantity,
    gasPrice: orNull(quantity),
    value: quantity,
    input: data,
    v: quantity,
    r: quantity,
    s: quantity,
    hash,
    ...TYPED_FIELDS,
  }),
  Receipt: object({
    blockHash: hash,
    blockNumber: quantity,
    transactionHash: hash,
    transactionIndex: quantity,
    from: address,
    to: orNull(address),
    gasUsed: quantity,
    cumulativeGasUsed: quantity,
    contractAddress: orNull(address),
    logs: list($('Log')),
    logsBloom: hex(256),
    type: quantity,
    effectiveGasPrice: quantity,
    'status?': quantity,
    'root?': hash,
    'blobGasUsed?': quantity,
    'blobGasPrice?': quantity,
  }),
  Header: object(HEADER),
  Block: object(BLOCK),
  SimulatedBlock: object({
    ...BLOCK,
    calls: list(
      object({
        returnData: data,
        logs: list($('Log')),
        gasUsed: quantity,
        'maxUsedGas?': quantity,
        status: quantity,
        'error?': object({ code: INTEGER, message: TEXT, 'data?': data }),
      }),
    ),
  }),
  FeeHistory: object({
    oldestBlock: quantity,
    'reward?': list(list(quantity)),
    baseFeePerGas: list(quantity),
    gasUsedRatio: list({ type: 'number' }),
    baseFeePerBlobGas: list(quantity),
    blobGasUsedRatio: list({ type: 'number' }),
  }),
  Account: object({ balance: quantity, nonce: quantity, codeHash: hash, storageRoot: hash }),
  AccountProof: object({
    address,
    accountProof: list(data),
    balance: quantity,
    codeHash: hash,
    nonce: quantity,
    storageHash: hash,
    storageProof: list(object({ key: anyOf(hash, quantity), value: quantity, proof: list(data) })),
  }),
  Capabilities: object({
    head: object({ number: quantity, hash }),
    state: RETENTION,
    tx: RETENTION,
    logs: RETENTION,
    receipts: RETENTION,
    blocks: RETENTION,
    stateproofs: RETENTION,
  }),
  ForkConfig: object({ current: FORK, next: orNull(FORK), last: orNull(FORK) }),
  SyncStatus: anyOf(
    { const: false },
    object({ startingBlock: quantity, currentBlock: quantity, highestBlock: quantity }),
  ),
  PooledTransactions: mapOf($('Transaction')),
  TraceConfig: request(TRACE_CONFIG),
  TraceCallConfig: request({
    ...TRACE_CONFIG,
    stateOverrides: $('StateOverrides'),
    blockOverrides: $('BlockOverrides'),
    txIndex: quantity,
  }),
  CallBundle: request({ transactions: list($('Call')), blockOverride: $('BlockOverrides') }),
  StateContext: request({ blockNumber: $('BlockNumberOrTagOrHash'), transactionIndex: $('Count') }),
  StructLogs: object({
    gas: INTEGER,
    failed: BOOL,
    returnValue: data,
    structLogs: list(
      object({
        pc: INTEGER,
        op: TEXT,
        gas: INTEGER,
        gasCost: INTEGER,
        depth: INTEGER,
        'refund?': INTEGER,
        'error?': TEXT,
        'stack?': list(quantity),
        'memory?': list(data),
        'storage?': mapOf(data),
        'returnData?': data,
      }),
    ),
  }),
  CallFrame: object({
    type: TEXT,
    from: address,
    'to?': address,
    'value?': quantity,
    gas: quantity,
    gasUsed: quantity,
    input: data,
    'output?': data,
    'error?': TEXT,
    'revertReason?': TEXT,
    'calls?': list($('CallFrame')),
    'logs?': list(object({ address, topics: list(hash), data, index: quantity, position: quantity })),
  }),
  Prestate: mapOf(
    object({
      'balance?': quantity,
      'nonce?': INTEGER,
      'code?': data,
      'codeHash?': hash,
      'storage?': mapOf(hash),
    }),
  ),
  StateDifference: object({ pre: $('Prestate'), post: $('Prestate') }),
  /**
   * the result of the request's tracer: the struct logger's, a named tracer's, or any value of a
   * script
   */
  Trace: ANY,
  TransactionTraces: list(object({ txHash: hash, result: $('Trace') })),
  ParityTrace: object(PARITY_TRACE),
  LocatedParityTrace: object({
    ...PARITY_TRACE,
    blockHash: hash,
    blockNumber: INTEGER,
    transactionHash: hash,
    transactionPosition: INTEGER,
  }),
  ParityTypes: list({ type: 'string', enum: ['trace', 'stateDiff', 'vmTrace'] }),
  ParityTraces: object({
    output: data,
    trace: list($('ParityTrace')),
    stateDiff: orNull(
      mapOf(object({ balance: diff(quantity), nonce: diff(quantity), code: diff(data), storage: mapOf(diff(hash)) })),
    ),
    vmTrace: orNull({ type: 'object' }),
    'transactionHash?': hash,
  }),
  PayloadAttributes: request({
    timestamp: quantity,
    prevRandao: hash,
    suggestedFeeRecipient: address,
    withdrawals: list(ANY),
    parentBeaconBlockRoot: hash,
  }),
  Payload: object({
    executionPayload: object({
      parentHash: hash,
      feeRecipient: address,
      stateRoot: hash,
      receiptsRoot: hash,
      logsBloom: hex(256),
      prevRandao: hash,
      blockNumber: quantity,
      gasLimit: quantity,
      gasUsed: quantity,
      timestamp: quantity,
      extraData: data,
      baseFeePerGas: quantity,
      blockHash: hash,
      transactions: list(data),
      withdrawals: list(ANY),
      blobGasUsed: quantity,
      excessBlobGas: quantity,
    }),
    blockValue: quantity,
    blobsBundle: object({ commitments: list(data), proofs: list(data), blobs: list(data) }),
    executionRequests: list(data),
    shouldOverrideBuilder: BOOL,
  }),
} satisfies Readonly<Record<string, Schema>>
