import swagger from '@fastify/swagger'
import fastify from 'fastify'
import {
  hasZodFastifySchemaValidationErrors,
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod'
import { VERSION } from '../../src/config/version.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { ExplorerConfig } from '../config/config.ts'
import { isDatabaseAway } from '../database/databaseAway.ts'
import type { IndexedBlocks } from '../ingest/ingest.ts'
import { createNodeCache } from '../node/nodeCache.ts'
import { NodeError } from '../node/nodeClient.ts'
import { createPublicRpcUrl } from '../node/publicRpcUrl.ts'
import type { Api } from './api.ts'
import { createNodeLimit } from './clientLimit.ts'
import { createClientOf } from './clientOf.ts'
import { addEtherscan } from './etherscan/etherscan.ts'
import { addPages } from './pages.ts'
import { addAddresses } from './routes/addresses.ts'
import { addBlocks } from './routes/blocks.ts'
import { addContracts } from './routes/contracts.ts'
import { addEvm } from './routes/evm.ts'
import { addFaucet } from './routes/faucet.ts'
import { addGovernance } from './routes/governance.ts'
import { addHeartbeats } from './routes/heartbeats.ts'
import { addLive } from './routes/live.ts'
import { addMempool } from './routes/mempool.ts'
import { addNetwork } from './routes/network.ts'
import { addNodes } from './routes/nodes.ts'
import { addParameters } from './routes/parameters.ts'
import { addSources } from './routes/sources.ts'
import { addStake } from './routes/stake.ts'
import { addStatistics } from './routes/statistics.ts'
import { addTokens } from './routes/tokens.ts'
import { addTransactions } from './routes/transactions.ts'
import { addValidators } from './routes/validators.ts'
import { addSourcify } from './sourcify/sourcify.ts'
import { createSubmitSources } from './submitSources.ts'

interface ServerOptions extends Pick<Api, 'queries' | 'services' | 'node' | 'verifier' | 'faucetAddress'> {
  readonly config: Api['config'] & Pick<ExplorerConfig, 'publicRpcUrl' | 'trustedProxies'>
  /** called with each batch of blocks that is in the index */
  readonly listeners: Set<(indexed: IndexedBlocks) => void>
  readonly logger: Pick<Logger, 'error' | 'warn'>
}

/** Longest request body, in bytes. */
const MAX_BODY = 64 * 1024
/** How long a client may take to send a request. */
const REQUEST_MS = 60_000
const PREFIX = '/api/v1'

/** The HTTP server of an explorer: its API below /api/v1 with an OpenAPI document, not listening yet. */
export async function createServer(options: ServerOptions) {
  const { queries, services, config, node, verifier, faucetAddress, listeners, logger } = options
  const app = fastify({
    bodyLimit: MAX_BODY,
    requestTimeout: REQUEST_MS,
    routerOptions: { maxParamLength: 200 },
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, _request, reply) => {
    if (hasZodFastifySchemaValidationErrors(error)) {
      return reply.code(400).send({
        error: error.validation.map(({ instancePath, message }) => `${instancePath.slice(1)}: ${message}`).join('; '),
      })
    }
    // Its text names the node's address, which is nobody's business.
    if (error instanceof NodeError) {
      return reply.code(503).send({ error: 'the node does not respond at the moment: try again later' })
    }
    const { statusCode: code = 500, message } = error
    if (code < 500) return reply.code(code).send({ error: message })
    if (isDatabaseAway(error)) {
      logger.warn({ reason: message }, 'the database does not respond')
      return reply.code(503).send({ error: 'the database does not respond at the moment: try again later' })
    }
    logger.error({ error }, 'a request failed')
    return reply.code(code).send({ error: 'internal error of the explorer: try again later' })
  })
  // For health checks: 200 while answers come from the database.
  app.get('/health', async () => {
    const own = await queries.selectFrom('ingest').select('height').executeTakeFirst()
    return { healthy: true, height: own?.height ?? null }
  })
  const publicRpcUrl = createPublicRpcUrl(config.publicRpcUrl, node)
  await addPages(app, ['/api', '/v2/'], publicRpcUrl)
  await app.register(swagger, {
    openapi: {
      info: {
        title: 'coind explorer',
        version: VERSION,
        description: 'Index of a chain: blocks, EVM and native transactions, accounts.',
      },
    },
    transform: jsonSchemaTransform,
  })
  const clientOf = createClientOf(config, logger)
  let newest: number | null = null
  listeners.add(({ nodeHeight }) => {
    newest = nodeHeight
  })
  const parts = {
    queries,
    services,
    config,
    node,
    faucetAddress,
    cache: createNodeCache(),
    verifier,
    submitSources: createSubmitSources(verifier, clientOf),
    clientOf,
    limitNodeQuestions: createNodeLimit(clientOf),
    logger,
    nodeHeight: () => newest,
    publicRpcUrl,
    onIndexed: (listener: (indexed: IndexedBlocks) => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  await app.register(
    async (own) => {
      const routes = own.withTypeProvider<ZodTypeProvider>()
      for (const add of [
        addNetwork,
        addBlocks,
        addTransactions,
        addAddresses,
        addTokens,
        addEvm,
        addContracts,
        addSources,
        addNodes,
        addGovernance,
        addValidators,
        addStake,
        addMempool,
        addParameters,
        addStatistics,
        addFaucet,
        addLive,
      ])
        add(routes, parts)
      own.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
    },
    { prefix: PREFIX },
  )
  await app.register(async (own) => addHeartbeats(own, parts), { prefix: '/api/network' })
  await app.register(async (own) => addEtherscan(own, parts))
  await app.register(async (own) => addSourcify(own, parts))
  return app
}
