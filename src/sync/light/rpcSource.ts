import type { ConsensusHeader } from '../../chain/comet/block.ts'
import {
  decodeLightBlock,
  encodeLightBlock,
  type LightBlock,
  MAX_LIGHT_BLOCK_VALIDATORS,
} from '../../chain/comet/lightBlock.ts'
import type { Validator, ValidatorSet } from '../../chain/comet/types.ts'
import { createValidatorSet, validatorSetHash } from '../../chain/comet/validatorSet.ts'
import { ConsensusDecodingError } from '../../chain/comet/wire.ts'
import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { isTemporary, shownUrl } from '../../primitives/httpProblems.ts'
import { cometEndpoint, HttpError, type HttpLimits, httpGet } from '../blocks/httpGet.ts'
import { ANSWER, COMMIT_RESULT, readJson, VALIDATORS_RESULT } from './cometAnswers.ts'
import { type HeightBounds, type LightBlockSource, LightClientError } from './lightBlockSource.ts'

export interface RpcSourceOptions {
  /** RPC address of a node, as in SEED_NODE_URL */
  readonly url: string
  /** Resolves after this time; rejects when `signal` is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>
  readonly limits?: Partial<RpcSourceLimits>
}

interface RpcSourceLimits extends HttpLimits {
  /** time for all that is fetched of one light block */
  readonly blockTimeoutMs: number
  /** of one call, when the node cannot be reached or is busy */
  readonly attempts: number
  readonly firstDelayMs: number
}

const LIMITS: RpcSourceLimits = {
  // A commit of 10,000 validators has less than 3 MB.
  maxBytes: 4 << 20,
  timeoutMs: 10_000,
  blockTimeoutMs: 60_000,
  attempts: 4,
  firstDelayMs: 500,
}

/** The most validators that CometBFT returns in one answer. */
const VALIDATORS_PER_PAGE = 100

/** Most heights have the validators of one before, which are not fetched again. */
const MAX_KNOWN_SETS = 8

/** How much of a text of the node's a message repeats. */
const SHOWN_LENGTH = 120

/**
 * CometBFT's errors for a height that the node has dropped, or that does not exist yet. The first
 * one names the lowest height; a node of this project adds the next light block that it retains
 * permanently.
 */
const MISSING =
  /^(?:height (\d{1,15}) is not available, lowest height is (\d{1,15})(?:, next light block is (\d{1,15}))?|height \d+ must be less than or equal to|could not find validator set)/

/** Light blocks from `/rpc/commit` and `/rpc/validators` of a node that need not be trusted (CometBFT light/provider/http). */
export class RpcSource implements LightBlockSource {
  readonly name: string
  readonly #options: RpcSourceOptions
  readonly #limits: RpcSourceLimits
  /** by their hash */
  readonly #knownSets = new Map<string, ValidatorSet>()
  /** the last height that the node had not, and the nearest one above it that it has, as it said */
  #missing: { readonly height: number; readonly above: number } | undefined

  constructor(options: RpcSourceOptions) {
    this.name = shownUrl(new URL(options.url)).replace(/\/+$/, '')
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
  }

  async fetch(height: number, signal: AbortSignal): Promise<LightBlock | undefined> {
    const deadline = AbortSignal.timeout(this.#limits.blockTimeoutMs)
    try {
      return await this.#fetch(height, AbortSignal.any([signal, deadline]))
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (!deadline.aborted) throw error
      const seconds = this.#limits.blockTimeoutMs / 1000
      throw new LightClientError(
        'unavailable',
        `${this.name} does not give the light block of height ${height} in ${seconds} seconds`,
      )
    }
  }

  /**
   * Finds the nearest height without a request for it in the RPC. A node that has dropped old
   * blocks says where its blocks begin, and which light block it has below. If the nearest one
   * above `height` is too high, one between `from` and `height` is found by a few requests.
   */
  async nearest(height: number, { from, to }: HeightBounds, signal: AbortSignal): Promise<number | undefined> {
    for (let asked = height; ; asked = from + Math.max(1, Math.floor((asked - from) / 2))) {
      if (this.#missing?.height !== asked) {
        const found = await this.#call(this.#endpoint('commit', { height: asked }), signal)
        if (found !== null) return asked
      }
      if (this.#missing?.height !== asked) return undefined
      if (this.#missing.above < to) return this.#missing.above
      if (asked <= from + 1) return undefined
    }
  }

  async #fetch(height: number, signal: AbortSignal): Promise<LightBlock | undefined> {
    const endpoint = this.#endpoint('commit', { height })
    const answer = readJson(COMMIT_RESULT, await this.#call(endpoint, signal), shownUrl(endpoint))
    if (answer === null) return undefined
    const { header, commit } = answer.signed_header
    if (header.height !== height) throw invalid(endpoint, `answers for height ${header.height}, not ${height}`)
    const validators = await this.#validatorsOf(header, signal)
    if (validators === undefined) return undefined
    try {
      // The codec has the bounds of all fields.
      return decodeLightBlock(encodeLightBlock({ header, commit, validators }))
    } catch (error) {
      if (error instanceof ConsensusDecodingError)
        throw invalid(endpoint, `returned an invalid header or commit of height ${height}: ${error.message}`)
      throw error
    }
  }

  /** Returns undefined when the node does not have them */
  async #validatorsOf(
    { height, validatorsHash }: ConsensusHeader,
    signal: AbortSignal,
  ): Promise<ValidatorSet | undefined> {
    const key = bytesKey(validatorsHash)
    const known = this.#knownSets.get(key)
    if (known !== undefined) return known
    const validators = await this.#fetchValidators(height, signal)
    if (validators === undefined) return undefined
    const endpoint = this.#endpoint('validators', {})
    let set: ValidatorSet
    try {
      set = createValidatorSet(validators)
    } catch (error) {
      if (error instanceof TypeError)
        throw invalid(endpoint, `returned invalid validators of height ${height}: ${error.message}`)
      throw error
    }
    if (!equalBytes(validatorSetHash(set), validatorsHash)) {
      throw invalid(endpoint, `returned validators of height ${height} that are not those of its header`)
    }
    if (this.#knownSets.size === MAX_KNOWN_SETS) this.#knownSets.delete(this.#knownSets.keys().next().value!)
    this.#knownSets.set(key, set)
    return set
  }

  /** Fetches validators without their proposer priorities: no hash covers them. */
  async #fetchValidators(
    height: number,
    signal: AbortSignal,
  ): Promise<readonly Pick<Validator, 'publicKey' | 'power'>[] | undefined> {
    const found: Pick<Validator, 'publicKey' | 'power'>[] = []
    for (let page = 1; ; page++) {
      const endpoint = this.#endpoint('validators', { height, per_page: VALIDATORS_PER_PAGE, page })
      const result = await this.#call(endpoint, signal)
      if (result === null) return undefined
      const { block_height, validators, total } = readJson(VALIDATORS_RESULT, result, shownUrl(endpoint))
      if (block_height !== height) throw invalid(endpoint, `answers for height ${block_height}, not ${height}`)
      if (total > MAX_LIGHT_BLOCK_VALIDATORS)
        throw invalid(endpoint, `has ${total} validators at height ${height}, more than a chain can have`)
      found.push(...validators)
      if (found.length === total) return found
      // Each page except the last one is full, so an honest node returns all validators in a hundred pages.
      if (validators.length !== VALIDATORS_PER_PAGE || found.length > total) {
        throw invalid(endpoint, `returned ${found.length} of ${total} validators of height ${height}`)
      }
    }
  }

  #endpoint(method: string, params: Readonly<Record<string, number>>): URL {
    const endpoint = cometEndpoint(this.#options.url, method)
    for (const [name, value] of Object.entries(params)) endpoint.searchParams.set(name, String(value))
    return endpoint
  }

  /**
   * Returns the result of a method; null when the node does not have that height.
   * @throws LightClientError
   */
  async #call(endpoint: URL, signal: AbortSignal): Promise<unknown> {
    const { attempts, firstDelayMs } = this.#limits
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#callOnce(endpoint, signal)
      } catch (error) {
        if (!(error instanceof HttpError)) throw error
        if (error.kind === 'tooLong') throw new LightClientError('invalid', error.message)
        if (error.kind === 'never' || attempt >= attempts) throw new LightClientError('unavailable', error.message)
      }
      await this.#options.sleep(firstDelayMs * 2 ** (attempt - 1), signal)
    }
  }

  /** @throws HttpError when there is no result; LightClientError for an answer in a wrong form */
  async #callOnce(endpoint: URL, signal: AbortSignal): Promise<unknown> {
    const { status, text, redirect } = await httpGet(endpoint, this.#limits, signal)
    const shown = shownUrl(endpoint)
    if (status !== 200 && status !== 500) {
      const leads = redirect === undefined ? '' : ` and leads to ${redirect}`
      if (isTemporary(status)) throw new HttpError('later', `${shown} answers with status ${status}`)
      throw new HttpError('never', `${shown} answers with status ${status}${leads}: it must be the RPC of a node`)
    }
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      // A proxy before the node has pages of its own for failures.
      if (status === 500) throw new HttpError('later', `${shown} answers with status 500`)
      throw invalid(endpoint, 'does not answer with JSON')
    }
    const { result, error } = readJson(ANSWER, json, shown)
    if (error === undefined || error === null) return result ?? null
    const problem = error.data ?? error.message
    const missing = MISSING.exec(problem)
    if (missing?.[2] !== undefined) {
      this.#missing = { height: Number(missing[1]), above: Number(missing[3] ?? missing[2]) }
    }
    if (missing !== null) return null
    throw new HttpError('later', `${shown} reports an error: ${JSON.stringify(problem.slice(0, SHOWN_LENGTH))}`)
  }
}

function invalid(endpoint: URL, problem: string): LightClientError {
  return new LightClientError('invalid', `${shownUrl(endpoint)} ${problem}`)
}
