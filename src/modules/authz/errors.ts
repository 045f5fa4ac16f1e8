import { SdkError } from '../sdkError.ts'

/** Errors of the codespace `authz` (x/authz/errors.go): code and text. */
const AUTHZ_ERRORS = {
  notFound: [2, 'authorization not found'],
  invalidExpiration: [3, 'expiration time of authorization should be more than current time'],
  unknownType: [4, 'unknown authorization type'],
  expired: [6, 'authorization expired'],
  granteeIsGranter: [7, 'grantee and granter should be different'],
  numberOfSigners: [9, 'authorization can be given to msg with only one signer'],
  negativeMaxTokens: [12, 'max tokens should be positive'],
} as const

export function authzError(name: keyof typeof AUTHZ_ERRORS, reason?: string): SdkError {
  const [code, text] = AUTHZ_ERRORS[name]
  return new SdkError('authz', code, reason === undefined ? text : `${reason}: ${text}`)
}
