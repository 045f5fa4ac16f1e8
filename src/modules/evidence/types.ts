import { defineMessage, int64, string, timestamp } from '../../primitives/protoSchema.ts'

/** cosmos.evidence.v1beta1.Equivocation: that a validator signed two blocks. */
export const Equivocation = defineMessage('cosmos.evidence.v1beta1.Equivocation', {
  height: int64(1),
  time: timestamp(2),
  power: int64(3),
  consensusAddress: string(4),
})
