import type { Authorization } from '../chain/block/transaction.ts'
import type { Address } from '../primitives/address.ts'
import { concatBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { encodeRLP } from '../primitives/rlp.ts'
import { publicKeyToAddress, recoverPublicKey, SECP256K1_HALF_ORDER } from '../primitives/secp256k1.ts'
import type { WorldState } from '../state/world.ts'

const MAX_NONCE = 2n ** 64n - 1n
/** Given back when the authority's account exists already: 25,000 were paid as if it did not (EIP-7702). */
const EXISTING_ACCOUNT_REFUND = 12_500n
/** The first byte of what an authority signs. */
const MAGIC = Uint8Array.of(0x05)

/**
 * Sets the delegations of an EIP-7702 transaction. Invalid authorizations are skipped, as the EIP demands. Returns the gas refund of
 * the valid ones.
 */
export function applyAuthorizations(
  world: WorldState,
  authorizations: readonly Authorization[],
  chainId: bigint,
): bigint {
  let refund = 0n
  for (const authorization of authorizations) refund += applyAuthorization(world, authorization, chainId)
  return refund
}

function applyAuthorization(world: WorldState, authorization: Authorization, chainId: bigint): bigint {
  const { address, nonce } = authorization
  if (authorization.chainId !== 0n && authorization.chainId !== chainId) return 0n
  if (nonce >= MAX_NONCE) return 0n
  const authority = recoverAuthority(authorization)
  if (authority === undefined) return 0n
  world.warmAddress(authority)
  const code = world.getCode(authority)
  if (code.length > 0 && codeDelegationTarget(code) === undefined) return 0n
  if (world.getNonce(authority) !== nonce) return 0n
  const refund = world.exists(authority) ? EXISTING_ACCOUNT_REFUND : 0n
  const clears = address.every((byte) => byte === 0)
  world.setCode(authority, clears ? EMPTY_BYTES : codeDelegation(address))
  world.setNonce(authority, nonce + 1n)
  return refund
}

/** The signer of an authorization, and the account nonce with which it takes effect. */
export interface Authority {
  readonly address: Address
  readonly nonce: bigint
}

/** Returns the signers of the authorizations that can have an effect on the chain; invalid ones are left out. */
export function recoverAuthorities(authorizations: readonly Authorization[], chainId: bigint): Authority[] {
  return authorizations.flatMap((authorization) => {
    const { nonce } = authorization
    if (nonce >= MAX_NONCE) return []
    if (authorization.chainId !== 0n && authorization.chainId !== chainId) return []
    const address = recoverAuthority(authorization)
    return address === undefined ? [] : { address, nonce }
  })
}

/** Returns the hash that an authority signs. */
export function authorizationHash({ chainId, address, nonce }: Omit<Authorization, 'yParity' | 'r' | 's'>): Uint8Array {
  return keccak256(concatBytes(MAGIC, encodeRLP([chainId, address, nonce])))
}

/** Returns the signer of the authorization; undefined when its signature is invalid. */
export function recoverAuthority(authorization: Authorization): Address | undefined {
  const { yParity, r, s } = authorization
  if (yParity > 1n || s > SECP256K1_HALF_ORDER) return undefined
  const publicKey = recoverPublicKey(authorizationHash(authorization), yParity === 1n ? 1 : 0, r, s)
  return publicKey === undefined ? undefined : publicKeyToAddress(publicKey)
}

/** Code that begins with these bytes and an address delegates to that address. */
const PREFIX = Uint8Array.of(0xef, 0x01, 0x00)

/** Returns the address that `code` delegates to; undefined when it is not a delegation. */
export function codeDelegationTarget(code: Uint8Array): Address | undefined {
  if (code.length !== 23 || code[0] !== 0xef || code[1] !== 0x01 || code[2] !== 0x00) return undefined
  return code.slice(3)
}

/** Returns the code of an account that delegates to `target`. */
export function codeDelegation(target: Address): Uint8Array {
  return concatBytes(PREFIX, target)
}
