import type { Admission, TxPort } from '../../../../src/mempool/types.ts'
import type { Json } from '../../../../src/primitives/protoScalars.ts'
import { answerNativeCall } from '../../../../src/rpc/cosmos/nativeCall.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import type { NativePort } from '../../../../src/rpc/cosmos/queryPort.ts'
import { answerRest, createRestRouter } from '../../../../src/rpc/cosmos/rest/routes.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { createViewCaches, type NodeView, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createTestChain, GENESIS_TIME_MS, type TestChain, type TestChainOptions } from '../../execution/testChain.ts'
import { chainContext } from '../chainContext.ts'
import { IDENTITY } from '../comet/cometNode.ts'

/** The node's clock, which stands still: two simulations of one test are in blocks of the same time. */
const NOW_MS = GENESIS_TIME_MS + 3_600_000

interface RestAnswerOf {
  readonly status: number
  readonly json: Json
  readonly height: number | undefined
}

/** A chain in a database whose blocks a test makes, and its native queries as a view thread answers them. */
export interface NativeNode {
  readonly chain: TestChain
  readonly port: NativePort
  /** what was logged: faults of the node */
  readonly logged: unknown[]
  /** how often queries let others run */
  pauses(): number
  /** transactions that clients gave to the pool, and what it says of the next ones */
  readonly pool: { readonly submitted: Uint8Array[]; answer: Admission | undefined }
  get(url: string, options?: { readonly height?: number | string }): Promise<RestAnswerOf>
  post(url: string, body: unknown): Promise<RestAnswerOf>
  /** Runs `read` on the newest blocks. */
  read<T>(read: (view: NodeView) => T | Promise<T>): Promise<T>
  close(): Promise<void>
}

export async function createNativeNode(options: TestChainOptions = {}): Promise<NativeNode> {
  const chain = await createTestChain({}, options)
  const database = await Database.open(chain.location, { readOnly: true })
  const caches = createViewCaches()
  const logged: unknown[] = []
  const log = { error: (fields: unknown) => void logged.push(fields) }
  const pool: { submitted: Uint8Array[]; answer: Admission | undefined } = { submitted: [], answer: undefined }
  const router = createRestRouter(QUERIES)
  const node = { identity: { ...IDENTITY, chainId: chain.chain.chainId }, pruningWindow: 0 }

  const read = async <T>(use: (view: NodeView) => T | Promise<T>): Promise<T> => {
    const snapshot = database.snapshot()
    try {
      return await use(openView(snapshot, caches))
    } finally {
      await snapshot.close()
    }
  }
  let pauses = 0
  const onPause = (): void => void pauses++
  const port: NativePort = {
    query: (_, call) =>
      read((view) =>
        answerNativeCall(
          { queries: QUERIES, node, log },
          chainContext(chain, view, { txs: poolPort(pool), now: () => NOW_MS }, onPause),
          call,
        ),
      ),
  }
  const ask = async (request: Omit<Parameters<typeof answerRest>[1], 'scope'>): Promise<RestAnswerOf> => {
    const { status, json, height } = await answerRest({ router, port }, { ...request, scope: OWN_SCOPE })
    return { status, json: JSON.parse(json) as Json, height }
  }
  return {
    chain,
    port,
    logged,
    pauses: () => pauses,
    pool,
    get: (url, { height } = {}) => ask({ method: 'GET', url, height: height?.toString(), body: '' }),
    post: (url, body) =>
      ask({
        method: 'POST',
        url,
        height: undefined,
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    read,
    close: async () => {
      await database.close()
      await chain.close()
    },
  }
}

/** Takes transactions without looking at them, or refuses them as the test says. */
function poolPort(pool: { submitted: Uint8Array[]; answer: Admission | undefined }): TxPort {
  const unexpected = () => Promise.reject(new Error('queries do not ask the pool that'))
  return {
    add: async ({ raw, hash }) => {
      pool.submitted.push(raw)
      return pool.answer ?? { accepted: true, hash }
    },
    get: unexpected,
    pendingNonce: unexpected,
    status: unexpected,
    content: unexpected,
  }
}
