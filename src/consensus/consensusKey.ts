import type { UnsignedProposal, UnsignedVote } from '../chain/comet/types.ts'
import { type Ed25519Key, signEd25519 } from '../primitives/ed25519.ts'

/** A message to sign. */
export type SigningRequest = (
  | { readonly kind: 'proposal'; readonly proposal: UnsignedProposal }
  | { readonly kind: 'vote'; readonly vote: UnsignedVote }
) & { readonly signBytes: Uint8Array }

/**
 * A remote signer's unverified answer. The time is an earlier one when the signer has signed the
 * message before.
 */
export interface RemoteSignature {
  readonly timestampMs: number
  /** 64 bytes, ed25519 */
  readonly signature: Uint8Array
}

/** A request to a remote signer that has not left yet. */
export interface PendingSignature {
  /** who is asked: the 32-byte key of the signer's connection; empty: one whose connection has no key */
  readonly signer: Uint8Array
  /**
   * Sends the request; must be called only when the log has it on stable storage. `done` is called
   * at most once: when a request is sent again before its answer, only the last `done` is called.
   */
  readonly send: (done: (answer: RemoteSignature) => void) => void
}

/** A consensus key as the signer uses it: in this process or in a remote signer, one key or several for different heights. */
export interface ConsensusKey {
  /** 20 bytes */
  readonly address: Uint8Array
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /**
   * @param askedBefore the `signer` that was asked for these very bytes and has not answered: no
   * other one may be asked for them
   * @returns the signature (64 bytes), now or later; undefined when no signer can be asked
   */
  sign(request: SigningRequest, askedBefore?: Uint8Array): Uint8Array | PendingSignature | undefined
  /** The key that signs at this height, where there are several. */
  at?(height: number): ConsensusKey
}

/** A key in this process. */
export function localKey(key: Ed25519Key & Pick<ConsensusKey, 'address'>): ConsensusKey {
  const { address, publicKey } = key
  return { address, publicKey, sign: ({ signBytes }) => signEd25519(key, signBytes) }
}
