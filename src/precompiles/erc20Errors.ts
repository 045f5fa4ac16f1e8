import { defineError } from './abi/errors.ts'
import { address, uint256 } from './abi/types.ts'

/** Revert data of ERC-6093, the custom errors of OpenZeppelin Contracts 5. Amounts in acoin. */

/** `sender` has `balance`, the call needs `needed`. */
export const insufficientBalance = defineError('ERC20InsufficientBalance', {
  sender: address,
  balance: uint256,
  needed: uint256,
})

/** `spender` may spend `allowance`, the call needs `needed`. */
export const insufficientAllowance = defineError('ERC20InsufficientAllowance', {
  spender: address,
  allowance: uint256,
  needed: uint256,
})

export const invalidSender = defineError('ERC20InvalidSender', { sender: address })
export const invalidReceiver = defineError('ERC20InvalidReceiver', { receiver: address })
export const invalidApprover = defineError('ERC20InvalidApprover', { approver: address })
export const invalidSpender = defineError('ERC20InvalidSpender', { spender: address })
