import type { ValidatorSet } from '../chain/comet/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { ConsensusKey, PendingSignature, SigningRequest } from './consensusKey.ts'

/**
 * Number of heights whose choices are retained: a remote signer may answer late, for the previous
 * height.
 */
const RETAINED_HEIGHTS = 2

/** A consensus key as others know it. */
export interface ValidatorIdentity {
  /** 20 bytes */
  readonly address: Uint8Array
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
}

/**
 * The keys of this node's validator: one, or two while it rotates its key. At each height the key
 * in the height's validator set is used, so every start chooses the same one. The signer remembers
 * the signatures of both keys in one order, so that no step is signed with both.
 */
export class ValidatorKeys implements ConsensusKey {
  readonly #keys: readonly ConsensusKey[]
  /** newest last */
  #chosen: readonly { readonly height: number; readonly key: ConsensusKey }[] = []

  /** @param keys at least one; the first is used while none is in the set */
  constructor(keys: readonly ConsensusKey[]) {
    if (keys.length === 0) throw new RangeError('a validator has at least one key')
    this.#keys = keys
  }

  /** Returns all keys, as others may know them. */
  get all(): readonly ValidatorIdentity[] {
    return this.#keys.map(({ address, publicKey }) => ({ address, publicKey }))
  }

  /** Of all keys. */
  get addresses(): readonly Uint8Array[] {
    return this.#keys.map(({ address }) => address)
  }

  /** Of the height that began last. */
  get address(): Uint8Array {
    return this.#present.address
  }

  /** Of the height that began last. */
  get publicKey(): Uint8Array {
    return this.#present.publicKey
  }

  /** Returns the key in this set; the first when none is. */
  keyIn({ validators }: Pick<ValidatorSet, 'validators'>): ConsensusKey {
    const isIn = (key: ConsensusKey) => validators.some(({ address }) => equalBytes(address, key.address))
    return this.#keys.find(isIn) ?? this.#keys[0]!
  }

  /** Chooses the key that signs at this height, by its validators. */
  begin(height: number, validators: Pick<ValidatorSet, 'validators'>): void {
    const others = this.#chosen.filter((chosen) => chosen.height !== height)
    this.#chosen = [...others, { height, key: this.keyIn(validators) }].slice(-RETAINED_HEIGHTS)
  }

  /** Returns the key of a height that began lately. */
  at(height: number): ConsensusKey {
    return this.#chosen.find((chosen) => chosen.height === height)?.key ?? this.#present
  }

  sign(request: SigningRequest, askedBefore?: Uint8Array): Uint8Array | PendingSignature | undefined {
    const { height } = request.kind === 'proposal' ? request.proposal : request.vote
    return this.at(height).sign(request, askedBefore)
  }

  get #present(): ConsensusKey {
    return this.#chosen.at(-1)?.key ?? this.#keys[0]!
  }
}
