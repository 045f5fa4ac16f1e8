import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Api } from '../api/api.ts'
import { ClientLimit } from '../api/clientLimit.ts'
import { createLongBodyLimit } from '../api/longBodies.ts'
import { NodeError } from '../node/nodeClient.ts'
import { createFunctionNames } from '../verify/functionNames.ts'
import { MAX_INPUT_BYTES } from '../verify/standardJson.ts'
import type { Verification } from '../verify/submitSources.ts'
import { ACCOUNT_ACTIONS } from './accounts.ts'
import { type Actions, actionsOf, type EtherscanContext, failed, ok, tooMuch } from './action.ts'
import { BLOCK_ACTIONS } from './blocks.ts'
import { CONTRACT_ACTIONS } from './contracts.ts'
import { LOG_ACTIONS } from './logs.ts'
import { Parameters, RequestError } from './parameters.ts'
import { askProxy, isProxyAction, proxyRefusal } from './proxy.ts'
import { PROXY_CONTRACT_ACTIONS } from './proxyContracts.ts'
import { GAS_ACTIONS, STATS_ACTIONS } from './stats.ts'
import { TOKEN_ACTIONS } from './tokens.ts'
import { TRANSACTION_ACTIONS } from './transactions.ts'
import { VERIFICATION_ACTIONS } from './verification.ts'

/** Bytes of a form: a signed transaction of the longest kind in hexadecimal, and room for the rest. */
const MAX_BODY = 512 * 1024
/** The same for sources to be verified: a form may write each byte of them as three. */
const MAX_LONG_BODY = 3 * MAX_INPUT_BYTES
/** Five requests per second of a client in the long run, as at Etherscan. */
const REQUESTS = { burst: 100, perHour: 18_000 } as const
const ALL_REQUESTS = { burst: 1_000, perHour: 720_000 } as const
/** Requests with a long form. */
const LONG_FORMS = { burst: 30, perHour: 240 } as const
const ALL_LONG_FORMS = { burst: 200, perHour: 4_000 } as const
const LIMIT_TEXT = 'Max rate limit reached'
/** Questions that the node runs code for, at a time: it counts all of them as the explorer's own. */
const MAX_TURNS = 8
const TURN_MS = 5_000

/** Actions without a module: the limits of a key, which do not exist here. */
const LIMIT_ACTIONS = actionsOf({
  getapilimit: async () =>
    ok({ creditsUsed: 0, creditsAvailable: REQUESTS.perHour, creditLimit: REQUESTS.perHour, limitInterval: 'hourly' }),
})

/** Modules and their actions; `proxy` is apart, as its answers have another form. */
const MODULES: ReadonlyMap<string, Actions> = new Map([
  ['account', ACCOUNT_ACTIONS],
  ['contract', new Map([...CONTRACT_ACTIONS, ...VERIFICATION_ACTIONS, ...PROXY_CONTRACT_ACTIONS])],
  ['transaction', TRANSACTION_ACTIONS],
  ['block', BLOCK_ACTIONS],
  ['logs', LOG_ACTIONS],
  ['stats', STATS_ACTIONS],
  ['token', TOKEN_ACTIONS],
  ['gastracker', GAS_ACTIONS],
  ['getapilimit', LIMIT_ACTIONS],
])

/** The API of Etherscan: `/api`, `/v2/api?chainid=` and `/v2/chainlist`, for programs that are made for it. */
export async function addEtherscan(app: FastifyInstance, api: Omit<Api, 'app'> & Verification): Promise<void> {
  const { queries, services, config, node, cache, nodeHeight, verifier, submitSources, clientOf } = api
  const functionNames = createFunctionNames({ services, queries })
  const takeTurn = createTurns()
  const shared = { queries, services, config, node, cache, nodeHeight, verifier, functionNames, takeTurn }
  const limit = new ClientLimit(REQUESTS, ALL_REQUESTS)
  const longBodies = createLongBodyLimit(clientOf, MAX_BODY, (reply) =>
    reply.header('access-control-allow-origin', '*').send(failed(LIMIT_TEXT)),
  )
  const longForms = new ClientLimit(LONG_FORMS, ALL_LONG_FORMS)
  app.removeAllContentTypeParsers()
  // Forms alone, as Etherscan's clients send them.
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  )

  const chainId = async (): Promise<string | undefined> => {
    const own = await queries.selectFrom('ingest').select('evm_chain_id').executeTakeFirst()
    return own === undefined ? undefined : String(own.evm_chain_id)
  }

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    reply.header('access-control-allow-origin', '*')
    const client = clientOf(request)
    if (!limit.take(client, performance.now())) return failed(LIMIT_TEXT)
    let isProxy = false
    try {
      const form = typeof request.body === 'string' ? request.body : ''
      if (form.length > MAX_BODY && !longForms.take(client, performance.now())) return failed(LIMIT_TEXT)
      const parameters = Parameters.of(queryOf(request.url), new URLSearchParams(form))
      isProxy = parameters.text('module')?.toLowerCase() === 'proxy'
      await checkChain(parameters, request.url.startsWith('/v2/'), await chainId())
      return await dispatch(parameters, { ...shared, submitSources: (own) => submitSources(own, request) })
    } catch (error) {
      if (!(error instanceof RequestError) && !(error instanceof NodeError)) throw error
      // The text of a NodeError names the node's address, which clients must not learn.
      const text =
        error instanceof RequestError ? error.message : 'The node does not respond at the moment: try again later'
      return isProxy ? proxyRefusal(text) : failed(text)
    }
  }

  for (const url of ['/api', '/v2/api']) {
    app.route({
      method: ['GET', 'POST'],
      url,
      bodyLimit: MAX_LONG_BODY,
      schema: { hide: true },
      onRequest: longBodies,
      handler: answer,
    })
  }
  app.get('/v2/chainlist', { schema: { hide: true } }, async (request, reply) => {
    reply.header('access-control-allow-origin', '*')
    const own = await chainId()
    const root = `${request.protocol}://${request.host}`
    const chain = {
      chainname: config.chainName,
      chainid: own,
      blockexplorer: root,
      apiurl: `${root}/v2/api?chainid=${own}`,
    }
    const result = own === undefined ? [] : [{ ...chain, status: 1, comment: '' }]
    return { comments: '', totalcount: result.length, result }
  })
}

function queryOf(url: string): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at === -1 ? '' : url.slice(at + 1))
}

async function checkChain(parameters: Parameters, isRequired: boolean, own: string | undefined): Promise<void> {
  const asked = parameters.text('chainid')
  if (asked === undefined && !isRequired) return
  if (asked === undefined || asked !== own) {
    throw new RequestError(
      'Missing or unsupported chainid parameter (required for v2 api), please see /v2/chainlist for the list of supported chainids',
    )
  }
}

function dispatch(parameters: Parameters, context: EtherscanContext): Promise<unknown> {
  const name = parameters.text('module')?.toLowerCase() ?? ''
  const action = parameters.text('action')?.toLowerCase() ?? ''
  if (name === 'proxy' && isProxyAction(action)) return askProxy(action, parameters, context)
  const actions = MODULES.get(name)
  if (actions === undefined && name !== 'proxy') throw new RequestError('Error! Missing Or invalid Module name')
  const run = actions?.get(action)
  if (run === undefined) throw new RequestError('Error! Missing Or invalid Action name')
  return run(parameters, context)
}

/** A turn lasts until the node has answered, also when the client no longer waits: until then the node works. */
function createTurns(): EtherscanContext['takeTurn'] {
  let running = 0
  return async (ask) => {
    if (running >= MAX_TURNS) throw new RequestError(LIMIT_TEXT)
    running++
    const asked = ask().finally(() => {
      running--
    })
    const late = new AbortController()
    const timeout = setTimeout(TURN_MS, undefined, { signal: late.signal }).then(() => {
      throw tooMuch()
    })
    try {
      return await Promise.race([asked, timeout])
    } finally {
      late.abort()
      // The promise that settles second has no waiter.
      for (const second of [asked, timeout]) second.catch(() => undefined)
    }
  }
}
