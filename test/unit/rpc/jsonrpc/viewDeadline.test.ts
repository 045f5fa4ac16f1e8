import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../../../src/evm/engine.ts'
import { traceBlockByNumber } from '../../../../src/rpc/debug/traces.ts'
import { call } from '../../../../src/rpc/eth/call.ts'
import { estimateGas } from '../../../../src/rpc/eth/estimateGas.ts'
import type { RpcContext, RpcMethod } from '../../../../src/rpc/jsonrpc/method.ts'
import { ABIS, ADDRESSES } from '../../../support/precompiles/nativeChain.ts'
import { chainContext } from '../../../support/rpc/chainContext.ts'
import { createNativeNode, type NativeNode } from '../../../support/rpc/cosmos/nativeNode.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { createTestEngine } from '../../../testEngines.ts'

const GET_PARAMS = encodeFunctionData({ abi: ABIS.gov, functionName: 'getParams' })
const FORWARDER: Hex = '0x00000000000000000000000000000000000f0f0f'
/** Calls the precompile with its calldata, and ends well whatever comes of it. */
const FORWARD: Hex = '0x363d3d373d3d363d6108055afa5000'

let node: NativeNode
const engines = new Map<string, Engine>()
beforeAll(async () => {
  for (const name of ['wasm', 'reference']) engines.set(name, await createTestEngine(name))
  node = await createNativeNode()
})
afterAll(async () => {
  await node.close()
})

/** A clock that stands still until it is looked at so often. */
function clockUntil(looks: number): () => number {
  let looked = 0
  return () => (looked++ < looks ? 0 : TEST_LIMITS.callTimeoutMs + 1)
}

/** Runs with engine pauses that have no deadline: what ends is ended by the precompile's work. */
function withContext<T>(
  engine: string,
  monotonicMs: () => number,
  use: (context: RpcContext) => Promise<T>,
  of: NativeNode = node,
): Promise<T> {
  return of.read(async (view) => {
    const context = chainContext(of.chain, view)
    const execution = {
      ...context.execution!,
      engine: engines.get(engine)!,
      yieldUntil: () => async () => undefined,
    }
    return use({ ...context, monotonicMs, execution })
  })
}

describe.each(['wasm', 'reference'])('a precompile that works for too long, in the engine %s', (engine) => {
  const direct = [{ to: ADDRESSES.gov, data: GET_PARAMS }]
  const wrapped = [{ to: FORWARDER, data: GET_PARAMS }, 'latest', { [FORWARDER]: { code: FORWARD } }]

  test.each<[string, RpcMethod, readonly unknown[]]>([
    ['called itself', call, direct],
    ['called by code that hides failures', call, wrapped],
    ['in an estimate', estimateGas, wrapped],
  ])('ends at the deadline: %s', async (_, method, params) => {
    const inTime = await withContext(
      engine,
      () => 0,
      (context) => invoke(method, context, ...params),
    )
    expect(inTime).toMatch(/^0x/)
    const late = await withContext(engine, clockUntil(2), (context) => invokeError(method, context, ...params))
    expect(late).toEqual({ code: -32000, message: 'execution aborted (timeout = 5s)' })
    // The engine is as good as before, and what does no such work has the engine's own deadline.
    expect(
      await withContext(
        engine,
        () => 0,
        (context) => invoke(method, context, ...params),
      ),
    ).toEqual(inTime)
    const plain = [{ to: FORWARDER, data: '0x' }]
    expect(await withContext(engine, clockUntil(2), (context) => invoke(method, context, ...plain))).toMatch(/^0x/)
  })
})

test('a block that is executed again ends at the deadline in its native modules, before its first transaction', async () => {
  const own = await createNativeNode()
  await own.chain.produce()
  const trace = (monotonicMs: () => number, run: typeof invoke | typeof invokeError) =>
    withContext('wasm', monotonicMs, (context) => run(traceBlockByNumber, context, '0x1'), own)
  expect(await trace(() => 0, invoke)).toEqual([])
  expect(await trace(clockUntil(2), invokeError)).toEqual({ code: -32000, message: 'execution timeout' })
  await own.close()
})

test('a native query ends at the deadline of its request', async () => {
  const answer = await node.read(async (view) => {
    const { answerNativeCall } = await import('../../../../src/rpc/cosmos/nativeCall.ts')
    const { QUERIES } = await import('../../../../src/rpc/cosmos/queries.ts')
    const context = { ...chainContext(node.chain, view), monotonicMs: clockUntil(1) }
    const logged: unknown[] = []
    const log = { error: (fields: unknown) => void logged.push(fields) }
    const found = await answerNativeCall({ queries: QUERIES, node: {} as never, log }, context, {
      path: '/cosmos.gov.v1.Query/Params',
      request: { json: '{}' },
      height: 0,
    })
    expect(logged).toEqual([])
    return found
  })
  expect(answer).toMatchObject({ kind: 'error', code: 4, message: 'the query takes too long' })
})
