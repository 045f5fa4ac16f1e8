import { z } from 'zod'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { placePageQuery, problem } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { delegateOf } from './delegateOf.ts'
import { findContract, listContracts } from './queries.ts'
import { contract, contractDetail, tracedPageOf } from './shapes.ts'

/** Code changes only when a contract is created or destroyed, or an account delegates. */
const MAX_AGE_MS = 5_000

/** Contracts and their creators. */
export function addContracts(
  app: Api['app'],
  { queries, node, cache, limitNodeQuestions }: Pick<Api, 'queries' | 'node' | 'cache' | 'limitNodeQuestions'>,
): void {
  const tags = ['contracts']

  app.get(
    '/contracts',
    {
      schema: {
        tags,
        summary: 'Contracts, newest first; contracts of the genesis come last',
        querystring: placePageQuery.extend({
          creator: spelledAddress.optional().describe('only contracts created by this account or contract'),
        }),
        response: { 200: tracedPageOf(contract) },
      },
    },
    ({ query: { creator, ...part } }) => listContracts(queries, { creator }, part),
  )

  app.get(
    '/contracts/:address',
    {
      preHandler: limitNodeQuestions,
      schema: {
        tags,
        summary: 'A contract with its bytecode',
        params: z.object({ address: spelledAddress.describe('0x… or coin1…') }),
        response: { 200: contractDetail, 404: problem, 429: problem },
      },
    },
    async ({ params: { address } }, reply) => {
      const hex = bytesToHex(address)
      const [known, code] = await Promise.all([
        findContract(queries, address),
        cache.get(`code ${hex}`, MAX_AGE_MS, async () => {
          const [answer] = await node.ethereum([{ method: 'eth_getCode', params: [hex, 'latest'] }])
          return answer as string
        }),
      ])
      if (known === undefined && code === '0x') return reply.code(404).send({ error: 'no contract at this address' })
      const delegate = delegateOf(code)
      const unknown = { creator: null, created: null, way: null, label: null, selfDestruct: null, isDeleted: false }
      return {
        ...(known ?? { ...unknown, address: toChecksumAddress(address) }),
        creation: known === undefined ? ('unknown' as const) : ('known' as const),
        code,
        codeSize: code.length / 2 - 1,
        delegatesTo: delegate === undefined ? null : toChecksumAddress(delegate),
      }
    },
  )
}
