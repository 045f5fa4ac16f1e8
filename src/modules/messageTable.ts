import type { AnyMessageType } from '../primitives/protoScalars.ts'
import { AUTH_MESSAGES } from './auth/messages.ts'
import { authzMessages } from './authz/messages.ts'
import { AUTHORIZATION_TYPES } from './authz/types.ts'
import { BANK_MESSAGES } from './bank/messages.ts'
import { CONSENSUS_MESSAGES } from './consensus/messages.ts'
import { DISTRIBUTION_MESSAGES } from './distribution/messages.ts'
import { FEEGRANT_MESSAGES } from './feegrant/messages.ts'
import { ALLOWANCE_TYPES } from './feegrant/types.ts'
import { FEEMARKET_MESSAGES } from './feemarket/messages.ts'
import { govMessages } from './gov/messages.ts'
import { CONTENT_TYPES } from './gov/typesV1beta1.ts'
import { createMessageTable, type MessageTable } from './message.ts'
import { MINT_MESSAGES } from './mint/messages.ts'
import { SLASHING_MESSAGES } from './slashing/messages.ts'
import { STAKING_MESSAGES } from './staking/messages.ts'
import { UPGRADE_MESSAGES } from './upgrade/messages.ts'
import { VESTING_MESSAGES } from './vesting/messages.ts'

/** Every message that the chain knows, by type URL. */
export const MESSAGES: MessageTable = createMessageTable([
  ...AUTH_MESSAGES,
  ...authzMessages(() => MESSAGES),
  ...BANK_MESSAGES,
  ...CONSENSUS_MESSAGES,
  ...DISTRIBUTION_MESSAGES,
  ...FEEGRANT_MESSAGES,
  ...FEEMARKET_MESSAGES,
  ...govMessages(() => MESSAGES),
  ...MINT_MESSAGES,
  ...SLASHING_MESSAGES,
  ...STAKING_MESSAGES,
  ...UPGRADE_MESSAGES,
  ...VESTING_MESSAGES,
])

/** A type that an Any inside of a message can hold, and that is not itself a message. */
export interface AnyType {
  readonly type: AnyMessageType
  /** its name in amino JSON */
  readonly aminoName: string
}

/** Contents of proposals, authorizations and allowances, by type URL. */
export const ANY_TYPES: ReadonlyMap<string, AnyType> = new Map(
  [...CONTENT_TYPES, ...AUTHORIZATION_TYPES, ...ALLOWANCE_TYPES].map((entry) => [entry.type.typeUrl, entry]),
)
