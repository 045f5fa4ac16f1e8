import { z } from 'zod'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { numberPageOf, placePageQuery, problem, textPageOf } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { NodeError } from '../node/nodeClient.ts'
import { TX_KINDS } from '../transactions/tables.ts'
import { callsOf, findPosition, listInternalCalls, listLogs, logsOf } from './queries.ts'
import { callPage, internalCall, log, orderedPage, stateChanges, topic, tracedPageOf } from './shapes.ts'
import { fetchStateChanges } from './stateChanges.ts'

/** A block is final, so a cached answer stays right. The node may delete the state of an old block meanwhile. */
const MAX_AGE_MS = 60_000
/** Most transactions that the node re-executes for readers at once: other requests wait meanwhile. */
const MAX_TRACES = 2

/** Effects of EVM transactions: logs, calls between contracts, changes of the state. */
export function addEvm(
  app: Api['app'],
  { queries, node, cache, limitNodeQuestions }: Pick<Api, 'queries' | 'node' | 'cache' | 'limitNodeQuestions'>,
): void {
  const tags = ['evm']
  const ofTransaction = z.object({ hash: z.string().regex(/^0x[0-9a-fA-F]{64}$/) })
  const ofAddress = z.object({ address: spelledAddress.describe('0x… or coin1…') })
  const noTransaction = { error: 'no such transaction in the index' }
  let traces = 0

  app.get(
    '/transactions/:hash/logs',
    {
      schema: {
        tags,
        summary: 'Logs of a transaction, in order',
        params: ofTransaction,
        querystring: orderedPage,
        response: { 200: numberPageOf(log), 404: problem },
      },
    },
    async ({ params: { hash }, query }, reply) => {
      const position = await findPosition(queries, hexToBytes(hash))
      return position === undefined ? reply.code(404).send(noTransaction) : logsOf(queries, position, query)
    },
  )

  app.get(
    '/transactions/:hash/calls',
    {
      schema: {
        tags,
        summary: 'All calls of a transaction, each caller before its callees',
        params: ofTransaction,
        querystring: orderedPage,
        response: { 200: callPage, 404: problem },
      },
    },
    async ({ params: { hash }, query }, reply) => {
      const position = await findPosition(queries, hexToBytes(hash))
      return position === undefined ? reply.code(404).send(noTransaction) : callsOf(queries, position, query)
    },
  )

  app.get(
    '/transactions/:hash/state-changes',
    {
      preHandler: limitNodeQuestions,
      schema: {
        tags,
        summary: 'Changes of accounts and storage by a transaction, requested from the node',
        params: ofTransaction,
        response: { 200: stateChanges, 404: problem, 429: problem, 503: problem },
      },
    },
    async ({ params }, reply) => {
      const hash = hexToBytes(params.hash)
      const row = await queries.selectFrom('tx').select('kind').where('hash', '=', hash).executeTakeFirst()
      if (row?.kind !== TX_KINDS.evm) return reply.code(404).send({ error: 'no such EVM transaction in the index' })
      const name = bytesToHex(hash)
      return cache.get(`state changes ${name}`, MAX_AGE_MS, async () => {
        if (traces === MAX_TRACES)
          throw new NodeError('the node is busy tracing other transactions: try again in a moment')
        traces++
        try {
          return await fetchStateChanges(node, name)
        } finally {
          traces--
        }
      })
    },
  )

  app.get(
    '/addresses/:address/internal-calls',
    {
      schema: {
        tags,
        summary: 'Internal calls that moved coins of an account, created or destroyed it, or were made by it',
        params: ofAddress,
        querystring: placePageQuery,
        response: { 200: tracedPageOf(internalCall) },
      },
    },
    ({ params: { address }, query }) => listInternalCalls(queries, address, query),
  )

  app.get(
    '/addresses/:address/logs',
    {
      schema: {
        tags,
        summary: 'Logs that a contract emitted',
        params: ofAddress,
        querystring: placePageQuery.extend({ topic: topic.optional().describe('first topic: only logs of one event') }),
        response: { 200: textPageOf(log) },
      },
    },
    ({ params: { address }, query: { topic: own, ...part } }) =>
      listLogs(queries, { address, topic: own === undefined ? undefined : hexToBytes(own) }, part),
  )
}
