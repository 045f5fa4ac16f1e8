import { checkLightBlock, type LightBlock } from '../../chain/comet/lightBlock.ts'

/** A source of light blocks: a node's RPC, a peer, a snapshot's manifest. Sources are not trusted. */
export interface LightBlockSource {
  /** for messages to the operator: a URL without secrets, or a peer's ID */
  readonly name: string
  /** Anyone can be this source, as a peer: its word against other sources counts only with a proof. */
  readonly isStranger?: boolean
  /**
   * Fetches the light block of this height; returns undefined when the source does not have it. The
   * source need not check anything: the light client does.
   * @throws LightClientError of the kind `unavailable` or `invalid`; the reason of `signal` when that is aborted
   */
  fetch(height: number, signal: AbortSignal): Promise<LightBlock | undefined>
  /**
   * For a source that does not have all heights: returns the height nearest to `height` that it
   * has, above `from` and below `to`; undefined when it has no such height. Throws like
   * {@link fetch}.
   */
  nearest?(height: number, bounds: HeightBounds, signal: AbortSignal): Promise<number | undefined>
}

/** Both are excluded. */
export interface HeightBounds {
  readonly from: number
  readonly to: number
}

/**
 * Why a light client stops:
 *
 * - `trustExpired`: the trusted state is older than the trusting period, so its validators may have nothing at stake any more.
 * - `conflictingHeaders`: two sources have different headers for one height.
 * - `invalid`: a source returned a light block that its chain's validators did not decide, or
 *   invalid data.
 * - `wrongTrust`: the source's header at the trusted height has another hash.
 * - `missing`: the source does not have a light block that is needed.
 * - `unavailable`: the source does not answer.
 * - `tooManySteps`: the way from the trusted state to the target is longer than is ever needed.
 */
export type LightClientProblem =
  | 'trustExpired'
  | 'conflictingHeaders'
  | 'invalid'
  | 'wrongTrust'
  | 'missing'
  | 'unavailable'
  | 'tooManySteps'

/** The light client could not verify a header. The message is one line for the operator. */
export class LightClientError extends Error {
  override readonly name = 'LightClientError'
  readonly kind: LightClientProblem

  constructor(kind: LightClientProblem, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/**
 * Fetches the light block of a source, of this height and chain, whose parts belong together;
 * undefined when the source does not have it.
 * @throws LightClientError
 */
export async function fetchLightBlock(
  source: LightBlockSource,
  height: number,
  chainId: string,
  signal: AbortSignal,
): Promise<LightBlock | undefined> {
  const block = await source.fetch(height, signal)
  signal.throwIfAborted()
  if (block === undefined) return undefined
  const problem =
    block.header.height === height
      ? checkLightBlock(block, chainId)
      : `it is the block of height ${block.header.height}, not ${height}`
  if (problem === undefined) return block
  throw new LightClientError(
    'invalid',
    `${source.name} returned an invalid light block of height ${height}: ${problem}`,
  )
}

/** Fetches a light block that is needed. @throws LightClientError also when the source does not have it */
export async function requireLightBlock(
  source: LightBlockSource,
  height: number,
  chainId: string,
  signal: AbortSignal,
): Promise<LightBlock> {
  const block = await fetchLightBlock(source, height, chainId, signal)
  if (block !== undefined) return block
  throw new LightClientError('missing', `${source.name} does not have the header of height ${height}`)
}
