import type { ChainConfig } from '../../chain/chainConfig.ts'
import type { Genesis } from '../../chain/genesisSchema.ts'
import type { AbciQueryOptions } from '../native/abciQuery.ts'
import type { ViewPool } from '../viewCall.ts'
import { createAbciMethods } from './abci.ts'
import { createBlockMethods } from './blocks.ts'
import { createBroadcastEvidenceMethod } from './broadcastEvidence.ts'
import { createBroadcastTxMethods } from './broadcastTx.ts'
import type { WithChain } from './chain.ts'
import { createCheckTxMethod } from './checkTx.ts'
import { createConsensusParamsMethod, type WithView } from './consensusParams.ts'
import { createConsensusStateMethods } from './consensusState.ts'
import { createGenesisMethods } from './genesis.ts'
import { createIndexedMethods } from './indexed.ts'
import type { ConsensusParamsConfig } from './json/consensusParamsJson.ts'
import type { CometMempool } from './mempool.ts'
import { createNetInfoMethod } from './netInfo.ts'
import type { CometNode } from './nodePort.ts'
import { createStatusMethod, healthMethod, type NodeIdentity, type OwnValidator } from './status.ts'
import { type CometTable, createCometTable } from './table.ts'
import { createUnconfirmedTxsMethods } from './unconfirmedTxs.ts'
import { createValidatorsMethod } from './validators.ts'

export interface CometOptions {
  readonly identity: NodeIdentity
  readonly validator: OwnValidator
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
}

/** The methods under /rpc. */
export function createCometMethods(options: CometOptions): CometTable {
  const { chain, readGenesis, withChain, withView, isCatchingUp, node, mempool, abci, views, nowMs } = options
  return createCometTable([
    createStatusMethod(options),
    healthMethod,
    createNetInfoMethod(node, nowMs),
    ...createGenesisMethods(readGenesis),
    ...createBlockMethods(withChain),
    createValidatorsMethod(withChain, isCatchingUp),
    createConsensusParamsMethod(chain, withView, isCatchingUp),
    ...createConsensusStateMethods(node, withChain, nowMs),
    ...createBroadcastTxMethods(mempool),
    createCheckTxMethod(mempool),
    ...createUnconfirmedTxsMethods(mempool),
    createBroadcastEvidenceMethod(chain.chainId, withChain, node),
    ...createAbciMethods(abci, withChain),
    ...createIndexedMethods(views),
  ])
}
