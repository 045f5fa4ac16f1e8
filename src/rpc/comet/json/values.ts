import { type BlockId, NIL_BLOCK_ID, type RankedValidatorSet } from '../../../chain/comet/types.ts'
import { bytesToUpperHex, toBuffer } from '../../../primitives/bytes.ts'

/** Formats a Go byte slice in JSON: an empty one is null. */
export function base64(bytes: Uint8Array): string | null {
  return bytes.length === 0 ? null : toBuffer(bytes).toString('base64')
}

/** Formats a time in RFC 3339 as Go writes it: no trailing zeros in the fraction. */
export function formatTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.?0*Z$/, 'Z')
}

const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?(?:Z|[+-][0-9]{2}:[0-9]{2})$/

/**
 * Reads a time.
 * @returns undefined for text that is not RFC 3339, or has a fraction of a millisecond, which no
 *   time of this chain has
 */
export function parseTime(text: string): number | undefined {
  const match = TIME.exec(text)
  if (match === null || /[1-9]/.test(match[1]?.slice(3) ?? '')) return undefined
  const timeMs = Date.parse(text)
  return Number.isNaN(timeMs) ? undefined : timeMs
}

/** Formats types.BlockID. */
export function blockIdJson({ hash, partSetHeader }: BlockId) {
  return {
    hash: bytesToUpperHex(hash),
    parts: { total: partSetHeader.total, hash: bytesToUpperHex(partSetHeader.hash) },
  }
}

/** The ID that CometBFT shows for a missing block. */
export const NO_BLOCK_ID_JSON = blockIdJson(NIL_BLOCK_ID)

/** Formats crypto/ed25519.PubKey with its type name, as Go writes an interface. */
export function publicKeyJson(publicKey: Uint8Array) {
  return { type: 'tendermint/PubKeyEd25519', value: toBuffer(publicKey).toString('base64') }
}

/** Formats types.Validator of the validator at `index`. */
export function validatorJson({ validators, priorities }: RankedValidatorSet, index: number) {
  const { address, publicKey, power } = validators[index]!
  return {
    address: bytesToUpperHex(address),
    pub_key: publicKeyJson(publicKey),
    voting_power: power.toString(),
    proposer_priority: priorities[index]!.toString(),
  }
}

/** Formats types.ValidatorSet. */
export function validatorSetJson(set: RankedValidatorSet) {
  return {
    validators: set.validators.map((_, index) => validatorJson(set, index)),
    proposer: validatorJson(set, set.proposer),
  }
}
