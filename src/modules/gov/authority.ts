import { parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import { govError } from './errors.ts'

/** What messages that only governance may send name as their authority. */
export const GOV_AUTHORITY: string = toBech32(GOVERNANCE)

/**
 * Refuses a message (MsgUpdateParams and its like) whose authority is not governance, as each SDK module's msg_server does.
 * No key belongs to that account, so that only passed proposals get here.
 * @param authority as the message has it, in either encoding
 * @throws AddressError when it is no address; the message's `signers` found that before
 */
export function requireAuthority(authority: string): SdkError | undefined {
  if (equalBytes(parseAddress(authority), GOVERNANCE)) return undefined
  return govError('invalidSigner', `invalid authority; expected ${GOV_AUTHORITY}, got ${authority}`)
}
