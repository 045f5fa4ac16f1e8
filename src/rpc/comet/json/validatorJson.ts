import type { RankedValidatorSet } from '../../../chain/consensus/types.ts'
import { toBuffer } from '../../../primitives/bytes.ts'
import { upperHex } from './text.ts'

/** crypto/ed25519.PubKey behind its interface */
export function publicKeyJson(publicKey: Uint8Array) {
  return { type: 'tendermint/PubKeyEd25519', value: toBuffer(publicKey).toString('base64') }
}

/** types.Validator of the one at `index`. */
export function validatorJson({ validators, priorities }: RankedValidatorSet, index: number) {
  const { address, publicKey, power } = validators[index]!
  return {
    address: upperHex(address),
    pub_key: publicKeyJson(publicKey),
    voting_power: power.toString(),
    proposer_priority: priorities[index]!.toString(),
  }
}

/** types.ValidatorSet */
export function validatorSetJson(set: RankedValidatorSet) {
  return {
    validators: set.validators.map((_, index) => validatorJson(set, index)),
    proposer: validatorJson(set, set.proposer),
  }
}
