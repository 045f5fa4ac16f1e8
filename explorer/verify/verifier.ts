import { createHash, randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { Tables } from '../database/schema.ts'
import type { ServiceQueries } from '../database/services.ts'
import type { NodeClient } from '../node/nodeClient.ts'
import type { CompileLimits } from './compile.ts'
import type { Compilers } from './compilers.ts'
import type { Match } from './matchCode.ts'
import { MATCH_LEVELS } from './tables.ts'
import { findVerified, matchOf, storeVerified } from './verifiedContracts.ts'
import { VerificationFailure, type VerificationRequest, verifyContract } from './verifyContract.ts'

/** The state of an accepted request. */
export interface VerificationJob {
  readonly id: string
  readonly address: Uint8Array
  readonly startedAtMs: number
  /** null: it waits, or is under way */
  readonly finishedAtMs: number | null
  readonly compileMs: number | null
  readonly runtimeMatch: Match | null
  readonly creationMatch: Match | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** A refused request: the status of the answer, one of Sourcify's error codes, a line that says what to do. */
export interface VerificationRefusal {
  readonly status: 409 | 429 | 503
  readonly code: string
  readonly message: string
}

/** Verifies contracts, one after another: one of each client that waits, then the next one of each. */
export interface Verifier {
  readonly compilers: Pick<Compilers, 'versions' | 'find'>
  /** @param client as `ClientAddresses.of` returns it */
  submit(request: VerificationRequest, client: string): Promise<{ readonly id: string } | VerificationRefusal>
  /** A job by its ID; undefined: no such job, or it is more than a week old. */
  job(id: string): Promise<VerificationJob | undefined>
  /** Stops what is under way. */
  close(): Promise<void>
}

interface VerifierParts {
  readonly queries: Kysely<Tables>
  readonly services: ServiceQueries
  readonly node: NodeClient
  readonly compilers: Compilers
  readonly limits: CompileLimits
  readonly logger: Pick<Logger, 'error' | 'warn'>
}

/** Jobs that wait or are under way: of all clients, and of one. Their sources are in memory. */
const MAX_OPEN = 20
const MAX_OPEN_OF_CLIENT = 3
/** Above this many, a client has one at most: the rest of the places is for others. */
const SHARED_OPEN = 8
/** How often an explorer reports that it works on its jobs, and the age at which a report no longer counts. */
const ALIVE_MS = 10_000
const DEAD_MS = 60_000
/** How long the result of a job is stored. */
const KEPT_MS = 7 * 86_400_000
const CLEANING_MS = 3_600_000
const CUT_OFF = 'the explorer was stopped before the verification ended: submit the contract again'

interface OpenJob {
  readonly id: string
  readonly request: VerificationRequest
  readonly client: string
  /** of the request: the same one is not done twice at a time */
  readonly digest: string
  /** the round in which it is done */
  readonly round: number
}

/**
 * Starts the work on jobs. Several explorers over one database work each on those that they took; the state of all is in the database,
 * where any of them finds it.
 */
export function createVerifier({ services, logger, ...parts }: VerifierParts): Verifier {
  const stop = new AbortController()
  const open = new Map<string, OpenJob>()
  /** those of them that are in the database, and not begun */
  const waiting: OpenJob[] = []
  /** round of the current job, or of the last one */
  let round = 0
  let isWorking = false
  let work: Promise<void> = Promise.resolve()

  const failed = (error: unknown): void => {
    if (!stop.signal.aborted) logger.error({ error }, 'verification of contracts')
  }
  const alive = setInterval(() => {
    if (open.size > 0) sayAlive(services, [...open.keys()]).catch(failed)
  }, ALIVE_MS).unref()
  const cleaning = setInterval(() => {
    services
      .deleteFrom('verification_job')
      .where('started_at', '<', Date.now() - KEPT_MS)
      .execute()
      .catch(failed)
  }, CLEANING_MS).unref()

  const run = async ({ id, request }: OpenJob): Promise<void> => {
    const warn = (error: Error): void => logger.warn({ error }, 'a compiler of the list is missing')
    try {
      if (stop.signal.aborted) throw new VerificationFailure('internal_error', CUT_OFF)
      const { content, created, compileMs } = await verifyContract(request, { ...parts, stop: stop.signal, warn })
      const isKept = await storeVerified(services, request.address, created, content, Date.now())
      await finish(services, id, {
        compile_ms: compileMs,
        runtime_match: MATCH_LEVELS[content.runtime.match?.match ?? 'none'],
        creation_match: MATCH_LEVELS[content.creation?.match?.match ?? 'none'],
        ...(isKept
          ? {}
          : failure('already_verified', 'the contract is already verified, and these sources match no better')),
      })
    } catch (error) {
      const known = error instanceof VerificationFailure && !stop.signal.aborted
      if (!known) failed(error)
      const unknown = stop.signal.aborted ? CUT_OFF : 'the explorer failed: try again later'
      await finish(services, id, known ? failure(error.code, error.message) : failure('internal_error', unknown))
    }
  }

  const runAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      // The oldest one of the first round.
      const job = waiting.reduce((first, own) => (own.round < first.round ? own : first))
      waiting.splice(waiting.indexOf(job), 1)
      round = job.round
      await run(job).catch(failed)
      open.delete(job.id)
    }
    isWorking = false
  }

  return {
    compilers: parts.compilers,
    submit: async (request, client) => {
      const digest = digestOf(request)
      const jobs = [...open.values()]
      if (stop.signal.aborted) return { status: 503, code: 'internal_error', message: 'the explorer is being stopped' }
      if (jobs.some((own) => own.digest === digest)) {
        const message = 'a verification of this contract with the same sources is already running: wait for its result'
        return { status: 429, code: 'duplicate_verification_request', message }
      }
      const own = jobs.filter((job) => job.client === client)
      const most = jobs.length < SHARED_OPEN ? MAX_OPEN_OF_CLIENT : 1
      if (jobs.length >= MAX_OPEN || own.length >= most) {
        const message = 'too many contracts are waiting for verification: try again in a minute'
        return { status: 429, code: 'too_many_requests', message }
      }
      // In the list before the first await, because other requests may arrive meanwhile.
      const job: OpenJob = { id: randomUUID(), request, client, digest, round: Math.max(round, nextRound(own)) }
      open.set(job.id, job)
      try {
        const known = await findVerified({ services, queries: parts.queries }, request.address)
        if (known?.runtimeMatch === 'exact_match' && known.creationMatch === 'exact_match') {
          open.delete(job.id)
          return {
            status: 409,
            code: 'already_verified',
            message: 'the contract is already verified, including its metadata',
          }
        }
        const nowMs = Date.now()
        const row = { id: job.id, address: request.address, started_at: nowMs, alive_at: nowMs }
        await services.insertInto('verification_job').values(row).execute()
      } catch (error) {
        open.delete(job.id)
        throw error
      }
      waiting.push(job)
      if (!isWorking) {
        isWorking = true
        work = runAll()
      }
      return { id: job.id }
    },
    job: async (id) => {
      const row = await services.selectFrom('verification_job').selectAll().where('id', '=', id).executeTakeFirst()
      if (row === undefined) return undefined
      const isCutOff = row.finished_at === null && row.alive_at < Date.now() - DEAD_MS
      if (isCutOff) await finish(services, id, failure('internal_error', CUT_OFF))
      return {
        id,
        address: row.address,
        startedAtMs: row.started_at,
        finishedAtMs: isCutOff ? Date.now() : row.finished_at,
        compileMs: row.compile_ms,
        runtimeMatch: matchOf(row.runtime_match),
        creationMatch: matchOf(row.creation_match),
        error: isCutOff
          ? { code: 'internal_error', message: CUT_OFF }
          : row.error_code === null
            ? null
            : { code: row.error_code, message: row.error_message ?? '' },
      }
    },
    close: async () => {
      stop.abort()
      clearInterval(alive)
      clearInterval(cleaning)
      await work
    },
  }
}

function nextRound(jobs: readonly OpenJob[]): number {
  return Math.max(0, ...jobs.map((job) => job.round + 1))
}

interface Outcome {
  readonly compile_ms?: number
  readonly runtime_match?: number
  readonly creation_match?: number
  readonly error_code?: string
  readonly error_message?: string
}

function failure(code: string, message: string): Outcome {
  // PostgreSQL's texts have no NUL; a message of solc shows lines of the sources.
  return { error_code: code, error_message: message.replaceAll('\0', '�') }
}

async function finish(services: ServiceQueries, id: string, outcome: Outcome): Promise<void> {
  await services
    .updateTable('verification_job')
    .set({ finished_at: Date.now(), ...outcome })
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .execute()
}

async function sayAlive(services: ServiceQueries, ids: readonly string[]): Promise<void> {
  await services.updateTable('verification_job').set({ alive_at: Date.now() }).where('id', 'in', ids).execute()
}

function digestOf({ address, input, version, wanted }: VerificationRequest): string {
  const text = JSON.stringify([Buffer.from(address).toString('hex'), input, version, wanted])
  return createHash('sha256').update(text).digest('hex')
}
