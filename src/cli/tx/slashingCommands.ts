import { operatorText } from './addresses.ts'
import type { TxCommand } from './txCommand.ts'

export const SLASHING_COMMANDS: readonly TxCommand[] = [
  {
    group: 'slashing',
    name: 'unjail',
    description: 'Bring the validator that the sender operates back from jail',
    arguments: [],
    build: ({ from }) => [{ '@type': '/cosmos.slashing.v1beta1.MsgUnjail', validator_addr: operatorText(from) }],
  },
]
