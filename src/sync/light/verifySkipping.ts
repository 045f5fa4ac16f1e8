import type { LightBlock } from '../../chain/comet/lightBlock.ts'
import { fetchLightBlock, type LightBlockSource, LightClientError, requireLightBlock } from './lightBlockSource.ts'
import { trustExpired } from './trustRoot.ts'
import { type LightClientRules, type TrustedState, trustedStateOf, verifyHeader } from './verifyHeader.ts'

/** Where the next header between two heights is tried: a little nearer to the higher one (light/client.go, verifySkippingNumerator). */
const PIVOT_NUMERATOR = 9
const PIVOT_DENOMINATOR = 16

/** Headers that are checked on one way; a third of the power changes seldom enough that some dozens are usual. */
const MAX_STEPS = 10_000

/** Light blocks that wait for one between: bisection of 2^53 heights needs fewer, and each may have a megabyte. */
const MAX_WAITING = 80

/**
 * Time limit for all headers from an unknown source: with headers that cannot be verified, it could
 * start a long search.
 */
const STRANGER_MS = 600_000

export interface SkippingOptions {
  readonly source: LightBlockSource
  readonly rules: LightClientRules
  /** milliseconds since the epoch */
  readonly nowMs: () => number
  readonly signal: AbortSignal
  readonly maxSteps?: number
}

/**
 * Verifies the source's light block of `height` from a trusted state by skipping verification (light/client.go, verifySkipping): where
 * the trusted validators did not sign it with enough power, one between the two is verified first.
 * @throws LightClientError; the reason of the signal when that is aborted
 */
export async function verifySkipping(
  trusted: TrustedState,
  height: number,
  { source, rules, nowMs, signal, maxSteps = MAX_STEPS }: SkippingOptions,
): Promise<LightBlock> {
  const { chainId } = rules
  const beganMs = nowMs()
  const target = await requireLightBlock(source, height, chainId, signal)
  let verified = trusted
  /** by falling height; the first is the target, the others are to be verified before it */
  let waiting: LightBlock[] = [target]
  let depth = 0
  for (let step = 0; step < maxSteps; step++) {
    const block = waiting[depth]!
    const verdict = verifyHeader(verified, block, rules, nowMs())
    if (verdict.kind === 'valid') {
      if (depth === 0) return target
      verified = trustedStateOf(block)
      waiting = waiting.slice(0, depth)
      depth = 0
      continue
    }
    if (verdict.kind === 'expired') throw trustExpired(verified, rules.trustingPeriodMs)
    if (verdict.kind === 'invalid') throw invalidHeader(source, block, verified, verdict.reason)
    if (depth === waiting.length - 1) {
      if (waiting.length === MAX_WAITING) break
      if (source.isStranger && nowMs() - beganMs > STRANGER_MS) {
        throw new LightClientError(
          'unavailable',
          `${source.name} returns the headers below height ${height} too slowly`,
        )
      }
      waiting.push(await fetchBetween(verified.height, block.header.height, { source, chainId, signal }))
    }
    depth++
  }
  throw new LightClientError(
    'tooManySteps',
    `${source.name} has no short chain of headers from height ${trusted.height} to ${height}: use another node, or set TRUST_HEIGHT and TRUST_HASH to a block nearer to it`,
  )
}

/**
 * Fetches a light block between two heights that are not adjacent: the one at the pivot, or the
 * nearest that the source has.
 */
async function fetchBetween(
  from: number,
  to: number,
  { source, chainId, signal }: Pick<SkippingOptions, 'source' | 'signal'> & Pick<LightClientRules, 'chainId'>,
): Promise<LightBlock> {
  const pivot = from + Math.floor(((to - from) * PIVOT_NUMERATOR) / PIVOT_DENOMINATOR)
  const block = await fetchLightBlock(source, pivot, chainId, signal)
  if (block !== undefined) return block
  const nearest = await source.nearest?.(pivot, { from, to }, signal)
  signal.throwIfAborted()
  if (nearest !== undefined && Number.isSafeInteger(nearest) && nearest > from && nearest < to) {
    const other = await fetchLightBlock(source, nearest, chainId, signal)
    if (other !== undefined) return other
  }
  throw new LightClientError(
    'missing',
    `${source.name} does not have the header of height ${pivot}${source.nearest === undefined ? '' : `, nor another one between ${from} and ${to}`}, without which that of ${to} cannot be verified: use a node that keeps it, or set TRUST_HEIGHT and TRUST_HASH to a block nearer to ${to}`,
  )
}

function invalidHeader(
  source: LightBlockSource,
  { header }: LightBlock,
  verified: TrustedState,
  reason: string,
): LightClientError {
  return new LightClientError(
    'invalid',
    `the header of height ${header.height} from ${source.name} does not follow from height ${verified.height}: ${reason}`,
  )
}
