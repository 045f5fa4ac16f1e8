import { parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import { govError } from './errors.ts'

/** The authority that messages name which only governance may send. */
export const GOV_AUTHORITY: string = toBech32(GOVERNANCE)

/**
 * Refuses a message (such as MsgUpdateParams) whose authority is not governance, as each SDK module's msg_server does.
 * No key belongs to that account: only passed proposals can send such a message.
 * @param authority as the message has it, in either encoding
 * @throws AddressError when it is not an address; the message's `signers` has parsed it before
 */
export function requireAuthority(authority: string): SdkError | undefined {
  if (equalBytes(parseAddress(authority), GOVERNANCE)) return undefined
  return govError('invalidSigner', `invalid authority; expected ${GOV_AUTHORITY}, got ${authority}`)
}
