import { exampleGenesis } from '../../../../scripts/exampleGenesis.ts'
import { parseGenesis } from '../../../../src/chain/genesis/genesis.ts'
import { answerCometGet, answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import type { CometMempool, CometNode } from '../../../../src/rpc/comet/env.ts'
import { type CometOptions, createCometMethods } from '../../../../src/rpc/comet/methods.ts'
import { COMET_VIEW_TABLE } from '../../../../src/rpc/comet/results.ts'
import type { AbciQueryOptions } from '../../../../src/rpc/cosmos/abciQuery.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { serveViewCall, type ViewPool } from '../../../../src/rpc/jsonrpc/runMethod.ts'
import type { StateReader } from '../../../../src/state/reader.ts'
import type { NodeView } from '../../../../src/state/view.ts'
import { TEST_CHAIN, TEST_LIMITS } from '../memoryNode.ts'
import { CHAIN_ID, type SignedChain, testKey } from './signedChain.ts'

export const IDENTITY = {
  id: '5d0a3f3b0f8f1b2c3d4e5f60718293a4b5c6d7e8',
  chainId: CHAIN_ID,
  moniker: 'node0',
  version: '0.1.0',
  listenAddress: '192.0.2.1:26656',
  rpcAddress: 'https://rpc.example.org',
  isIndexed: true,
}

export const IDLE_NODE: CometNode = {
  roundState: async () => undefined,
  network: async () => ({ listening: true, listeners: ['0.0.0.0:26656'], peers: [] }),
  addEvidence: () => undefined,
}

const unexpected = () => Promise.reject(new Error('nothing sends transactions here'))

const NO_MEMPOOL: CometMempool = {
  verify: unexpected,
  pool: { add: unexpected, check: unexpected, unconfirmed: unexpected },
  lease: () => {
    throw new Error('nothing waits for a block here')
  },
  onError: () => undefined,
}

const NO_ABCI: AbciQueryOptions = {
  queries: new Map(),
  port: { query: () => Promise.reject(new Error('there are no native queries here')) },
  version: IDENTITY.version,
}

/** View threads on the same blocks. */
export function viewsOn(chain: SignedChain, log: { error(fields: unknown): void }): ViewPool {
  const context = { view: { chain }, limits: TEST_LIMITS } as unknown as RpcContext
  return { call: (_, method, params) => serveViewCall(COMET_VIEW_TABLE, context, { method, params }, log) }
}

/** The methods under /rpc on blocks in memory, and ways to ask them. */
export function createCometTest(chain: SignedChain, options: Partial<CometOptions> = {}) {
  const logged: unknown[] = []
  const log = { error: (fields: unknown) => void logged.push(fields) }
  const table = createCometMethods({
    identity: IDENTITY,
    validator: [{ address: chain.validatorsAt(1)!.validators[0]!.address, publicKey: testKey(0).publicKey }],
    chain: { ...TEST_CHAIN, chainId: CHAIN_ID },
    readGenesis: () => parseGenesis(exampleGenesis()),
    withChain: (read) => read(chain),
    withView: (read) => {
      const stateAt = () => ({ getNative: () => undefined }) as unknown as StateReader
      return read({ chain, stateAt } as unknown as NodeView)
    },
    isCatchingUp: () => false,
    node: IDLE_NODE,
    mempool: NO_MEMPOOL,
    abci: NO_ABCI,
    views: viewsOn(chain, log),
    nowMs: () => 0,
    monotonicMs: () => 0,
    ...options,
  })
  return {
    table,
    logged,
    /** GET /rpc/<path>: the answer's result, or its error */
    get: async (path: string) => {
      const url = new URL(`http://host/${path}`)
      const method = table.get(url.pathname.slice(1))
      if (method === undefined) throw new Error(`no method ${url.pathname}`)
      const { json } = await answerCometGet(method, Object.fromEntries(url.searchParams), OWN_SCOPE, { log })
      const { result, error } = JSON.parse(json)
      return result === undefined ? { error } : result
    },
    post: async (request: unknown, responseBytes = 1_000_000) => {
      const text = typeof request === 'string' ? request : JSON.stringify(request)
      return answerCometPost(table, text, OWN_SCOPE, { log, responseBytes })
    },
  }
}
