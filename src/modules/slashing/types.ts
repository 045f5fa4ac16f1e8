import { bool, defineMessage, int64, string, timestamp, type ValueOf } from '../../primitives/protoSchema.ts'

/** cosmos.slashing.v1beta1.ValidatorSigningInfo */
export const ValidatorSigningInfo = defineMessage('cosmos.slashing.v1beta1.ValidatorSigningInfo', {
  /** bech32 of the consensus address */
  address: string(1),
  startHeight: int64(2),
  indexOffset: int64(3),
  jailedUntil: timestamp(4),
  tombstoned: bool(5),
  missedBlocksCounter: int64(6),
})
export type ValidatorSigningInfo = ValueOf<typeof ValidatorSigningInfo>
