import { type SdkError, sdkError } from '../sdkError.ts'
import type { Description } from './types.ts'

/** Bytes that the parts of a description may have (x/staking/types/validator.go). */
const MAX_BYTES: Readonly<Record<keyof Description, number>> = {
  moniker: 70,
  identity: 3000,
  website: 140,
  securityContact: 140,
  details: 280,
}
const NAMES: Readonly<Record<keyof Description, string>> = {
  moniker: 'moniker',
  identity: 'identity',
  website: 'website',
  securityContact: 'security contact',
  details: 'details',
}
const PARTS = Object.keys(MAX_BYTES) as (keyof Description)[]
/** A part with this text stays as it is when a validator is edited. */
export const DO_NOT_MODIFY = '[do-not-modify]'

export function checkDescription(description: Description): SdkError | undefined {
  for (const part of PARTS) {
    const length = Buffer.byteLength(description[part], 'utf8')
    if (length > MAX_BYTES[part]) {
      return sdkError('invalidRequest', `invalid ${NAMES[part]} length; got: ${length}, max: ${MAX_BYTES[part]}`)
    }
  }
  return undefined
}

export function isEmptyDescription(description: Description): boolean {
  return PARTS.every((part) => description[part] === '')
}

/** `present` with the parts that `wanted` names. */
export function updateDescription(present: Description, wanted: Description): Description {
  const updated = { ...wanted }
  for (const part of PARTS) if (wanted[part] === DO_NOT_MODIFY) updated[part] = present[part]
  return updated
}
