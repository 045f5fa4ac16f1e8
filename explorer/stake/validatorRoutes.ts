import { z } from 'zod'
import {
  type Address,
  BECH32_CONSENSUS,
  BECH32_OPERATOR,
  parseAddress,
  parseTypedAddress,
  toAddress,
} from '../../src/primitives/address.ts'
import type { Api } from '../api/api.ts'
import { numberPageOf, numberPageQuery, placePageQuery, problem, textPageOf, textPageQuery } from '../api/shapes.ts'
import { listBlocks } from '../blocks/queries.ts'
import { block } from '../blocks/shapes.ts'
import { findValidator, listDelegators, listStakingEvents, listValidators, viewDetail } from './queries.ts'
import { absence, delegator, stakingEvent, validator, validatorDetail } from './shapes.ts'
import { listAbsences } from './uptime.ts'

const MAX_LENGTH = 100
const CONSENSUS_HEX = /^[0-9a-fA-F]{40}$/

/** A validator by its operator (coinvaloper1…, coin1… or 0x…) or its consensus key (coinvalcons1… or 40 hex digits): 20 bytes. */
const spelledValidator = z
  .string()
  .max(MAX_LENGTH)
  .transform((text, context): Address => {
    try {
      if (CONSENSUS_HEX.test(text)) return toAddress(Buffer.from(text, 'hex'))
      for (const prefix of [BECH32_OPERATOR, BECH32_CONSENSUS]) {
        if (text.toLowerCase().startsWith(`${prefix}1`)) return parseAddress(text, prefix)
      }
      return parseTypedAddress(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
      return z.NEVER
    }
  })

/** Validators, what they sign, and who delegates to them. */
export function addValidators(app: Api['app'], { queries }: Pick<Api, 'queries'>): void {
  const tags = ['validators']
  const params = z.object({
    validator: spelledValidator.describe(
      'operator (coinvaloper1…, coin1… or 0x…) or consensus address (coinvalcons1… or 40 hex digits)',
    ),
  })
  const none = { error: 'no such validator in the index' }

  app.get(
    '/validators',
    {
      schema: {
        tags,
        summary: 'Validators, by stake, highest first',
        querystring: textPageQuery.extend({
          state: z.enum(['active', 'inactive']).optional().describe('active: bonded validators'),
        }),
        response: { 200: textPageOf(validator) },
      },
    },
    ({ query: { state, ...part } }) => listValidators(queries, state, part),
  )

  app.get(
    '/validators/:validator',
    {
      schema: {
        tags,
        summary: 'A validator with its description, commission and uptime',
        params,
        response: { 200: validatorDetail, 404: problem },
      },
    },
    async ({ params: { validator: address } }, reply) => {
      const row = await findValidator(queries, address)
      return row === undefined ? reply.code(404).send(none) : viewDetail(queries, row)
    },
  )

  app.get(
    '/validators/:validator/delegators',
    {
      schema: {
        tags,
        summary: 'Delegators of a validator, by stake, highest first',
        params,
        querystring: textPageQuery,
        response: { 200: textPageOf(delegator), 404: problem },
      },
    },
    async ({ params: { validator: address }, query }, reply) => {
      const row = await findValidator(queries, address)
      return row === undefined ? reply.code(404).send(none) : listDelegators(queries, row, query)
    },
  )

  app.get(
    '/validators/:validator/events',
    {
      schema: {
        tags,
        summary: 'Staking events of a validator',
        params,
        querystring: placePageQuery,
        response: { 200: textPageOf(stakingEvent), 404: problem },
      },
    },
    async ({ params: { validator: address }, query }, reply) => {
      const row = await findValidator(queries, address)
      if (row === undefined) return reply.code(404).send(none)
      return listStakingEvents(queries, { validator: row.operator }, query)
    },
  )

  app.get(
    '/validators/:validator/absences',
    {
      schema: {
        tags,
        summary: 'Ranges of blocks that a validator should have signed and did not',
        params,
        querystring: numberPageQuery,
        response: { 200: numberPageOf(absence), 404: problem },
      },
    },
    async ({ params: { validator: address }, query }, reply) => {
      const row = await findValidator(queries, address)
      return row === undefined ? reply.code(404).send(none) : listAbsences(queries, row.consensus_address, query)
    },
  )

  app.get(
    '/validators/:validator/blocks',
    {
      schema: {
        tags,
        summary: 'Blocks proposed by a validator',
        params,
        querystring: numberPageQuery,
        response: { 200: numberPageOf(block), 404: problem },
      },
    },
    async ({ params: { validator: address }, query }, reply) => {
      const row = await findValidator(queries, address)
      return row === undefined
        ? reply.code(404).send(none)
        : listBlocks(queries, { proposer: row.consensus_address }, query)
    },
  )
}
