import type { FastifyRequest } from 'fastify'
import { ClientLimit } from '../api/clientLimit.ts'
import type { ClientOf } from '../api/clientOf.ts'
import { isForeignPage } from '../api/foreignPage.ts'
import type { ContractName } from './compile.ts'
import { readStandardJson, type StandardJson, StandardJsonError } from './standardJson.ts'
import type { VerificationRefusal, Verifier } from './verifier.ts'

/** Sources that a client sent, not checked yet. */
export interface Submission {
  readonly address: Uint8Array
  readonly input: unknown
  readonly version: string
  /** `path:name`; undefined: whichever contract of the sources it is */
  readonly contract: string | undefined
}

/** Why sources are refused: a status, one of Sourcify's error codes, and a line that says what to do. */
interface SubmissionRefusal extends Omit<VerificationRefusal, 'status'> {
  readonly status: VerificationRefusal['status'] | 400 | 403
}

export type SubmitSources = (
  submission: Submission,
  request: Pick<FastifyRequest, 'headers' | 'socket'>,
) => Promise<{ readonly id: string } | SubmissionRefusal>

/** Parts that routes for verification use in addition to `Api`. */
export interface Verification {
  readonly verifier: Verifier
  /** passes a client's sources to the verifier, within the client's limits */
  readonly submitSources: SubmitSources
}

/** A client that deploys many contracts verifies each; a compilation takes seconds. */
const SUBMISSIONS = { burst: 30, perHour: 120 } as const
const ALL_SUBMISSIONS = { burst: 200, perHour: 2_000 } as const
const MAX_CONTRACT = 2_000
/** Versions of the list that an error names. */
const NAMED_VERSIONS = 5

/** Takes sources for both APIs that verify contracts. */
export function createSubmitSources(verifier: Verifier, clientOf: ClientOf): SubmitSources {
  const limit = new ClientLimit(SUBMISSIONS, ALL_SUBMISSIONS)
  return async ({ address, input, version, contract }, request) => {
    if (isForeignPage(request.headers)) {
      return refuse(403, 'invalid_parameter', 'requests from pages of other sites are refused')
    }
    const client = clientOf(request)
    if (!limit.take(client, performance.now())) {
      return refuse(429, 'too_many_requests', 'too many contracts from this address: try again later')
    }
    const known = verifier.compilers.find(version)
    if (known === undefined) {
      const { versions } = verifier.compilers
      const some =
        versions.length > NAMED_VERSIONS
          ? `${versions.slice(0, NAMED_VERSIONS).join(', ')} and older ones`
          : versions.join(', ')
      return refuse(
        400,
        'unsupported_compiler_version',
        `this explorer does not have the requested compiler: it has ${some}`,
      )
    }
    const wanted = contract === undefined ? undefined : readName(contract)
    if (contract !== undefined && wanted === undefined) {
      return refuse(400, 'invalid_parameter', 'name a contract by its path and name, such as contracts/Vault.sol:Vault')
    }
    let own: StandardJson
    try {
      own = readStandardJson(input)
    } catch (error) {
      if (!(error instanceof StandardJsonError)) throw error
      return refuse(400, 'invalid_parameter', error.message)
    }
    return verifier.submit({ address, input: own, version: known, wanted }, client)
  }
}

/** Paths may have colons: the last one is before the name. */
function readName(contract: string): ContractName | undefined {
  const at = contract.lastIndexOf(':')
  if (at <= 0 || at === contract.length - 1 || contract.length > MAX_CONTRACT || !contract.isWellFormed())
    return undefined
  return { path: contract.slice(0, at), name: contract.slice(at + 1) }
}

function refuse(status: SubmissionRefusal['status'], code: string, message: string): SubmissionRefusal {
  return { status, code, message }
}
