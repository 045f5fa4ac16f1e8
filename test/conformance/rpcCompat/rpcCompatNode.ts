import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ExecutionTimeout } from '../../../src/evm/engine.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { OWN_SCOPE } from '../../../src/rpc/callScope.ts'
import { toRpcError } from '../../../src/rpc/errors.ts'
import { type MethodTable, type RpcContext, readArguments, resultText } from '../../../src/rpc/method.ts'
import { productionEngine } from '../../unit/evm/productionEngine.ts'
import { TEST_LIMITS } from '../../unit/rpc/memoryNode.ts'
import { createMemoryPool } from '../../unit/rpc/memoryPool.ts'
import { memoryView } from '../../unit/rpc/memoryView.ts'
import { decodeBlocks } from './blockDecoding.ts'
import type { Exchange, Reply } from './exchanges.ts'
import { chainConfigOf, type GenesisFile } from './genesisFile.ts'
import { collectRequests, importChain } from './importChain.ts'

/** The suite's blocks are this far apart. */
const SECONDS_PER_BLOCK = 10

/**
 * Imports the suite's chain and gives the context that its requests run in.
 * @throws Error when the imported head is not the suite's
 */
export async function openRpcCompatNode(directory: string): Promise<RpcContext> {
  const readJson = (name: string): unknown => JSON.parse(readFileSync(join(directory, name), 'utf8'))
  const genesis = readJson('genesis.json') as GenesisFile
  const chain = chainConfigOf(genesis, SECONDS_PER_BLOCK)
  const engine = productionEngine
  const blocks = decodeBlocks(new Uint8Array(readFileSync(join(directory, 'chain.rlp'))))
  const imported = await importChain(genesis, blocks, chain, engine)
  const view = memoryView(imported.blocks, imported.states)
  const { params } = readJson('headfcu.json') as { params: [{ headBlockHash: string }] }
  if (view.chain.heightOf(hexToBytes(params[0].headBlockHash)) !== view.chain.headHeight) {
    throw new Error('the imported head is not the expected one')
  }
  return {
    view,
    txs: createMemoryPool(),
    // The suite's simulated blocks are further apart than its own.
    chain: { ...chain, blockIntervalMs: 12_000 },
    // The roots of 256 simulated blocks take the other trie of these tests seconds.
    limits: { ...TEST_LIMITS, callTimeoutMs: 300_000 },
    scope: OWN_SCOPE,
    clientVersion: 'coind/v0.0.0-test',
    retention: { states: undefined, bodies: undefined },
    peerCount: () => 0,
    syncing: () => undefined,
    nextView: async () => undefined,
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    execution: {
      engine,
      precompiles: new Map(),
      hooks: { begin: () => undefined, end: () => [] },
      blockRules: {
        creditFees: (world, { fees }, { coinbase }) => {
          if (fees.tipAcoin > 0n) world.addBalance(coinbase, fees.tipAcoin)
        },
        end: collectRequests,
      },
      yieldUntil: (deadlineMs) => async () => {
        if (performance.now() > deadlineMs) throw new ExecutionTimeout('deadline')
      },
    },
  }
}

/** Answers a request; the reply has gone through JSON. */
export async function answer(
  methods: MethodTable,
  context: RpcContext,
  { method: name, params = [] }: Exchange['request'],
): Promise<Reply> {
  const method = methods.get(name)
  if (method === undefined) return { error: { code: -32601 } }
  try {
    const result: unknown = await method.run(context, readArguments(method, params))
    return { result: JSON.parse(resultText(result)) }
  } catch (error) {
    const unexpected = {
      error: ({ error: cause }: Readonly<Record<string, unknown>>): void => {
        throw cause
      },
    }
    const { code, message, data } = toRpcError(error, unexpected, {})
    return JSON.parse(JSON.stringify({ error: { code, message, data } }))
  }
}
