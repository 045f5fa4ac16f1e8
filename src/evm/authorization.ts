import type { Authorization } from '../chain/transaction.ts'
import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import { encodeRLP } from '../primitives/rlp.ts'
import { publicKeyToAddress, recoverPublicKey, SECP256K1_HALF_ORDER } from '../primitives/secp256k1.ts'
import type { WorldState } from '../state/world.ts'
import { delegationCode, delegationTarget } from './delegation.ts'

const MAX_NONCE = 2n ** 64n - 1n
/** Given back when the authority's account exists already: 25,000 were paid as if it did not (EIP-7702). */
const EXISTING_ACCOUNT_REFUND = 12_500n
/** EIP-7702's first byte of what an authority signs. */
const MAGIC = Uint8Array.of(0x05)

/** The hash that an authority signs. */
export function authorizationHash({ chainId, address, nonce }: Omit<Authorization, 'yParity' | 'r' | 's'>): Uint8Array {
  return keccak256(concatBytes(MAGIC, encodeRLP([chainId, address, nonce])))
}

/** Who signed the authorization; undefined when its signature is invalid. */
export function recoverAuthority(authorization: Authorization): Address | undefined {
  const { yParity, r, s } = authorization
  if (yParity > 1n || s > SECP256K1_HALF_ORDER) return undefined
  const publicKey = recoverPublicKey(authorizationHash(authorization), yParity === 1n ? 1 : 0, r, s)
  return publicKey === undefined ? undefined : publicKeyToAddress(publicKey)
}

/**
 * Sets the delegations of an EIP-7702 transaction; authorizations that don't hold are passed over, as the EIP demands.
 * Gives the gas refund that they earn, in gas.
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
  if (code.length > 0 && delegationTarget(code) === undefined) return 0n
  if (world.getNonce(authority) !== nonce) return 0n
  const refund = world.exists(authority) ? EXISTING_ACCOUNT_REFUND : 0n
  const clears = address.every((byte) => byte === 0)
  world.setCode(authority, clears ? new Uint8Array(0) : delegationCode(address))
  world.setNonce(authority, nonce + 1n)
  return refund
}
