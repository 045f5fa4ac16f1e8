import type { StatefulPrecompile } from '../evm/precompile.ts'
import { type Address, toBech32 } from '../primitives/address.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import { encodeErrorString } from './abi/errors.ts'

/**
 * The account of a native module as contracts and Ethereum's wallets meet it: a call with value reverts with what MsgSend is refused
 * with, since nobody could move the coins out again. Without value it is a call to an account without code.
 */
export function closedAccount(address: Address): StatefulPrecompile {
  const refusal = encodeErrorString(`${toBech32(address)} is not allowed to receive funds: unauthorized`)
  return {
    address,
    run: ({ value, isDelegated }) =>
      value === 0n || isDelegated
        ? { status: 'success', output: EMPTY_BYTES, gasUsed: 0n }
        : { status: 'revert', output: refusal, gasUsed: 0n },
  }
}
