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
import { addAddresses } from '../accounts/routes.ts'
import type { Api } from '../api/api.ts'
import { createNodeLimit } from '../api/clientLimit.ts'
import { createClientOf } from '../api/clientOf.ts'
import { addBlocks } from '../blocks/routes.ts'
import type { ExplorerConfig } from '../config/config.ts'
import { addEvm } from '../contracts/callRoutes.ts'
import { addContracts } from '../contracts/routes.ts'
import { isDatabaseAway } from '../database/databaseAway.ts'
import type { IndexedBlocks } from '../database/indexedBlocks.ts'
import { addEtherscan } from '../etherscan/etherscan.ts'
import { addFaucet } from '../faucet/routes.ts'
import { addParameters } from '../governance/parameters.ts'
import { addGovernance } from '../governance/routes.ts'
import { addHeartbeats } from '../network/reportRoute.ts'
import { addNodes } from '../network/routes.ts'
import { createNodeCache } from '../node/nodeCache.ts'
import { NodeError } from '../node/nodeClient.ts'
import { createPublicRpcUrl } from '../node/publicRpcUrl.ts'
import { addStake } from '../stake/accountRoutes.ts'
import { addValidators } from '../stake/validatorRoutes.ts'
import { addStatistics } from '../statistics/routes.ts'
import { addTokens } from '../tokens/routes.ts'
import { addMempool } from '../transactions/mempool.ts'
import { addTransactions } from '../transactions/routes.ts'
import { addSources } from '../verify/routes.ts'
import { addSourcify } from '../verify/sourcify/sourcify.ts'
import { createSubmitSources, type Verification } from '../verify/submitSources.ts'
import { addLive } from './live.ts'
import { addPages } from './pages.ts'
import { addSearch } from './search.ts'
import { addStatus } from './status.ts'

interface ServerOptions
  extends Pick<Api, 'queries' | 'services' | 'node' | 'faucetAddress'>,
    Pick<Verification, 'verifier'> {
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
    // Its text names the node's address, which clients must not learn.
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
        addStatus,
        addSearch,
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
