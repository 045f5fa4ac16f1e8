import type { MessagePort } from 'node:worker_threads'
import type { ChainConfig } from '../chain/chainConfig.ts'
import type { LogConfig, RpcLimits } from '../config/config.ts'
import type { Gate } from './gate.ts'
import type { PublishedHeight } from './publishedHeight.ts'

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
  readonly pool: MessagePort
  /** name of the broadcast channel for heads */
  readonly headChannel: string
  readonly publishedHeight: PublishedHeight
}
