import { defineErrors } from '../sdkError.ts'

/** Makes an error of the codespace `authz` (x/authz/errors.go). */
export const authzError = defineErrors('authz', {
  notFound: [2, 'authorization not found'],
  invalidExpiration: [3, 'expiration time of authorization should be more than current time'],
  unknownType: [4, 'unknown authorization type'],
  expired: [6, 'authorization expired'],
  granteeIsGranter: [7, 'grantee and granter should be different'],
  numberOfSigners: [9, 'authorization can be given to msg with only one signer'],
  negativeMaxTokens: [12, 'max tokens should be positive'],
})
