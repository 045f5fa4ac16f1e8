import type { Address } from '../primitives/address.ts'
import { encodeError } from './abi.ts'

/** Revert data of ERC-6093, the custom errors of OpenZeppelin Contracts 5. Amounts in acoin. */

/** `sender` has `balance`, the call needs `needed`. */
export function insufficientBalance(sender: Address, balance: bigint, needed: bigint): Uint8Array {
  return encodeError('ERC20InsufficientBalance(address,uint256,uint256)', sender, balance, needed)
}

/** `spender` may spend `allowance`, the call needs `needed`. */
export function insufficientAllowance(spender: Address, allowance: bigint, needed: bigint): Uint8Array {
  return encodeError('ERC20InsufficientAllowance(address,uint256,uint256)', spender, allowance, needed)
}

export function invalidSender(sender: Address): Uint8Array {
  return encodeError('ERC20InvalidSender(address)', sender)
}

export function invalidReceiver(receiver: Address): Uint8Array {
  return encodeError('ERC20InvalidReceiver(address)', receiver)
}

export function invalidApprover(approver: Address): Uint8Array {
  return encodeError('ERC20InvalidApprover(address)', approver)
}

export function invalidSpender(spender: Address): Uint8Array {
  return encodeError('ERC20InvalidSpender(address)', spender)
}
