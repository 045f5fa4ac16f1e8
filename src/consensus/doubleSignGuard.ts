import { BLOCK_ID_FLAGS, type Commit, type ValidatorSet } from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { ConsensusState } from './consensusState.ts'
import type { Recovery } from './recovery.ts'
import { hasOwnEntry } from './recoveryReplay.ts'
import { comparePositions, SIGNED_STEPS } from './signer.ts'

/** Why the signer has to keep still for a while, and up to which height. */
export interface Abstention {
  readonly throughHeight: number
  /**
   * it may end when the height is not decided for a long time: the network may be waiting for this validator; otherwise it ends
   * when consensus begins at the height with the log's entries of it
   */
  readonly mayEnd: boolean
  readonly why: string
}

/** Whether the validator's precommit, for the block or nil, is in the commit. */
export function hasSigned(commit: Commit, address: Uint8Array): boolean {
  return commit.signatures.some(
    ({ flag, validatorAddress }) => flag !== BLOCK_ID_FLAGS.absent && equalBytes(validatorAddress, address),
  )
}

/**
 * Looks for signatures of this node's key that its log has no memory of: then the directory is an old copy, or the log was
 * deleted, and the key may have signed for the open height already. Whoever signed could not sign for the height after
 * before that one was decided, so once it is decided here the key is safe again.
 */
export class DoubleSignGuard {
  readonly #address: Uint8Array
  readonly #recovery: Recovery
  /** the log was begun beside a database that had blocks already */
  #isLogNew: boolean
  /** the chain holds a signature that the log lacks */
  #hasSeenUnknown = false

  constructor(address: Uint8Array, recovery: Recovery, isLogNew: boolean) {
    this.#address = address
    this.#recovery = recovery
    this.#isLogNew = isLogNew
  }

  /** A commit of the chain; its signatures were verified. */
  see(commit: Commit): void {
    const last = this.#recovery.lastSigned
    const { height, round } = commit
    const isKnown = last !== undefined && comparePositions(last, { height, round, step: SIGNED_STEPS.precommit }) >= 0
    if (!isKnown && hasSigned(commit, this.#address)) this.#hasSeenUnknown = true
  }

  /** To be asked when consensus begins after `state`; undefined: nothing stands against signing. */
  check(state: ConsensusState): Abstention | undefined {
    const height = state.lastHeight + 1
    const last = this.#recovery.lastSigned
    // At the height itself the replay of its entries says what may be signed; reached otherwise it would begin without them.
    if (
      last !== undefined &&
      (last.height > height || (last.height === height && !hasOwnEntry(this.#recovery, height)))
    ) {
      const why = 'the log remembers signatures for later heights than the database has'
      return { throughHeight: last.height, mayEnd: false, why }
    }
    const isUnknown = this.#hasSeenUnknown
    const isLogNew = this.#isLogNew && last === undefined && isValidator(state.validators, this.#address)
    // Once is enough: what this process signs from here on it remembers.
    this.#isLogNew = false
    this.#hasSeenUnknown = false
    if (isUnknown) {
      const why = 'the chain holds signatures of this key that the log does not know: the directory is an old copy'
      return { throughHeight: height, mayEnd: true, why }
    }
    if (isLogNew) {
      const why = 'the log does not know what this key has signed: it was begun anew beside an older database'
      return { throughHeight: height, mayEnd: true, why }
    }
    return undefined
  }
}

function isValidator({ validators }: ValidatorSet, address: Uint8Array): boolean {
  return validators.some((validator) => equalBytes(validator.address, address))
}
