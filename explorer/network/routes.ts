import { z } from 'zod'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { numberPageOf, numberPageQuery, problem } from '../api/shapes.ts'
import { countNodes, findNode, listNodes } from './queries.ts'
import { network, node, nodeDetail } from './shapes.ts'

/** The nodes that report, and what they are together. */
export function addNodes(app: Api['app'], databases: Pick<Api, 'queries' | 'services'>): void {
  const tags = ['network']

  app.get(
    '/network',
    {
      schema: {
        tags,
        summary: 'Number of reporting nodes, their versions and their lag',
        response: { 200: network },
      },
    },
    () => countNodes(databases.services),
  )

  app.get(
    '/network/nodes',
    {
      schema: {
        tags,
        summary: 'Reporting nodes, in order of their first report',
        querystring: numberPageQuery.extend({ verified: z.enum(['true', 'false']).optional() }),
        response: { 200: numberPageOf(node) },
      },
    },
    ({ query: { verified, ...page } }) =>
      listNodes(databases, { isVerified: verified === undefined ? undefined : verified === 'true' }, page),
  )

  app.get(
    '/network/nodes/:nodeId',
    {
      schema: {
        tags,
        summary: 'A reporting node with its last 30 days',
        params: z.object({ nodeId: z.string().regex(/^[0-9a-f]{40}$/) }),
        response: { 200: nodeDetail, 404: problem },
      },
    },
    async ({ params: { nodeId } }, reply) =>
      (await findNode(databases, hexToBytes(`0x${nodeId}`))) ??
      reply.code(404).send({ error: 'no reporting node has this ID' }),
  )
}
