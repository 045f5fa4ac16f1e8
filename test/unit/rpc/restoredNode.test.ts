import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeLightBlock } from '../../../src/chain/comet/lightBlock.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { restoreSnapshot } from '../../../src/datadir/restoreSnapshot.ts'
import { ExecutionTimeout } from '../../../src/evm/engine.ts'
import { MODULE_HOOKS } from '../../../src/execution/blockHooks.ts'
import { genesisStateOf } from '../../../src/execution/genesisBlock.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { answerCometGet } from '../../../src/rpc/comet/answer.ts'
import { createCometMethods } from '../../../src/rpc/comet/methods.ts'
import { COMET_VIEW_TABLE } from '../../../src/rpc/comet/results.ts'
import { answerNativeCall } from '../../../src/rpc/cosmos/nativeCall.ts'
import { QUERIES } from '../../../src/rpc/cosmos/queries.ts'
import { answerRest, createRestRouter } from '../../../src/rpc/cosmos/rest/routes.ts'
import { transactionsWithoutResults } from '../../../src/rpc/eth/bodyWithoutResults.ts'
import { OWN_SCOPE } from '../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../src/rpc/jsonrpc/method.ts'
import { METHODS } from '../../../src/rpc/jsonrpc/methodTable.ts'
import { textOf } from '../../../src/rpc/jsonrpc/resultText.ts'
import { serveViewCall, type ViewPool } from '../../../src/rpc/jsonrpc/runMethod.ts'
import { makeSnapshot } from '../../../src/snapshot/makeSnapshot.ts'
import { chunkName, MANIFEST_NAME, readManifest } from '../../../src/snapshot/manifest.ts'
import { createViewCaches, type NodeView, openView } from '../../../src/state/view.ts'
import { Database } from '../../../src/storage/database.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import { WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'
import { type NetworkNode, networkGenesis, openNetworkNode, proposeBlock } from '../../support/execution/testNetwork.ts'
import { IDENTITY, IDLE_NODE } from '../../support/rpc/comet/cometNode.ts'
import { TEST_LIMITS } from '../../support/rpc/memoryNode.ts'
import { createMemoryPool } from '../../support/rpc/memoryPool.ts'
import { withSubmissions } from '../../support/rpc/withSubmissions.ts'

/*
 * What clients call, on a node that began with a snapshot: right after the restore, when the snapshot's block is the newest, and some blocks
 * later. A node that has all blocks says what is right.
 */

const HEIGHT = 14
const HEAD = 17
const hexOf = (height: number): `0x${string}` => `0x${height.toString(16)}`
const genesis = networkGenesis(3)
const wallet = privateKeyToAccount(WALLET_KEY)
/** Creates an account without code and writes a log with the topic 1. */
const LOGGER = '0x600160006000a100'
/** Returns BLOCKHASH of the number in the call's data. */
const BLOCKHASH = '0x6000354060005260206000f3'
const SOMEONE = '0x00000000000000000000000000000000000000aa'

type Moment = 'at once' | 'later'
/** What a restored node answers: as a whole node does, an error that names the oldest block, or something else. */
type Expected = 'same' | 'error' | ((answer: never) => void)

let directory: string
let base: number
const closing: (() => Promise<unknown>)[] = []
/** by moment: that node's answers, and a whole node's of the same head */
const nodes = new Map<Moment, { readonly restored: Asked; readonly whole: Asked }>()
const hashes: string[] = []
const transactions: string[] = []

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-restored-'))
  const source = await openNetworkNode(genesis)
  closing.push(() => source.close())
  const decided: DecidedBlock[] = []
  const extend = async (to: number): Promise<void> => {
    let state = await source.state()
    for (let height = state.lastHeight + 1; height <= to; height++) {
      const block = await proposeBlock(source, state, { raws: await transactionsOf(height) })
      decided[height] = block
      state = advanceState(state, block, await source.executor.application.finalizeBlock(block))
    }
  }
  await extend(HEIGHT)
  const wholeAtOnce = await ask(source)
  await extend(HEAD)
  const location = await restore(source)

  const node = await openNetworkNode(genesis, { directory: join(location, '..') })
  closing.push(() => node.close())
  const atOnce = await ask(node)
  for (let height = HEIGHT + 1; height <= HEAD; height++)
    await node.executor.application.finalizeBlock(decided[height]!)
  nodes.set('at once', { restored: atOnce, whole: wholeAtOnce })
  const whole = await ask(source)
  nodes.set('later', { restored: await ask(node), whole })

  base = atOnce.view.chain.base
  const { chain } = whole.view
  for (let height = 0; height <= HEAD; height++) {
    hashes.push(bytesToHex(chain.hash(height)!))
    transactions.push(height === 0 ? '' : bytesToHex(chain.transactions(height)![0]!.transaction.hash))
  }
})

afterAll(async () => {
  for (const close of closing.reverse()) await close()
  rmSync(directory, { recursive: true })
})

/** A transfer and a log. */
async function transactionsOf(height: number): Promise<Uint8Array[]> {
  const fields = { chainId: 76287, gas: 200_000n, maxFeePerGas: 4_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
  const nonce = 2 * (height - 1)
  return [
    hexToBytes(await wallet.signTransaction({ ...fields, type: 'eip1559', nonce, to: SOMEONE, value: 1n })),
    hexToBytes(await wallet.signTransaction({ ...fields, type: 'eip1559', nonce: nonce + 1, data: LOGGER })),
  ]
}

/** Restores into a directory, without the lowest blocks of the snapshot, as if the chain were longer. */
async function restore(source: NetworkNode): Promise<string> {
  const files = join(directory, 'snapshot')
  const database = await Database.open(source.location, { readOnly: true })
  const snapshot = database.snapshot()
  await makeSnapshot(snapshot, source.chain, { height: HEIGHT, directory: files, sizes: { chunkBytes: 4_000 } })
  await snapshot.close()
  await database.close()
  const manifest = readManifest(readFileSync(join(files, MANIFEST_NAME)))
  const chunks = manifest.chunks.filter((chunk) => chunk.kind !== 'blocks' || chunk.from > 3)
  const [at, next, afterNext] = manifest.lightBlocks.map(decodeLightBlock)
  const location = join(directory, 'node', 'db')
  await restoreSnapshot({
    location,
    manifest: { ...manifest, chunks },
    headers: { at: at!, next: next!, afterNext: afterNext! },
    chain: source.chain,
    genesis: genesisStateOf(genesis),
    files: { fetch: async (file) => new Uint8Array(readFileSync(join(files, chunkName(file)))) },
    onProgress: () => undefined,
    signal: new AbortController().signal,
  })
  return location
}

/** A node's answers from its database as it is now. */
interface Asked {
  readonly view: NodeView
  json(method: string, params: readonly unknown[]): Promise<unknown>
  comet(path: string, isCatchingUp?: boolean): Promise<unknown>
  rest(url: string, height?: number): Promise<unknown>
}

async function ask(node: NetworkNode): Promise<Asked> {
  const database = await Database.open(node.location, { readOnly: true })
  const snapshot = database.snapshot()
  closing.push(async () => {
    await snapshot.close()
    await database.close()
  })
  const view = openView(snapshot, createViewCaches())
  const { chain } = node
  // Errors that clients shall not see are logged.
  const log = {
    error: (fields: unknown): void => {
      throw new Error('a call failed', { cause: fields })
    },
  }
  const context: RpcContext = withSubmissions({
    view,
    chain,
    txs: createMemoryPool(),
    limits: TEST_LIMITS,
    scope: OWN_SCOPE,
    clientVersion: 'coind/v0.0.0-test',
    retention: { states: undefined, bodies: undefined },
    peerCount: () => 0,
    syncing: () => undefined,
    nextView: async () => undefined,
    now: () => (chain.genesisTimeMs ?? 0) + 3_600_000,
    monotonicMs: () => performance.now(),
    execution: {
      engine: productionEngine,
      precompiles: precompileTable(chain.registeredPrecompiles),
      hooks: MODULE_HOOKS,
      yieldUntil: (deadlineMs) => async () => {
        if (performance.now() > deadlineMs) throw new ExecutionTimeout('deadline')
      },
    },
  })
  const views: ViewPool = {
    call: (_, method, params) => serveViewCall(COMET_VIEW_TABLE, context, { method, params }, log),
  }
  const unexpected = () => Promise.reject(new Error('nothing asks that here'))
  const port = {
    query: async (_: unknown, call: Parameters<typeof answerNativeCall>[2]) => {
      const identity = { ...IDENTITY, chainId: chain.chainId }
      return answerNativeCall({ queries: QUERIES, node: { identity, pruningWindow: 0 }, log }, context, call)
    },
  }
  const { validators } = view.chain.validatorSetAt(view.chain.headHeight)!
  const methods = (isCatchingUp: boolean) =>
    createCometMethods({
      identity: { ...IDENTITY, chainId: chain.chainId },
      validator: [validators[0]!],
      chain,
      readGenesis: () => genesis,
      withChain: (read) => read(view.chain),
      withView: (read) => read(view),
      isCatchingUp: () => isCatchingUp,
      node: IDLE_NODE,
      mempool: {
        submissions: { submit: unexpected, verify: unexpected, admit: unexpected },
        pool: { check: unexpected, unconfirmed: unexpected },
        lease: () => {
          throw new Error('nothing waits for a block here')
        },
        onError: () => undefined,
      },
      abci: { queries: QUERIES, port, version: IDENTITY.version },
      views,
      nowMs: () => 0,
      monotonicMs: () => 0,
    })
  const router = createRestRouter(QUERIES)
  return {
    view,
    json: async (method, params) => {
      try {
        return JSON.parse(textOf(await serveViewCall(METHODS, context, { method, params }, log)))
      } catch (error) {
        const { code, message } = error as { code: number; message: string }
        return { error: { code, message } }
      }
    },
    comet: async (path, isCatchingUp = false) => {
      const url = new URL(`http://host/${path}`)
      const method = methods(isCatchingUp).get(url.pathname.slice(1))!
      const { json } = await answerCometGet(method, Object.fromEntries(url.searchParams), OWN_SCOPE, { log })
      const { result, error } = JSON.parse(json)
      return error === undefined ? result : { error: { code: error.code, message: error.data ?? error.message } }
    },
    rest: async (url, height) => {
      const request = { method: 'GET', url, height: height?.toString(), body: '', scope: OWN_SCOPE } as const
      const { status, json } = await answerRest({ router, port }, request)
      const answer = JSON.parse(json)
      return status === 200 ? answer : { error: { code: status, message: answer.message } }
    },
  }
}

/** Names the oldest block, or the oldest state, and is no fault of the node. */
function expectClear(answer: unknown): void {
  const { error } = answer as { error?: { code: number; message: string } }
  expect(error).toBeDefined()
  expect(error!.code).not.toBe(500)
  expect(error!.message).toMatch(
    new RegExp(`(oldest block( with state)? is|lowest height is|min height) (${HEIGHT}|${HEIGHT + 1}|${base})\\b`),
  )
}

async function check(moment: Moment, expected: Expected, call: (node: Asked) => Promise<unknown>): Promise<void> {
  const { restored, whole } = nodes.get(moment)!
  const answer = await call(restored)
  if (expected === 'error') expectClear(answer)
  else if (expected === 'same') {
    expect(answer).not.toHaveProperty('error')
    expect(answer).toEqual(await call(whole))
  } else expected(answer as never)
}

const toBe = (value: unknown) => (answer: unknown) => expect(answer).toEqual(value)
const fields = (value: object) => (answer: unknown) => expect(answer).toMatchObject(value)
const FROM = bytesToHex(WALLET)
const PERCENTILES = [10, 50, 90]

type Row = readonly [name: string, method: string, params: () => readonly unknown[], atOnce: Expected, later: Expected]

describe('eth', () => {
  const rows: readonly Row[] = [
    // What wallets and libraries begin with.
    ['chainId', 'eth_chainId', () => [], 'same', 'same'],
    ['net_version', 'net_version', () => [], 'same', 'same'],
    ['blockNumber', 'eth_blockNumber', () => [], 'same', 'same'],
    ['syncing', 'eth_syncing', () => [], 'same', 'same'],
    ['accounts', 'eth_accounts', () => [], 'same', 'same'],
    ['config', 'eth_config', () => [], 'same', 'same'],
    ['gasPrice', 'eth_gasPrice', () => [], 'same', 'same'],
    ['tip', 'eth_maxPriorityFeePerGas', () => [], 'same', 'same'],
    ['baseFee', 'eth_baseFee', () => [], 'same', 'same'],
    ['blobBaseFee', 'eth_blobBaseFee', () => [], 'same', 'same'],
    ['txpool', 'txpool_content', () => [], 'same', 'same'],
    ['balance', 'eth_getBalance', () => [FROM, 'latest'], 'same', 'same'],
    ['nonce', 'eth_getTransactionCount', () => [FROM, 'pending'], 'same', 'same'],
    ['code', 'eth_getCode', () => [FROM, 'latest'], 'same', 'same'],
    ['estimate', 'eth_estimateGas', () => [{ from: FROM, to: SOMEONE, value: '0x1' }], 'same', 'same'],
    ['access list', 'eth_createAccessList', () => [{ from: FROM, to: SOMEONE }, 'latest'], 'same', 'same'],
    ['latest block', 'eth_getBlockByNumber', () => ['latest', false], 'same', 'same'],
    ['latest block, full', 'eth_getBlockByNumber', () => ['latest', true], 'same', 'same'],
    ['finalized block', 'eth_getBlockByNumber', () => ['finalized', false], 'same', 'same'],
    ['pending block', 'eth_getBlockByNumber', () => ['pending', false], 'same', 'same'],
    // Blocks.
    ['block 0', 'eth_getBlockByNumber', () => ['0x0', false], 'same', 'same'],
    ['block 0 by hash', 'eth_getBlockByHash', () => [hashes[0], true], 'same', 'same'],
    ['header of block 0', 'eth_getHeaderByNumber', () => ['0x0'], 'same', 'same'],
    ['receipts of block 0', 'eth_getBlockReceipts', () => ['0x0'], 'same', 'same'],
    [
      'earliest',
      'eth_getBlockByNumber',
      () => ['earliest', false],
      fields({ number: hexOf(HEIGHT) }),
      fields({ number: hexOf(HEIGHT + 1) }),
    ],
    ['below the base', 'eth_getBlockByNumber', () => ['0x1', false], 'error', 'error'],
    ['below the base by hash', 'eth_getBlockByHash', () => [hashes[1], false], toBe(null), toBe(null)],
    ['header below the base', 'eth_getHeaderByNumber', () => ['0x1'], 'error', 'error'],
    ['before H', 'eth_getBlockByNumber', () => [hexOf(HEIGHT - 1), false], 'error', 'error'],
    ['before H by hash', 'eth_getBlockByHash', () => [hashes[HEIGHT - 1], true], 'error', 'error'],
    ['header before H', 'eth_getHeaderByHash', () => [hashes[HEIGHT - 1]], 'same', 'same'],
    ['H', 'eth_getBlockByNumber', () => [hexOf(HEIGHT), true], 'same', 'error'],
    ['H by hash', 'eth_getBlockByHash', () => [hashes[HEIGHT], false], 'same', 'error'],
    ['count of H', 'eth_getBlockTransactionCountByNumber', () => [hexOf(HEIGHT)], 'same', 'error'],
    ['raw block H', 'debug_getRawBlock', () => [hexOf(HEIGHT)], 'same', 'error'],
    ['H + 1', 'eth_getBlockByNumber', () => [hexOf(HEIGHT + 1), true], toBe(null), 'same'],
    // Transactions, receipts, logs.
    ['receipts before H', 'eth_getBlockReceipts', () => [hexOf(HEIGHT - 1)], 'error', 'error'],
    ['receipts of H', 'eth_getBlockReceipts', () => [hexOf(HEIGHT)], 'error', 'error'],
    ['raw receipts of H', 'debug_getRawReceipts', () => [hexOf(HEIGHT)], 'error', 'error'],
    ['receipts of H + 1', 'eth_getBlockReceipts', () => [hexOf(HEIGHT + 1)], toBe(null), 'same'],
    ['transaction of H', 'eth_getTransactionByHash', () => [transactions[HEIGHT]], toBe(null), toBe(null)],
    ['receipt of H', 'eth_getTransactionReceipt', () => [transactions[HEIGHT]], toBe(null), toBe(null)],
    ['by index', 'eth_getTransactionByBlockNumberAndIndex', () => [hexOf(HEIGHT), '0x1'], 'same', 'error'],
    ['transaction after H', 'eth_getTransactionByHash', () => [transactions[HEIGHT + 1]], toBe(null), 'same'],
    ['receipt after H', 'eth_getTransactionReceipt', () => [transactions[HEIGHT + 1]], toBe(null), 'same'],
    ['logs from 0', 'eth_getLogs', () => [{ fromBlock: '0x0' }], 'error', 'error'],
    ['logs of earliest', 'eth_getLogs', () => [{ fromBlock: 'earliest' }], 'error', fromH1],
    ['logs from H', 'eth_getLogs', () => [{ fromBlock: hexOf(HEIGHT) }], 'error', 'error'],
    ['logs of H by hash', 'eth_getLogs', () => [{ blockHash: hashes[HEIGHT] }], 'error', 'error'],
    ['logs of 0 by hash', 'eth_getLogs', () => [{ blockHash: hashes[0] }], 'same', 'same'],
    ['logs of the head', 'eth_getLogs', () => [{}], 'error', 'same'],
    // Fees.
    ['fees, few', 'eth_feeHistory', () => ['0x2', 'latest', []], 'same', 'same'],
    ['fees, many', 'eth_feeHistory', () => ['0x400', 'latest', []], fromBase, fromBase],
    ['fees below H', 'eth_feeHistory', () => ['0x2', hexOf(HEIGHT - 1), []], 'same', 'same'],
    ['fees below the base', 'eth_feeHistory', () => ['0x2', '0x1', []], 'error', 'error'],
    ['rewards', 'eth_feeHistory', () => ['0x2', 'latest', PERCENTILES], 'error', 'same'],
    ['rewards, many', 'eth_feeHistory', () => ['0xa', 'latest', PERCENTILES], 'error', rewardsSinceH],
    ['rewards below H', 'eth_feeHistory', () => ['0x2', hexOf(HEIGHT - 1), PERCENTILES], 'error', 'error'],
    // State.
    ['balance at H', 'eth_getBalance', () => [FROM, hexOf(HEIGHT)], 'same', 'same'],
    ['balance before H', 'eth_getBalance', () => [FROM, hexOf(HEIGHT - 1)], 'error', 'error'],
    ['balance at 0', 'eth_getBalance', () => [FROM, '0x0'], 'error', 'error'],
    ['proof at H', 'eth_getProof', () => [FROM, [], hexOf(HEIGHT)], 'same', 'same'],
    ['proof before H', 'eth_getProof', () => [FROM, [], hexOf(HEIGHT - 1)], 'error', 'error'],
    ['call at H', 'eth_call', () => [{ from: FROM, to: SOMEONE }, hexOf(HEIGHT)], 'same', 'same'],
    ['call before H', 'eth_call', () => [{ from: FROM, to: SOMEONE }, hexOf(HEIGHT - 1)], 'error', 'error'],
    ['call below the base', 'eth_call', () => [{ from: FROM, to: SOMEONE }, '0x1'], 'error', 'error'],
    // 256 blocks back, or as far as there are headers.
    ['BLOCKHASH', 'eth_call', () => blockHashOf(base), 'same', 'same'],
    // Traces.
    ['trace of H', 'debug_traceBlockByNumber', () => [hexOf(HEIGHT), {}], 'error', 'error'],
    ['trace before H', 'debug_traceBlockByHash', () => [hashes[HEIGHT - 1], {}], 'error', 'error'],
    ['trace of H + 1', 'debug_traceBlockByNumber', () => [hexOf(HEIGHT + 1), { tracer: 'callTracer' }], notYet, 'same'],
    ['trace by hash', 'debug_traceTransaction', () => [transactions[HEIGHT + 1], {}], notYet, 'same'],
    ['trace of one of H', 'debug_traceTransaction', () => [transactions[HEIGHT], {}], notYet, notYet],
    ['traced call', 'debug_traceCall', () => [{ from: FROM, to: SOMEONE }, 'latest', {}], 'same', 'same'],
    [
      'capabilities',
      'eth_capabilities',
      () => [],
      fields({ state: { oldestBlock: hexOf(HEIGHT) }, receipts: { oldestBlock: hexOf(HEIGHT + 1) } }),
      fields({ state: { oldestBlock: hexOf(HEIGHT) }, receipts: { oldestBlock: hexOf(HEIGHT + 1) } }),
    ],
  ]

  function blockHashOf(height: number): unknown[] {
    const data = `0x${height.toString(16).padStart(64, '0')}`
    return [{ to: SOMEONE, data }, 'latest', { [SOMEONE]: { code: BLOCKHASH } }]
  }
  function fromH1(answer: { blockNumber: string }[]): void {
    expect(answer.map(({ blockNumber }) => Number(blockNumber))).toEqual([HEIGHT + 1, HEIGHT + 2, HEIGHT + 3])
  }
  function fromBase(answer: { oldestBlock: string; gasUsedRatio: number[] }): void {
    expect(Number(answer.oldestBlock)).toBe(base)
    expect([HEIGHT, HEAD]).toContain(base + answer.gasUsedRatio.length - 1)
  }
  function rewardsSinceH(answer: { oldestBlock: string; reward: string[][]; gasUsedRatio: number[] }): void {
    expect([Number(answer.oldestBlock), answer.reward.length, answer.gasUsedRatio.length]).toEqual([
      HEIGHT + 1,
      HEAD - HEIGHT,
      HEAD - HEIGHT,
    ])
  }
  function notYet(answer: { error: { code: number; message: string } }): void {
    expect([answer.error.code, answer.error.message]).toEqual([-32000, expect.stringContaining('not found')])
  }

  test.each(rows)('%s', async (_, method, params, atOnce, later) => {
    await check('at once', atOnce, (node) => node.json(method, params()))
    await check('later', later, (node) => node.json(method, params()))
  })

  test('block hashes reach back to the snapshot’s oldest block', async () => {
    expect(base).toBeGreaterThan(1)
    expect(base).toBeLessThan(HEIGHT)
    const { restored } = nodes.get('later')!
    expect(await restored.json('eth_call', blockHashOf(base))).toBe(hashes[base])
  })
})

test('the transactions of the snapshot’s block are shown only if its header proves them', () => {
  const { chain } = nodes.get('at once')!.restored.view
  const header = () => ({ ...chain.header(HEIGHT)! })
  const shown = transactionsWithoutResults(chain, header())
  expect(shown).toEqual(nodes.get('at once')!.whole.view.chain.transactions(HEIGHT))
  const { headHeight } = chain
  const block = chain.consensusBlock(HEIGHT)!
  const withTxs = (txs: readonly Uint8Array[]) =>
    transactionsWithoutResults({ headHeight, consensusBlock: () => ({ ...block, txs }) }, header())
  // A native transaction is in no Ethereum block.
  expect(withTxs([Uint8Array.of(0x0a), ...block.txs])).toEqual(shown)
  // An EVM transaction that could not start.
  expect(withTxs([...block.txs, block.txs[0]!])).toBeUndefined()
  expect(withTxs([])).toBeUndefined()
})

describe('CometBFT', () => {
  /** The path with the hashes that it stands for: `BLOCK_5`, `TX_5`. */
  const withHashes = (path: string): string =>
    path
      .replace(/BLOCK_(\d+)/, (_, at) => bytesToHex(nodes.get('later')!.whole.view.chain.blockId(Number(at))!.hash))
      .replace(/TX_(\d+)/, (_, at) => transactions[Number(at)]!)
  const query = (text: string) => encodeURIComponent(`"${text}"`)
  const rows: readonly (readonly [path: string, atOnce: Expected, later: Expected])[] = [
    ['health', 'same', 'same'],
    ['genesis', 'same', 'same'],
    ['abci_info', 'same', 'same'],
    ['consensus_params', 'same', 'same'],
    [`consensus_params?height=${HEIGHT}`, 'same', 'same'],
    [`consensus_params?height=1`, 'error', 'error'],
    [
      'status',
      fields({ sync_info: { earliest_block_height: `${HEIGHT}`, latest_block_height: `${HEIGHT}` } }),
      fields({ sync_info: { earliest_block_height: `${HEIGHT + 1}`, latest_block_height: `${HEAD}` } }),
    ],
    ['validators', 'same', 'same'],
    // No hash covers priorities, so nobody has told those of the snapshot's block.
    [`validators?height=${HEIGHT}`, unranked, unranked],
    [`validators?height=${HEIGHT - 1}`, 'error', 'error'],
    [`validators?height=${HEIGHT + 1}`, 'same', 'same'],
    ['validators?height=1', 'error', 'error'],
    ['block', 'same', 'same'],
    [`block?height=${HEIGHT}`, 'same', 'error'],
    [`block?height=${HEIGHT - 1}`, 'error', 'error'],
    ['block?height=1', 'error', 'error'],
    [`block_by_hash?hash=BLOCK_${HEAD}`, fields({ block: null }), 'same'],
    ['header', 'same', 'same'],
    [`header?height=${HEIGHT - 1}`, 'same', 'same'],
    ['header?height=1', 'error', 'error'],
    [`header_by_hash?hash=BLOCK_${HEIGHT - 1}`, 'same', 'same'],
    ['commit', 'same', 'same'],
    [`commit?height=${HEIGHT - 1}`, 'same', 'same'],
    [`commit?height=${HEIGHT}`, 'same', 'same'],
    ['commit?height=1', 'error', 'error'],
    ['blockchain', blocksFrom(HEIGHT, HEIGHT), blocksFrom(HEIGHT + 1, HEAD)],
    [`blockchain?minHeight=1&maxHeight=${HEIGHT - 1}`, 'error', 'error'],
    ['block_results', 'error', 'same'],
    [`block_results?height=${HEIGHT}`, 'error', 'error'],
    [`block_results?height=${HEIGHT - 1}`, 'error', 'error'],
    [`block_results?height=${HEIGHT + 1}`, fields({ error: {} }), 'same'],
    [`tx?hash=TX_${HEIGHT}`, unknown, unknown],
    [`tx?hash=TX_${HEIGHT + 1}`, unknown, 'same'],
    [`tx_search?query=${query(`tx.height=${HEIGHT}`)}`, 'error', 'error'],
    [`tx_search?query=${query('tx.height>5')}`, 'error', 'error'],
    [`tx_search?query=${query(`tx.height<${HEIGHT}`)}`, 'error', 'error'],
    [`tx_search?query=${query(`tx.height>${HEIGHT}`)}`, 'same', 'same'],
    [`tx_search?query=${query('transfer.amount EXISTS')}`, found('0'), found(String(2 * (HEAD - HEIGHT)))],
    [`block_search?query=${query(`block.height=${HEIGHT - 1}`)}`, 'error', 'error'],
    [`block_search?query=${query(`block.height>${HEIGHT}`)}`, 'same', 'same'],
    [`block_search?query=${query('block.height>0')}`, found('0'), found(String(HEAD - HEIGHT))],
  ]
  function unranked(answer: { validators: { proposer_priority: string }[] }): void {
    expect(answer.validators.map(({ proposer_priority }) => proposer_priority)).toEqual(['0', '0', '0'])
    const { validators } = nodes.get('at once')!.whole.view.chain.validatorSetAt(HEIGHT)!
    expect(answer.validators).toMatchObject(validators.map(({ power }) => ({ voting_power: String(power) })))
  }
  function blocksFrom(low: number, high: number) {
    return ({ block_metas }: { block_metas: { header: { height: string } }[] }) => {
      const heights = block_metas.map(({ header }) => Number(header.height))
      expect([heights.at(-1), heights[0]]).toEqual([low, high])
    }
  }
  function unknown(answer: { error: { message: string } }): void {
    expect(answer.error.message).toMatch(/^tx \([0-9A-F]{64}\) not found$/)
  }
  function found(count: string) {
    return fields({ total_count: count })
  }

  test.each(rows)('%s', async (path, atOnce, later) => {
    await check('at once', atOnce, (node) => node.comet(withHashes(path)))
    await check('later', later, (node) => node.comet(withHashes(path)))
  })

  test('while it catches up, the newest validators are those whose priorities are known', async () => {
    const { restored } = nodes.get('at once')!
    expect(await restored.comet('status', true)).toMatchObject({ validator_info: { voting_power: '102' } })
    const shown = await restored.comet('validators', true)
    expect(shown).toMatchObject({ block_height: String(HEIGHT + 1), total: '3' })
    expect(shown).toEqual(await restored.comet('validators'))
  })
})

describe('REST', () => {
  const BLOCKS = '/cosmos/base/tendermint/v1beta1/blocks'
  const SETS = '/cosmos/base/tendermint/v1beta1/validatorsets'
  const TXS = '/cosmos/tx/v1beta1/txs'
  test.each<[url: string, atOnce: Expected, later: Expected]>([
    ['/cosmos/base/tendermint/v1beta1/node_info', 'same', 'same'],
    ['/cosmos/bank/v1beta1/supply', 'same', 'same'],
    ['/cosmos/staking/v1beta1/validators', 'same', 'same'],
    [`${BLOCKS}/latest`, 'same', 'same'],
    [`${BLOCKS}/${HEIGHT}`, 'same', 'error'],
    [`${BLOCKS}/${HEIGHT - 1}`, 'error', 'error'],
    [`${BLOCKS}/1`, 'error', 'error'],
    [`${SETS}/latest`, 'same', 'same'],
    [`${SETS}/${HEIGHT + 1}`, 'same', 'same'],
    [`${SETS}/${HEIGHT}`, 'error', 'error'],
    [`${SETS}/1`, 'error', 'error'],
    [`${TXS}/block/${HEIGHT}`, 'error', 'error'],
    [`${TXS}/block/${HEIGHT - 1}`, 'error', 'error'],
    [`${TXS}?query=tx.height=${HEIGHT}`, 'error', 'error'],
    [`${TXS}?query=tx.height>${HEIGHT}`, 'same', 'same'],
  ])('%s', async (url, atOnce, later) => {
    await check('at once', atOnce, (node) => node.rest(url))
    await check('later', later, (node) => node.rest(url))
  })

  test('state of an older block', async () => {
    await check('later', 'same', (node) => node.rest('/cosmos/bank/v1beta1/supply', HEIGHT))
    await check('later', 'error', (node) => node.rest('/cosmos/bank/v1beta1/supply', HEIGHT - 1))
  })
})
