import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import type { ValidatorIdentity } from '../../consensus/validatorKeys.ts'
import type { AbciQueryOptions } from '../cosmos/abciQuery.ts'
import type { ViewPool } from '../jsonrpc/runMethod.ts'
import { createAbciMethods } from './abci.ts'
import { createBlockMethods } from './blocks.ts'
import {
  createConsensusParamsMethod,
  createConsensusStateMethods,
  createValidatorsMethod,
  type WithView,
} from './consensus.ts'
import type { CometMempool, CometNode, WithChain } from './env.ts'
import { createBroadcastEvidenceMethod } from './evidence.ts'
import type { ConsensusParamsConfig } from './json/consensusParams.ts'
import { createBroadcastTxMethods, createCheckTxMethod, createUnconfirmedTxsMethods } from './mempool.ts'
import { type CometTable, createCometTable } from './method.ts'
import { createGenesisMethods, createNetInfoMethod } from './net.ts'
import { createResultMethods } from './results.ts'
import { createStatusMethod, healthMethod, type NodeIdentity } from './status.ts'

export interface CometOptions {
  readonly identity: NodeIdentity
  readonly validator: readonly ValidatorIdentity[]
  readonly chain: Pick<ChainConfig, 'chainId'> & ConsensusParamsConfig
  /** called once */
  readonly readGenesis: () => Genesis
  readonly withChain: WithChain
  readonly withView: WithView
  readonly isCatchingUp: () => boolean
  readonly node: CometNode
  readonly mempool: CometMempool
  readonly abci: AbciQueryOptions
  readonly views: ViewPool
  /** wall clock */
  readonly nowMs: () => number
  readonly monotonicMs: () => number
}

/** The methods under /rpc. */
export function createCometMethods(options: CometOptions): CometTable {
  const { chain, readGenesis, withChain, withView, isCatchingUp, node, mempool, abci, views, nowMs, monotonicMs } =
    options
  return createCometTable([
    createStatusMethod(options),
    healthMethod,
    createNetInfoMethod(node, nowMs),
    ...createGenesisMethods(readGenesis),
    ...createBlockMethods(withChain, views),
    createValidatorsMethod(withChain, isCatchingUp),
    createConsensusParamsMethod(chain, withView, isCatchingUp, views),
    ...createConsensusStateMethods(node, withChain),
    ...createBroadcastTxMethods(mempool),
    createCheckTxMethod(mempool),
    ...createUnconfirmedTxsMethods(mempool),
    createBroadcastEvidenceMethod(views, node, monotonicMs),
    ...createAbciMethods(abci, withChain),
    ...createResultMethods(withChain, views),
  ])
}
