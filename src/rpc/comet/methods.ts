import type { ChainConfig } from '../../chain/chainConfig.ts'
import type { Genesis } from '../../chain/genesisSchema.ts'
import { createBlockMethods } from './blocks.ts'
import { createBroadcastEvidenceMethod } from './broadcastEvidence.ts'
import type { WithChain } from './chain.ts'
import { createConsensusParamsMethod } from './consensusParams.ts'
import { createConsensusStateMethods } from './consensusState.ts'
import { createGenesisMethods } from './genesis.ts'
import { createNetInfoMethod } from './netInfo.ts'
import type { CometNode } from './nodePort.ts'
import { createStatusMethod, healthMethod, type NodeIdentity, type OwnValidator } from './status.ts'
import { type CometTable, createCometTable } from './table.ts'
import { createValidatorsMethod } from './validators.ts'

export interface CometOptions {
  readonly identity: NodeIdentity
  readonly validator: OwnValidator
  readonly chain: Pick<ChainConfig, 'chainId' | 'maxBlockBytes' | 'blockGasLimit' | 'evidence'>
  /** called once */
  readonly readGenesis: () => Genesis
  readonly withChain: WithChain
  readonly isCatchingUp: () => boolean
  readonly node: CometNode
  /** wall clock */
  readonly nowMs: () => number
}

/** The methods under /rpc. */
export function createCometMethods(options: CometOptions): CometTable {
  const { chain, readGenesis, withChain, isCatchingUp, node, nowMs } = options
  return createCometTable([
    createStatusMethod(options),
    healthMethod,
    createNetInfoMethod(node, nowMs),
    ...createGenesisMethods(readGenesis),
    ...createBlockMethods(withChain),
    createValidatorsMethod(withChain, isCatchingUp),
    createConsensusParamsMethod(chain, withChain, isCatchingUp),
    ...createConsensusStateMethods(node, nowMs),
    createBroadcastEvidenceMethod(chain.chainId, withChain, node),
  ])
}
