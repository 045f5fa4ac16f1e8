import { ed25519Address, signEd25519, verifyEd25519 } from '../chain/consensus/ed25519.ts'
import { concatBytes } from '../primitives/bytes.ts'

/**
 * No other signed text of a validator starts so: sign bytes of votes and proposals are protobuf behind its length, whose second
 * byte is 0x08.
 */
const DOMAIN = new TextEncoder().encode('coind/validator-proof/1')

/** Shows that whoever holds a node key also holds a validator's consensus key. */
export interface ValidatorProof {
  /** ed25519, 32 bytes: the consensus key */
  readonly publicKey: Uint8Array
  /** 64 bytes */
  readonly signature: Uint8Array
}

/** What the consensus key signs: the node's public key (32 bytes), on the chain with this genesis (32 bytes). */
function boundBytes(nodePublicKey: Uint8Array, genesisHash: Uint8Array): Uint8Array {
  return concatBytes(DOMAIN, Uint8Array.of(nodePublicKey.length), nodePublicKey, genesisHash)
}

/** Made where the validator's key is; the network thread gets the proof alone. */
export function createValidatorProof(
  key: Parameters<typeof signEd25519>[0] & { readonly publicKey: Uint8Array },
  nodePublicKey: Uint8Array,
  genesisHash: Uint8Array,
): ValidatorProof {
  return { publicKey: key.publicKey, signature: signEd25519(key, boundBytes(nodePublicKey, genesisHash)) }
}

/** The consensus address (20 bytes) that the proof is of; undefined when it proves nothing. */
export function provenValidator(
  proof: ValidatorProof,
  nodePublicKey: Uint8Array,
  genesisHash: Uint8Array,
): Uint8Array | undefined {
  const isValid = verifyEd25519(proof.publicKey, boundBytes(nodePublicKey, genesisHash), proof.signature)
  return isValid ? ed25519Address(proof.publicKey) : undefined
}
