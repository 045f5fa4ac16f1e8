import { BLOCK_ID_FLAGS, type Commit, type ValidatorSet } from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { ConsensusState } from './consensusState.ts'
import type { Recovery } from './recovery.ts'
import { hasOwnEntry } from './recoveryReplay.ts'

/** Why the signer has to keep still for a while, and up to which height. */
export interface Abstention {
  readonly throughHeight: number
  /** it may end when the height is not decided for a long time: the network may be waiting for this validator */
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
export class SigningGuard {
  readonly #address: Uint8Array
  readonly #recovery: Recovery
  /** the log was begun beside a database that had blocks already */
  #isLogNew: boolean
  /** highest height at which the chain holds a signature that the log lacks */
  #unknownHeight = 0

  constructor(address: Uint8Array, recovery: Recovery, isLogNew: boolean) {
    this.#address = address
    this.#recovery = recovery
    this.#isLogNew = isLogNew
  }

  /** A commit of the chain; its signatures were verified. */
  see(commit: Commit): void {
    const known = this.#recovery.lastSigned?.height ?? 0
    if (commit.height > known && hasSigned(commit, this.#address)) {
      this.#unknownHeight = Math.max(this.#unknownHeight, commit.height)
    }
  }

  /** To be asked when consensus begins after `state`; undefined: nothing stands against signing. */
  check(state: ConsensusState): Abstention | undefined {
    const height = state.lastHeight + 1
    const last = this.#recovery.lastSigned
    if (last !== undefined && last.height >= height && !hasOwnEntry(this.#recovery, last.height)) {
      const why = 'the log remembers a signature for a height whose messages it has lost'
      return { throughHeight: last.height, mayEnd: false, why }
    }
    const isUnknown = this.#unknownHeight > (last?.height ?? 0)
    const isLogNew = this.#isLogNew && last === undefined && isValidator(state.validators, this.#address)
    // Once is enough: what this process signs from here on it remembers.
    this.#isLogNew = false
    this.#unknownHeight = 0
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
