import { parseAddress } from '../../primitives/address.ts'
import { defineMessage, embedded, string } from '../../primitives/protoSchema.ts'
import type { ModuleContext } from '../context.ts'
import { GOV_AUTHORITY, requireAuthority } from '../gov/authority.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { SdkError, sdkError } from '../sdkError.ts'
import { checkPlan, clearPlan, doneHeight, Plan, setPlan } from './plan.ts'

export const MsgSoftwareUpgrade = defineMessage('cosmos.upgrade.v1beta1.MsgSoftwareUpgrade', {
  authority: string(1),
  plan: embedded(2, Plan),
})
const MsgSoftwareUpgradeResponse = defineMessage('cosmos.upgrade.v1beta1.MsgSoftwareUpgradeResponse', {})
export const MsgCancelUpgrade = defineMessage('cosmos.upgrade.v1beta1.MsgCancelUpgrade', { authority: string(1) })
const MsgCancelUpgradeResponse = defineMessage('cosmos.upgrade.v1beta1.MsgCancelUpgradeResponse', {})

const UPGRADE_GAS = 30_000n

/** The upgrade module's messages (x/upgrade/keeper/msg_server.go). */
export const UPGRADE_MESSAGES: readonly MessageHandler[] = [
  defineHandler({
    type: MsgSoftwareUpgrade,
    response: MsgSoftwareUpgradeResponse,
    aminoName: 'cosmos-sdk/MsgSoftwareUpgrade',
    module: 'upgrade',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ plan }) => checkPlan(plan),
    gas: () => UPGRADE_GAS,
    run: (context, { authority, plan }) =>
      checkAuthority(authority) ?? checkPlan(plan) ?? schedule(context, plan) ?? EMPTY_RESPONSE,
  }),
  defineHandler({
    type: MsgCancelUpgrade,
    response: MsgCancelUpgradeResponse,
    aminoName: 'cosmos-sdk/MsgCancelUpgrade',
    module: 'upgrade',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: () => undefined,
    gas: () => UPGRADE_GAS,
    run: ({ world }, { authority }) => {
      const refused = checkAuthority(authority)
      if (refused !== undefined) return refused
      clearPlan(world.native)
      return EMPTY_RESPONSE
    },
  }),
]

/** A wrong authority has an error code of its own in this module (x/upgrade/types/errors.go). */
function checkAuthority(authority: string): SdkError | undefined {
  const refused = requireAuthority(authority)
  if (refused === undefined) return undefined
  const reason = `expected ${GOV_AUTHORITY} got ${authority}`
  return new SdkError('upgrade', 6, `${reason}: expected authority account as only signer for proposal message`)
}

/** ScheduleUpgrade of x/upgrade/keeper/keeper.go: a new plan replaces the old one. */
function schedule({ world, block }: ModuleContext, plan: Plan): SdkError | undefined {
  // A plan runs at the beginning of its block: the current block has begun, so its height is in the
  // past.
  if (plan.height <= BigInt(block.height)) {
    return sdkError('invalidRequest', 'upgrade cannot be scheduled in the past')
  }
  if (doneHeight(world.native, plan.name) !== 0) {
    return sdkError('invalidRequest', `upgrade with name ${plan.name} has already been completed`)
  }
  setPlan(world.native, plan)
  return undefined
}
