import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { completeHashFiles } from '../../../../src/chain/indexes/makeHashFiles.ts'
import { listNextSegment, makeNextSegment, moveBlocks, readMoved } from '../../../../src/chain/segments/moveBlocks.ts'
import { SEGMENT_BLOCKS } from '../../../../src/chain/segments/segments.ts'
import { type BlockCache, createBlockCache } from '../../../../src/chain/store/blockCache.ts'
import { openChainReader } from '../../../../src/chain/store/chainReader.ts'
import { createViewPool } from '../../../../src/node/roles/socket/viewPool.ts'
import { createViewTasks } from '../../../../src/node/roles/view/viewTasks.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { createConsensusParamsMethod } from '../../../../src/rpc/comet/consensus.ts'
import { COMET_VIEW_TABLE } from '../../../../src/rpc/comet/results.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { RawJson, type RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { METHODS } from '../../../../src/rpc/jsonrpc/methodTable.ts'
import { textOf } from '../../../../src/rpc/jsonrpc/resultText.ts'
import { serveViewCall, type ViewPool } from '../../../../src/rpc/jsonrpc/runMethod.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createViewMetrics } from '../../../../src/telemetry/metrics.ts'
import { writeOldChain } from '../../../support/chain/segments/oldChain.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread } from '../../../support/rpc/rpcTestServer.ts'

/** Blocks of a segment, and those after it in LevelDB. Every tenth has transactions. */
const BASE = SEGMENT_BLOCKS - 96
const HEAD = SEGMENT_BLOCKS + 40
const [OLD, MOVED] = [SEGMENT_BLOCKS + 8, SEGMENT_BLOCKS - 12]
const RULES = { unpackedBlocks: 10, dropsBodies: false }

let directory: string
let database: Database
let node: MemoryNode

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-newest-'))
  database = await Database.open(join(directory, 'db'))
  await writeOldChain(database, { base: BASE, head: HEAD })
  await makeNextSegment(database, RULES, async () => undefined)
  while (readMoved(database) < SEGMENT_BLOCKS) {
    const batch = new WriteBatch()
    listNextSegment(database, batch, HEAD, RULES)
    moveBlocks(database, batch, 10_000)
    await database.write(batch, { sync: false })
    await completeHashFiles(database, async () => undefined)
  }
  node = await createMemoryNode()
})
afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

/** A thread's view of the blocks. */
function contextOn(cache: BlockCache, overrides: Partial<RpcContext> = {}): RpcContext {
  const context = node.context(overrides)
  return { ...context, view: { ...context.view, chain: openChainReader(database, cache) } }
}

/** A socket thread and two view threads, and how many frames of segments each has decoded. */
function threads() {
  const caches = { socket: createBlockCache(), first: createBlockCache(), second: createBlockCache() }
  const queues: string[] = []
  const viewThread = (cache: BlockCache) => {
    const metrics = createViewMetrics(new Registry())
    const lease = () => ({ context: contextOn(cache), release: () => undefined })
    const tasks = createViewTasks({
      lease,
      heavyCalls: { all: 8, client: 6, traces: 2 },
      monotonicMs: () => 0,
      metrics,
    })
    return {
      call: async (
        ...[queue, method, params, due, signal]: Parameters<Parameters<typeof createViewPool>[0][0]['call']>
      ) => {
        queues.push(queue)
        const table = new Map([...METHODS, ...COMET_VIEW_TABLE])
        const call = { method, params }
        try {
          return await tasks.run(queue, { ...due, signal }, params, (context) =>
            serveViewCall(table, context, call, { error: (error) => expect.unreachable(String(error)) }),
          )
        } catch (error) {
          // As between threads: it loses its class.
          const { name, message, ...fields } = error as Error
          throw Object.assign(new Error(message), fields, { name })
        }
      },
      query: () => Promise.reject(new Error('no queries')),
    }
  }
  const views: ViewPool = createViewPool(
    [viewThread(caches.first), viewThread(caches.second)],
    () => openChainReader(database).packedBelow,
  )
  const socket = createTestThread(
    { ...node, context: (overrides) => contextOn(caches.socket, overrides) },
    { views, requestTimeoutMs: 1e9 },
  )
  const frames = () => Object.values(caches).map(({ segments }) => segments.frames.size)
  const ask = (method: string, ...params: unknown[]) => socket.ask({ jsonrpc: '2.0', id: 1, method, params })
  return { ask, frames, queues, views, caches }
}

/** Requests that read a block, by its number, its hash and those of its transactions. */
function requestsFor(height: number): readonly (readonly [method: string, ...params: unknown[]])[] {
  const chain = openChainReader(database)
  const [number, block] = [`0x${height.toString(16)}`, bytesToHex(chain.hash(height)!)]
  const [included] = chain.transactions(height)!
  const transaction = bytesToHex(included!.transaction.hash)
  return [
    ['eth_getHeaderByNumber', number],
    ['eth_getHeaderByHash', block],
    ['eth_getBlockByNumber', number, true],
    ['eth_getBlockByHash', block, false],
    ['eth_getBlockTransactionCountByHash', block],
    ['eth_getTransactionByHash', transaction],
    ['eth_getTransactionReceipt', transaction],
    ['eth_getBlockReceipts', number],
    ['debug_getRawHeader', number],
    ['debug_getRawTransaction', transaction],
  ]
}

test('a block in a segment is decoded in a view thread, where clients take turns, whoever asks for what of it', async () => {
  for (const request of requestsFor(MOVED)) {
    const { ask, frames, queues } = threads()
    expect(await ask(...request), request[0]).toMatchObject({ result: expect.anything() })
    expect(frames(), request[0]).toEqual([0, 0, 1])
    expect(queues.at(-1), request[0]).toBe('heavy')
  }
})

test('an old block in LevelDB takes no turn of those', async () => {
  const { ask, frames, queues } = threads()
  for (const request of requestsFor(OLD)) {
    expect(await ask(...request), request[0]).toMatchObject({ result: expect.anything() })
  }
  expect(frames()).toEqual([0, 0, 0])
  expect(queues).not.toContain('heavy')
})

test('consensus_params of a block in a segment are read in a view thread', async () => {
  const { frames, views, caches, queues } = threads()
  const withView = <T>(read: (view: RpcContext['view']) => T): T => read(contextOn(caches.socket).view)
  const method = createConsensusParamsMethod(node.chain, withView, () => false, views)
  for (const height of [OLD, MOVED]) {
    const answer = await method.run([BigInt(height)], { ...OWN_SCOPE, deadlineMs: 1e9 })
    const json = answer instanceof RawJson ? JSON.parse(textOf(answer.text)) : answer
    expect(json).toMatchObject({ block_height: String(height), consensus_params: { block: { max_gas: '30000000' } } })
  }
  expect(frames()).toEqual([0, 0, 1])
  expect(queues).toEqual(['heavy'])
})
