import { headerHash } from '../../chain/comet/block.ts'
import type { LightBlock } from '../../chain/comet/lightBlock.ts'
import { verifyLightBlock } from '../../chain/comet/lightBlock.ts'
import type { ValidatorSet } from '../../chain/comet/types.ts'
import { validatorSetHash } from '../../chain/comet/validatorSet.ts'
import type { TrustPoint } from '../../config/config.ts'
import { TRUST_POINT_ADVICE } from '../../config/syncDecision.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { type LightBlockSource, LightClientError, requireLightBlock } from './lightBlockSource.ts'
import type { LightClientRules, TrustedState } from './verifyHeader.ts'

/** The operator's choice of a state to trust without proof. */
export type TrustRoot =
  | {
      readonly kind: 'genesis'
      readonly timeMs: number
      /** of the first block */
      readonly validators: ValidatorSet
    }
  /** TRUST_HEIGHT and TRUST_HASH */
  | ({ readonly kind: 'point' } & TrustPoint)

/**
 * Returns the genesis as the state before block 1. So it has its own time: that of block 1 could be
 * forged by genesis validators who unbonded long ago. And no header of block 1 is needed, where
 * validators of the genesis still have the power to prove later ones.
 */
export function genesisState({ timeMs, validators }: TrustRoot & { kind: 'genesis' }): TrustedState {
  return { height: 0, timeMs, validators, nextValidatorsHash: validatorSetHash(validators) }
}

/**
 * Fetches the light block at the trusted height, which must have the trusted hash and be signed by
 * its validators (light/client.go, initializeWithTrustOptions).
 * @throws LightClientError
 */
export async function fetchTrustPoint(
  { height, hash }: TrustRoot & { kind: 'point' },
  source: LightBlockSource,
  { chainId, verifySignature }: Pick<LightClientRules, 'chainId' | 'verifySignature'>,
  signal: AbortSignal,
): Promise<LightBlock> {
  const block = await requireLightBlock(source, height, chainId, signal)
  const found = headerHash(block.header)
  if (!equalBytes(found, hash)) {
    throw new LightClientError(
      'wrongTrust',
      `the header of height ${height} from ${source.name} has the hash ${digits(found)}, but TRUST_HASH is ${digits(hash)}: one of the two is of another chain`,
    )
  }
  const problem = verifyLightBlock(block, chainId, verifySignature)
  if (problem === undefined) return block
  throw new LightClientError(
    'invalid',
    `${source.name} returned an invalid light block of height ${height}: ${problem}`,
  )
}

/** Returns the error of a trusted state that is too old to be used (ErrOldHeaderExpired). */
export function trustExpired(
  { height, timeMs }: Pick<TrustedState, 'height' | 'timeMs'>,
  periodMs: number,
): LightClientError {
  const what = height === 0 ? 'the genesis' : `the trusted header of height ${height}`
  return new LightClientError(
    'trustExpired',
    `${what} is of ${new Date(timeMs).toISOString()}, longer ago than TRUST_PERIOD (${periodMs / 3_600_000} hours): ${TRUST_POINT_ADVICE}`,
  )
}

export function digits(hash: Uint8Array): string {
  return bytesToHex(hash).slice(2)
}
