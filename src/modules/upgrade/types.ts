import { any, defineMessage, embedded, int64, string, timestamp, type ValueOf } from '../../primitives/protoSchema.ts'

/** cosmos.upgrade.v1beta1 */

export const Plan = defineMessage('cosmos.upgrade.v1beta1.Plan', {
  name: string(1),
  /** deprecated: must be the zero time */
  time: timestamp(2),
  /** the first block of the new version */
  height: int64(3),
  info: string(4),
  /** deprecated: must be absent */
  upgradedClientState: any(5),
})
export type Plan = ValueOf<typeof Plan>

export const MsgSoftwareUpgrade = defineMessage('cosmos.upgrade.v1beta1.MsgSoftwareUpgrade', {
  authority: string(1),
  plan: embedded(2, Plan),
})
export const MsgSoftwareUpgradeResponse = defineMessage('cosmos.upgrade.v1beta1.MsgSoftwareUpgradeResponse', {})
export const MsgCancelUpgrade = defineMessage('cosmos.upgrade.v1beta1.MsgCancelUpgrade', { authority: string(1) })
export const MsgCancelUpgradeResponse = defineMessage('cosmos.upgrade.v1beta1.MsgCancelUpgradeResponse', {})
