import type { MessagePort } from 'node:worker_threads'
import type { ChainConfig } from '../chain/chainConfig.ts'
import type { LogConfig, RpcLimits } from '../config/config.ts'
import type { Gate } from './gate.ts'
import type { NodeState } from './nodeState.ts'
import type { PublishedHeight } from './publishedHeight.ts'

/** A thread's ends of its channels to the pool thread. */
export interface PoolPorts {
  readonly calls: MessagePort
  readonly admissions: MessagePort
}

/** What view and socket threads are started with alike. */
export interface RpcThreadData {
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
  readonly chain: ChainConfig
  readonly limits: RpcLimits
  readonly clientVersion: string
  readonly log: LogConfig
  /** to the pool thread */
  readonly pool: PoolPorts
  /** name of the broadcast channel for heads */
  readonly headChannel: string
  readonly publishedHeight: PublishedHeight
  readonly nodeState: NodeState
}
