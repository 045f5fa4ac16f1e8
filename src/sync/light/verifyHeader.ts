import { verifyCommit, verifyCommitLightTrusting } from '../../chain/comet/commit.ts'
import { checkLightBlock, type LightBlock } from '../../chain/comet/lightBlock.ts'
import type { ValidatorSet } from '../../chain/comet/types.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { VerifySignature } from '../../primitives/ed25519.ts'

/**
 * The state that new headers are checked against: a verified light block, or the genesis as the
 * state before block 1.
 */
export interface TrustedState {
  /** 0 for the genesis */
  readonly height: number
  readonly timeMs: number
  /** of `height`; of height 1 for the genesis */
  readonly validators: ValidatorSet
  readonly nextValidatorsHash: Uint8Array
}

export interface LightClientRules {
  readonly chainId: string
  /** Time in which validators can be punished for what they signed: shorter than the unbonding time. */
  readonly trustingPeriodMs: number
  /** how far a header's time may be ahead of this machine's clock */
  readonly maxClockDriftMs: number
  /** ed25519 by default; simulations use another scheme */
  readonly verifySignature?: VerifySignature
}

export type HeaderVerdict =
  | { readonly kind: 'valid' }
  /** the trusted state is older than the trusting period (ErrOldHeaderExpired) */
  | { readonly kind: 'expired' }
  /** a third of the trusted power or less signed; a header between the two may help (ErrNewValSetCantBeTrusted) */
  | { readonly kind: 'distrusted'; readonly reason: string }
  /** no honest validators decided it (ErrInvalidHeader) */
  | { readonly kind: 'invalid'; readonly reason: string }

export function trustedStateOf({ header, validators }: LightBlock): TrustedState {
  const { height, timeMs, nextValidatorsHash } = header
  return { height, timeMs, validators, nextValidatorsHash }
}

/** Returns whether a trusted state may no longer be used (light/verifier.go, HeaderExpired). */
export function isExpired({ timeMs }: Pick<TrustedState, 'timeMs'>, periodMs: number, nowMs: number): boolean {
  return timeMs + periodMs <= nowMs
}

/**
 * Checks a light block against a trusted state (light/verifier.go, VerifyAdjacent and VerifyNonAdjacent): the next one must have the
 * validators that the trusted header announces; a later one must be signed by more than a third of the trusted power, so by an honest
 * validator. Either must be signed by more than two thirds of its own validators. The order of the checks is CometBFT's: signatures of
 * validators that the block itself names come last, because a liar may name many.
 */
export function verifyHeader(
  trusted: TrustedState,
  block: LightBlock,
  rules: LightClientRules,
  nowMs: number,
): HeaderVerdict {
  const { chainId, trustingPeriodMs, maxClockDriftMs, verifySignature } = rules
  const { header, commit, validators } = block
  if (isExpired(trusted, trustingPeriodMs, nowMs)) return { kind: 'expired' }
  const problem = checkLightBlock(block, chainId)
  if (problem !== undefined) return invalid(problem)
  if (header.height <= trusted.height) return invalid(`height ${header.height} is not after ${trusted.height}`)
  if (header.timeMs <= trusted.timeMs) return invalid(`its time is not after that of height ${trusted.height}`)
  if (header.timeMs >= nowMs + maxClockDriftMs) {
    return invalid(
      `its time ${new Date(header.timeMs).toISOString()} is in the future: compare the clock of this machine`,
    )
  }
  if (header.height === trusted.height + 1) {
    if (!equalBytes(header.validatorsHash, trusted.nextValidatorsHash)) {
      return invalid(`its validators are not those that height ${trusted.height} announces`)
    }
  } else {
    const trusting = verifyCommitLightTrusting(chainId, trusted.validators, commit, verifySignature)
    if (!trusting.valid)
      return trusting.isTooLittle ? { kind: 'distrusted', reason: trusting.reason } : invalid(trusting.reason)
  }
  const target = { chainId, height: header.height, blockId: commit.blockId, validators }
  const verdict = verifyCommit(target, commit, verifySignature)
  return verdict.valid ? { kind: 'valid' } : invalid(verdict.reason)
}

function invalid(reason: string): HeaderVerdict {
  return { kind: 'invalid', reason }
}
