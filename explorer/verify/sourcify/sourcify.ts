import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Address, AddressError, parseAddress, toChecksumAddress } from '../../../src/primitives/address.ts'
import type { Api } from '../../api/api.ts'
import { createLongBodyLimit } from '../../api/longBodies.ts'
import { NodeError } from '../../node/nodeClient.ts'
import { MAX_INPUT_BYTES } from '../standardJson.ts'
import type { Verification } from '../submitSources.ts'
import { bestMatch, findSource, findVerified } from '../verifiedContracts.ts'
import type { VerificationJob } from '../verifier.ts'
import { FieldError, selectFields, viewBriefly, viewContract } from './contract.ts'

/** Bytes of a request around its input. */
const MAX_BODY = MAX_INPUT_BYTES + 64 * 1024
const SHORT_BODY = 64 * 1024
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An error as Sourcify writes it. */
class SourcifyError extends Error {
  readonly statusCode: number
  readonly code: string

  constructor(statusCode: number, code: string, message: string) {
    super(message)
    this.statusCode = statusCode
    this.code = code
  }
}

interface ContractParams {
  readonly chainId: string
  readonly address: string
}

/**
 * The part of Sourcify's API, version 2, with which tools verify contracts and look them up: https://docs.sourcify.dev/docs/api/.
 * `contractIdentifier` may be left out: then every contract of the sources is compared.
 */
export async function addSourcify(
  app: FastifyInstance,
  {
    queries,
    services,
    verifier,
    submitSources,
    clientOf,
  }: Pick<Api, 'queries' | 'services' | 'clientOf'> & Verification,
): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.setErrorHandler((error: Error & { readonly statusCode?: number; readonly code?: string }, _request, reply) => {
    if (error instanceof SourcifyError) return sendError(reply, error.statusCode, error.code, error.message)
    if (error instanceof NodeError)
      return sendError(reply, 503, 'internal_error', 'the node does not respond at the moment: try again later')
    const status = error.statusCode ?? 500
    // With its stack in the log, by the handler of the whole API.
    if (status >= 500) throw error
    return sendError(reply, status, 'invalid_parameter', error.message)
  })

  const longBodies = createLongBodyLimit(clientOf, SHORT_BODY, (reply) =>
    sendError(reply, 429, 'too_many_requests', 'too many large requests at the same time: try again in a moment'),
  )
  const chainId = async (): Promise<string | undefined> => {
    const own = await queries.selectFrom('ingest').select('evm_chain_id').executeTakeFirst()
    return own === undefined ? undefined : String(own.evm_chain_id)
  }
  const addressOf = async ({ chainId: asked, address }: ContractParams): Promise<Address> => {
    if (asked !== (await chainId()))
      throw new SourcifyError(404, 'unsupported_chain', 'this explorer indexes another chain')
    try {
      if (/^0x/.test(address)) return parseAddress(address)
    } catch (error) {
      if (!(error instanceof AddressError)) throw error
    }
    throw new SourcifyError(400, 'invalid_parameter', 'the address must be 0x followed by 40 hex digits')
  }

  app.post<{ Params: ContractParams }>(
    '/v2/verify/:chainId/:address',
    { bodyLimit: MAX_BODY, schema: { hide: true }, onRequest: longBodies },
    async (request, reply) => {
      const address = await addressOf(request.params)
      const body = (request.body ?? {}) as Record<string, unknown>
      const { stdJsonInput, compilerVersion, contractIdentifier } = body
      if (typeof compilerVersion !== 'string') {
        throw new SourcifyError(
          400,
          'invalid_parameter',
          'compilerVersion must be a string such as 0.8.37+commit.f401782d',
        )
      }
      if (contractIdentifier !== undefined && typeof contractIdentifier !== 'string') {
        throw new SourcifyError(
          400,
          'invalid_parameter',
          'contractIdentifier must be a string such as contracts/Vault.sol:Vault',
        )
      }
      const submission = { address, input: stdJsonInput, version: compilerVersion, contract: contractIdentifier }
      const taken = await submitSources(submission, request)
      if ('status' in taken) throw new SourcifyError(taken.status, taken.code, taken.message)
      return reply.code(202).send({ verificationId: taken.id })
    },
  )

  app.get<{ Params: { readonly id: string } }>(
    '/v2/verify/:id',
    { schema: { hide: true } },
    async ({ params: { id } }) => {
      const job = UUID.test(id) ? await verifier.job(id.toLowerCase()) : undefined
      if (job === undefined) throw new SourcifyError(404, 'job_not_found', 'no verification has this ID')
      return viewJob(job, (await chainId()) ?? '')
    },
  )

  // Where tools say that a contract can be seen at Sourcify.
  app.get<{ Params: ContractParams }>(
    '/repo-ui/:chainId/:address',
    { schema: { hide: true } },
    async ({ params }, reply) => reply.redirect(`/address/${toChecksumAddress(await addressOf(params))}`),
  )

  app.get<{ Params: ContractParams; Querystring: Readonly<Record<string, unknown>> }>(
    '/v2/contract/:chainId/:address',
    { schema: { hide: true } },
    async ({ params, query }, reply) => {
      // Anybody's pages may read what is public.
      reply.header('access-control-allow-origin', '*')
      const address = await addressOf(params)
      const isBrief = query.fields === undefined && query.omit === undefined
      const brief = isBrief ? await findVerified({ services, queries }, address) : undefined
      if (brief !== undefined) return viewBriefly(brief, params.chainId)
      const contract = isBrief ? undefined : await findSource({ services, queries }, address)
      if (contract === undefined) {
        const none = { match: null, creationMatch: null, runtimeMatch: null }
        return reply.code(404).send({ ...none, chainId: params.chainId, address: toChecksumAddress(address) })
      }
      try {
        const all = await viewContract(queries, contract, params.chainId)
        return selectFields(all, viewBriefly(contract, params.chainId), query)
      } catch (error) {
        if (!(error instanceof FieldError)) throw error
        throw new SourcifyError(400, 'invalid_parameter', error.message)
      }
    },
  )
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch (error) {
    throw new SourcifyError(
      400,
      'invalid_parameter',
      `the body is not valid JSON in UTF-8 (${(error as Error).message})`,
    )
  }
}

function sendError(reply: FastifyReply, status: number, customCode: string, message: string): FastifyReply {
  return reply.code(status).send({ customCode, message, errorId: randomUUID() })
}

function viewJob(job: VerificationJob, chainId: string) {
  const { id, address, startedAtMs, finishedAtMs, compileMs, runtimeMatch, creationMatch, error } = job
  const isVerified = error === null && finishedAtMs !== null
  return {
    isJobCompleted: finishedAtMs !== null,
    verificationId: id,
    jobStartTime: new Date(startedAtMs).toISOString(),
    ...(finishedAtMs === null ? {} : { jobFinishTime: new Date(finishedAtMs).toISOString() }),
    ...(compileMs === null ? {} : { compilationTime: String(compileMs) }),
    ...(error === null ? {} : { error: { customCode: error.code, message: error.message, errorId: id } }),
    contract: {
      match: bestMatch(runtimeMatch, creationMatch),
      creationMatch,
      runtimeMatch,
      chainId,
      address: toChecksumAddress(address),
      ...(isVerified ? { verifiedAt: new Date(finishedAtMs).toISOString() } : {}),
    },
  }
}
