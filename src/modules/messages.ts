import { AUTH_MESSAGES } from './auth/messages.ts'
import { authzMessages } from './authz/messages.ts'
import { BANK_MESSAGES } from './bank/messages.ts'
import { CONSENSUS_MESSAGES } from './consensus/messages.ts'
import { DISTRIBUTION_MESSAGES } from './distribution/messages.ts'
import { FEEGRANT_MESSAGES } from './feegrant/messages.ts'
import { FEEMARKET_MESSAGES } from './feemarket/messages.ts'
import { govMessages } from './gov/messages.ts'
import { createMessageTable, type MessageTable } from './message.ts'
import { MINT_MESSAGES } from './mint/messages.ts'
import { SLASHING_MESSAGES } from './slashing/messages.ts'
import { STAKING_MESSAGES } from './staking/messages.ts'
import { UPGRADE_MESSAGES } from './upgrade/messages.ts'

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
])
