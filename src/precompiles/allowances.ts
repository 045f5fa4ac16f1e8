import type { Address } from '../primitives/address.ts'
import { bigIntToBytes, bigIntToMinimalBytes, bytesToBigInt, concatBytes, padLeft } from '../primitives/bytes.ts'
import { keccak256 } from '../primitives/hash.ts'
import type { WorldState } from '../state/world.ts'

/** Where OpenZeppelin's ERC20 keeps `mapping(address owner => mapping(address spender => uint256))`. */
const ALLOWANCES_SLOT = 1n

/** Storage slot of one allowance in Solidity's layout: keccak256(spender . keccak256(owner . slot)), words of 32 bytes. */
export function allowanceSlot(owner: Address, spender: Address): Uint8Array {
  const ofOwner = keccak256(concatBytes(padLeft(owner, 32), bigIntToBytes(ALLOWANCES_SLOT, 32)))
  return keccak256(concatBytes(padLeft(spender, 32), ofOwner))
}

/** What `spender` may still move of `owner`'s tokens. */
export function getAllowance(
  world: Pick<WorldState, 'getStorage'>,
  token: Address,
  owner: Address,
  spender: Address,
): bigint {
  return bytesToBigInt(world.getStorage(token, allowanceSlot(owner, spender)))
}

export function setAllowance(
  world: Pick<WorldState, 'setStorage'>,
  token: Address,
  owner: Address,
  spender: Address,
  amount: bigint,
): void {
  world.setStorage(token, allowanceSlot(owner, spender), bigIntToMinimalBytes(amount))
}
