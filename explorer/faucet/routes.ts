import { z } from 'zod'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { ClientLimit } from '../api/clientLimit.ts'
import { isForeignPage } from '../api/foreignPage.ts'
import { problem } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { viewAmount, viewTime } from '../api/views.ts'
import { bytesToAmount } from '../database/amount.ts'
import {
  countOpen,
  findGrant,
  GRANT_AMOUNT,
  type Grant,
  type LimitLeft,
  type Refused,
  readLimits,
  storeGrant,
} from './grants.ts'
import { hasFaucet } from './payGrants.ts'
import { type Faucet, faucet, type GrantView, grant, grantProblem } from './shapes.ts'

const MAX_BODY = 1_024
/** Requests, also those that are refused: each is a transaction of the database. */
const REQUESTS = { burst: 30, perHour: 120 } as const
const ALL_REQUESTS = { burst: 2_000, perHour: 20_000 } as const

const REFUSALS: Readonly<Record<Refused['limit'], string>> = {
  address: 'this address got coins in the last 24 hours',
  client: 'your limit of addresses per 24 hours is reached',
  all: 'the faucet has reached its limit for 24 hours',
}
const PROBLEMS: Readonly<Record<Exclude<Faucet['problem'], 'none'>, string>> = {
  off: 'this explorer has no faucet',
  otherChain: 'the faucet gives coins on testnets and devnets only',
  empty: 'the faucet has too few coins at the moment: try again later',
}

/** Test coins for clients that request them. */
export function addFaucet(
  app: Api['app'],
  { queries, services, clientOf, faucetAddress }: Pick<Api, 'queries' | 'services' | 'clientOf' | 'faucetAddress'>,
): void {
  const tags = ['faucet']
  const requests = new ClientLimit(REQUESTS, ALL_REQUESTS)

  const status = async (client: string): Promise<Faucet> => {
    const fixed = { amount: GRANT_AMOUNT.toString() }
    if (faucetAddress === undefined) {
      return { isOn: false, problem: 'off', address: null, balance: null, limits: null, ...fixed }
    }
    const [chain, balance, open, limits] = await Promise.all([
      queries.selectFrom('ingest').select('evm_chain_id').executeTakeFirst(),
      queries.selectFrom('coin_balance').select('amount').where('address', '=', faucetAddress).executeTakeFirst(),
      countOpen(services),
      readLimits(services, client, Date.now()),
    ])
    const coins = balance === undefined ? 0n : bytesToAmount(balance.amount)
    const isOther = chain === undefined || !hasFaucet(chain.evm_chain_id)
    // One more for fees.
    const isEmpty = coins < GRANT_AMOUNT * BigInt(open + 2)
    const own = isOther ? 'otherChain' : isEmpty ? 'empty' : 'none'
    const address = toChecksumAddress(faucetAddress)
    return {
      isOn: own === 'none',
      problem: own,
      address,
      balance: coins.toString(),
      limits: { client: viewLimit(limits.client), all: viewLimit(limits.all) },
      ...fixed,
    }
  }

  app.get(
    '/faucet',
    {
      schema: {
        tags,
        summary: 'State of the faucet: its balance, the amount of a grant and the limits',
        response: { 200: faucet },
      },
    },
    (request) => status(clientOf(request)),
  )

  app.post(
    '/faucet',
    {
      bodyLimit: MAX_BODY,
      schema: {
        tags,
        summary: 'Request test coins for an address, once per 24 hours',
        body: z.object({ address: spelledAddress.describe('0x… or coin1…') }),
        response: { 202: grant, 403: problem, 429: grantProblem, 503: grantProblem },
      },
    },
    async (request, reply) => {
      if (isForeignPage(request.headers)) {
        return reply
          .code(403)
          .send({ error: 'requests from pages of other sites are refused: use the page of this explorer' })
      }
      const client = clientOf(request)
      if (!requests.take(client, performance.now())) {
        return reply.code(429).send({ error: 'too many requests from this address: try again later', retryAt: null })
      }
      const { problem: own } = await status(client)
      if (own !== 'none') return reply.code(503).send({ error: PROBLEMS[own], retryAt: null })
      const { address } = request.body
      const stored = await storeGrant(services, address, client, Date.now())
      if (typeof stored === 'object') {
        return reply.code(429).send({ error: REFUSALS[stored.limit], retryAt: viewTime(stored.retryAtMs) })
      }
      return reply.code(202).send(viewGrant((await findGrant(services, stored))!))
    },
  )

  app.get(
    '/faucet/grants/:id',
    {
      schema: {
        tags,
        summary: 'State of a grant',
        params: z.object({ id: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER) }),
        response: { 200: grant, 404: problem },
      },
    },
    async ({ params: { id } }, reply) => {
      const own = await findGrant(services, id)
      return own === undefined ? reply.code(404).send({ error: 'no such grant' }) : viewGrant(own)
    },
  )
}

function viewLimit({ left, retryAtMs }: LimitLeft): NonNullable<Faucet['limits']>['all'] {
  return { left, retryAt: retryAtMs === undefined ? null : viewTime(retryAtMs) }
}

function viewGrant({ number, address, amount, created, state, hash, height, problem: reason }: Grant): GrantView {
  return {
    id: number,
    address: toChecksumAddress(address),
    amount: viewAmount(amount),
    created: viewTime(created),
    state: state as GrantView['state'],
    transaction: hash === null ? null : bytesToHex(hash),
    height,
    problem: reason,
  }
}
