import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChainConfig } from '../../../src/chain/genesis/chainConfig.ts'
import { ExecutionTimeout } from '../../../src/evm/engine.ts'
import type { TxPort } from '../../../src/mempool/types.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { monotonicMs } from '../../../src/rpc/jsonrpc/callScope.ts'
import type { ExecutionHost, RpcContext } from '../../../src/rpc/jsonrpc/method.ts'
import type { NodeView } from '../../../src/state/view.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import { TEST_LIMITS } from '../../support/rpc/memoryNode.ts'
import { memoryView } from '../../support/rpc/memoryView.ts'
import { submissionsOf } from '../../support/rpc/withSubmissions.ts'
import { decodeBlocks } from './blockDecoding.ts'
import { chainConfigOf, type GenesisFile } from './genesisFile.ts'
import { collectRequests, importChain } from './importChain.ts'

/** The suite's blocks are this far apart. */
const SECONDS_PER_BLOCK = 10
/** What geth builds towards where it is told nothing else (miner.DefaultConfig), and how fast (params.GasLimitBoundDivisor). */
const DESIRED_GAS_LIMIT = 60_000_000n
const GAS_LIMIT_DIVISOR = 1024n

/** The limits of requests. Roots of 256 simulated blocks take the trie of these tests seconds. */
export const SUITE_LIMITS = { ...TEST_LIMITS, callTimeoutMs: 300_000 }

export interface ImportedNode {
  readonly view: NodeView
  readonly chain: ChainConfig
}

/**
 * Imports the suite's chain.
 * @throws Error when the imported head is not the suite's
 */
export async function importSuite(directory: string): Promise<ImportedNode> {
  const readJson = (name: string): unknown => JSON.parse(readFileSync(join(directory, name), 'utf8'))
  const genesis = readJson('genesis.json') as GenesisFile
  const chain = chainConfigOf(genesis, SECONDS_PER_BLOCK)
  const blocks = decodeBlocks(new Uint8Array(readFileSync(join(directory, 'chain.rlp'))))
  const imported = await importChain(genesis, blocks, chain, productionEngine)
  const view = memoryView(imported.blocks, imported.states)
  const { params } = readJson('headfcu.json') as { params: [{ headBlockHash: string }] }
  if (view.chain.heightOf(hexToBytes(params[0].headBlockHash)) !== view.chain.headHeight) {
    throw new Error('the imported head is not the expected one')
  }
  // The suite's simulated blocks are further apart than its own.
  return { view, chain: { ...chain, blockIntervalMs: 12_000 } }
}

/** What the suite's requests run in, but for whom and in which thread. */
export function suiteContext({ view, chain }: ImportedNode, txs: TxPort): Omit<RpcContext, 'scope' | 'execution'> {
  return {
    ...submissionsOf({ chain, limits: SUITE_LIMITS, txs }),
    view,
    txs,
    chain,
    limits: SUITE_LIMITS,
    clientVersion: 'coind/v0.0.0-test',
    retention: { states: undefined, bodies: undefined },
    peerCount: () => 0,
    syncing: () => undefined,
    nextView: async () => undefined,
    now: () => Date.now(),
    monotonicMs,
  }
}

/** Execution by Ethereum's rules: no native modules, fees to the coinbase, requests at the end of a block. */
export const SUITE_EXECUTION: ExecutionHost = {
  engine: productionEngine,
  precompiles: new Map(),
  hooks: {
    begin: () => undefined,
    end: () => [],
    creditFees: (world, { fees }, { coinbase }) => {
      if (fees.tipAcoin > 0n) world.addBalance(coinbase, fees.tipAcoin)
    },
  },
  ethereumBlocks: {
    gasLimitAfter: (parent) => {
      const step = parent / GAS_LIMIT_DIVISOR - 1n
      if (parent < DESIRED_GAS_LIMIT) return parent + step < DESIRED_GAS_LIMIT ? parent + step : DESIRED_GAS_LIMIT
      return parent - step > DESIRED_GAS_LIMIT ? parent - step : DESIRED_GAS_LIMIT
    },
    end: collectRequests,
  },
  yieldUntil: (deadlineMs) => async () => {
    if (monotonicMs() > deadlineMs) throw new ExecutionTimeout('deadline')
  },
}
