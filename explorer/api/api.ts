import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, preHandlerAsyncHookHandler, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Kysely } from 'kysely'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { ExplorerConfig } from '../config/config.ts'
import type { IndexedBlocks } from '../database/indexedBlocks.ts'
import type { Tables } from '../database/schema.ts'
import type { ServiceQueries } from '../database/services.ts'
import type { NodeCache } from '../node/nodeCache.ts'
import type { NodeClient } from '../node/nodeClient.ts'
import type { ClientOf } from './clientOf.ts'

/** Parts that routes use. */
export interface Api {
  readonly app: FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>
  readonly queries: Kysely<Tables>
  /** the tables next to the index: database/services.ts */
  readonly services: ServiceQueries
  readonly config: Pick<ExplorerConfig, 'chainName' | 'coinSymbol'>
  /** for what the index lacks: only fixed questions, and through the cache */
  readonly node: NodeClient
  readonly cache: NodeCache
  readonly clientOf: ClientOf
  /** runs before handlers that ask the node about something that a client names */
  readonly limitNodeQuestions: preHandlerAsyncHookHandler
  readonly logger: Pick<Logger, 'warn'>
  /** of the account that pays the faucet's grants; undefined: there is no faucet */
  readonly faucetAddress: Uint8Array | undefined
  /** newest block of the node; null: not known yet */
  readonly nodeHeight: () => number | null
  /** RPC address that browsers and wallets get; undefined: not configured, or not known yet */
  readonly publicRpcUrl: () => string | undefined
  /** Calls `listener` after each batch of blocks that is in the index. Returns a function that ends this. */
  readonly onIndexed: (listener: (indexed: IndexedBlocks) => void) => () => void
}
