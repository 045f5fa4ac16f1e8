import { AUTHZ_COMMANDS } from './authzCommands.ts'
import { BANK_COMMANDS } from './bankCommands.ts'
import { DISTRIBUTION_COMMANDS } from './distributionCommands.ts'
import { FEEGRANT_COMMANDS } from './feegrantCommands.ts'
import { GOV_COMMANDS } from './govCommands.ts'
import { readMessages } from './messageFile.ts'
import { SLASHING_COMMANDS } from './slashingCommands.ts'
import { STAKING_COMMANDS } from './stakingCommands.ts'
import type { TxCommand } from './txCommand.ts'

/** Every command below `coind tx` that makes messages. */
export const MESSAGE_COMMANDS: readonly TxCommand[] = [
  ...BANK_COMMANDS,
  ...STAKING_COMMANDS,
  ...DISTRIBUTION_COMMANDS,
  ...GOV_COMMANDS,
  ...SLASHING_COMMANDS,
  ...AUTHZ_COMMANDS,
  ...FEEGRANT_COMMANDS,
  {
    group: 'messages',
    name: 'send',
    description: 'Send any messages in one transaction',
    arguments: [['<file>', 'JSON: an array of messages, each with its @type']],
    build: ({ args: [file], terminal }) => readMessages(file!, terminal),
  },
]
