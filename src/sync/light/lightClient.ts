import { headerHash } from '../../chain/comet/block.ts'
import { type LightBlock, verifyLightBlock } from '../../chain/comet/lightBlock.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type LightBlockSource, LightClientError, requireLightBlock } from './lightBlockSource.ts'
import { digits, fetchTrustPoint, genesisState, type TrustRoot, trustExpired } from './trustRoot.ts'
import { isExpired, type LightClientRules, type TrustedState, trustedStateOf } from './verifyHeader.ts'
import { verifySkipping } from './verifySkipping.ts'

export interface LightClientOptions {
  readonly rules: LightClientRules
  readonly root: TrustRoot
  /** At least one. The first that leads to a header is its primary, the others are its witnesses. */
  readonly sources: readonly LightBlockSource[]
  /** milliseconds since the epoch */
  readonly nowMs: () => number
  /** Called with a line for the log when a source cannot be used or asked; another one is used then. */
  readonly onWarning: (message: string) => void
}

/** CometBFT's defaultMaxClockDrift */
export const MAX_CLOCK_DRIFT_MS = 10_000

/**
 * Headers below the trusted point are verified one after the other by the hash of the block before, so no more than these. At 400 ms a
 * block they are more than two hours.
 */
const MAX_BACKWARD_STEPS = 20_000
/** A source that takes longer than this and STEP_MS per step is given up: there are others, and a slow one may lie. */
const PATIENCE_MS = 60_000
const STEP_MS = 250

/**
 * Verifies headers of a chain whose genesis, or one of whose blocks, is trusted. The sources of the
 * headers are not trusted (CometBFT's package `light`, skipping verification).
 */
export class LightClient {
  readonly #options: LightClientOptions
  /** the trusted point and the targets that were verified, by height */
  readonly #verified = new Map<number, LightBlock>()

  constructor(options: LightClientOptions) {
    this.#options = options
  }

  /**
   * Returns the light block of `height`: decided by the chain's validators, and the same at each
   * source that answers.
   * @throws LightClientError; the reason of `signal` when that is aborted; RangeError for an
   * invalid height
   */
  async verify(height: number, signal: AbortSignal): Promise<LightBlock> {
    if (!Number.isSafeInteger(height) || height < 1) throw new RangeError(`${height} is not a height of a block`)
    const known = this.#verified.get(height)
    if (known !== undefined) return known
    const { sources, onWarning } = this.#options
    const failures: LightClientError[] = []
    for (const source of sources) {
      try {
        const block = await this.#verifyFrom(source, height, signal)
        await this.#compareWithWitnesses(block, source, signal)
        this.#verified.set(height, block)
        return block
      } catch (error) {
        if (!(error instanceof LightClientError) || isFinal(error, source)) throw error
        failures.push(error)
        if (sources.length > 1) onWarning(error.message)
      }
    }
    if (failures.length === 1) throw failures[0]
    throw allFailed(failures, this.#verified.size > 0)
  }

  async #verifyFrom(source: LightBlockSource, height: number, signal: AbortSignal): Promise<LightBlock> {
    const { rules, nowMs } = this.#options
    const root = await this.#rootState(source, signal)
    if (height > root.height) {
      return verifySkipping(this.#below(height) ?? root, height, { source, rules, nowMs, signal })
    }
    return this.#verified.get(height) ?? this.#verifyBackwards(source, height, signal)
  }

  async #rootState(source: LightBlockSource, signal: AbortSignal): Promise<TrustedState> {
    const { rules, root, nowMs } = this.#options
    if (root.kind === 'genesis') return genesisState(root)
    const point = this.#verified.get(root.height) ?? (await fetchTrustPoint(root, source, rules, signal))
    this.#verified.set(root.height, point)
    const state = trustedStateOf(point)
    if (isExpired(state, rules.trustingPeriodMs, nowMs())) throw trustExpired(state, rules.trustingPeriodMs)
    return state
  }

  /** Returns the highest verified state below `height`. */
  #below(height: number): TrustedState | undefined {
    const best = Math.max(0, ...[...this.#verified.keys()].filter((other) => other < height))
    const block = this.#verified.get(best)
    return block && trustedStateOf(block)
  }

  /**
   * Returns the light block of a height below the trusted point: each header has the hash that the
   * one after it names (light/client.go, backwards).
   */
  async #verifyBackwards(source: LightBlockSource, height: number, signal: AbortSignal): Promise<LightBlock> {
    const { nowMs } = this.#options
    const { chainId, verifySignature } = this.#options.rules
    let above = this.#verified.get(Math.min(...[...this.#verified.keys()].filter((other) => other > height)))!
    if (above.header.height - height > MAX_BACKWARD_STEPS) {
      throw new LightClientError(
        'tooManySteps',
        `TRUST_HEIGHT is ${above.header.height - height} blocks above height ${height}, which is to be verified: set TRUST_HEIGHT and TRUST_HASH to that height or a lower one`,
      )
    }
    const beganMs = nowMs()
    for (let steps = 0; above.header.height > height; steps++) {
      if (nowMs() - beganMs > PATIENCE_MS + steps * STEP_MS) {
        throw new LightClientError('unavailable', `${source.name} returns the headers below TRUST_HEIGHT too slowly`)
      }
      const block = await requireLightBlock(source, above.header.height - 1, chainId, signal)
      const { header } = block
      if (!equalBytes(headerHash(header), above.header.lastBlockId.hash) || header.timeMs >= above.header.timeMs) {
        throw new LightClientError(
          'invalid',
          `the header of height ${header.height} from ${source.name} is not the one before height ${above.header.height}`,
        )
      }
      above = block
    }
    const problem = verifyLightBlock(above, chainId, verifySignature)
    if (problem === undefined) return above
    throw new LightClientError(
      'invalid',
      `${source.name} returned an invalid light block of height ${height}: ${problem}`,
    )
  }

  /**
   * @throws LightClientError of the kind `conflictingHeaders` when another source has another
   * header of that height. It is not decided here which of the two is wrong: validators who signed
   * both make both look right.
   */
  async #compareWithWitnesses(block: LightBlock, primary: LightBlockSource, signal: AbortSignal): Promise<void> {
    const { height } = block.header
    const hash = headerHash(block.header)
    const compare = async (witness: LightBlockSource): Promise<void> => {
      const other = await this.#askWitness(witness, height, signal)
      if (other === undefined) return
      const otherHash = headerHash(other.header)
      if (equalBytes(hash, otherHash)) return
      if (witness.isStranger && !(await this.#proves(witness, height, signal))) return
      throw new LightClientError(
        'conflictingHeaders',
        `two sources give different headers of height ${height}: ${primary.name} that of the hash ${digits(hash)}, ${witness.name} that of ${digits(otherHash)}: find out by a source that you trust which one is wrong, and remove it`,
      )
    }
    await Promise.all(this.#options.sources.filter((source) => source !== primary).map(compare))
  }

  /** Returns whether the source leads from the trusted state to its header. */
  async #proves(source: LightBlockSource, height: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#verifyFrom(source, height, signal)
      return true
    } catch (error) {
      if (!(error instanceof LightClientError)) throw error
      this.#options.onWarning(
        `${source.name} has another header of height ${height}, but does not prove it: ${error.message}`,
      )
      return false
    }
  }

  /** Returns undefined when it does not answer */
  async #askWitness(witness: LightBlockSource, height: number, signal: AbortSignal): Promise<LightBlock | undefined> {
    const { rules, onWarning } = this.#options
    try {
      return await requireLightBlock(witness, height, rules.chainId, signal)
    } catch (error) {
      if (!(error instanceof LightClientError)) throw error
      onWarning(`a header is not compared with another source: ${error.message}`)
      return undefined
    }
  }
}

/** Sources in one message; each has a line of its own in the log. */
const MAX_NAMED = 5

/** @param isTrustShown Another source has shown the trusted block: sources with a different one lie. */
function allFailed(failures: readonly LightClientError[], isTrustShown: boolean): LightClientError {
  const telling = isTrustShown ? failures.filter(({ kind }) => kind !== 'wrongTrust') : failures
  const { kind } = telling[0] ?? failures[0]!
  const messages = failures.slice(0, MAX_NAMED).map(({ message }) => message)
  const more = failures.length > MAX_NAMED ? `; and ${failures.length - MAX_NAMED} more` : ''
  return new LightClientError(kind, `${messages.join('; ')}${more}`)
}

/** Returns whether another source would not help. */
function isFinal({ kind }: LightClientError, { isStranger = false }: LightBlockSource): boolean {
  // The operator has named both, the trust point and the source: they contradict each other.
  return kind === 'trustExpired' || kind === 'conflictingHeaders' || (kind === 'wrongTrust' && !isStranger)
}
