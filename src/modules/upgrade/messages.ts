import { parseAddress } from '../../primitives/address.ts'
import type { ModuleContext } from '../context.ts'
import { GOV_AUTHORITY, requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
import { SdkError, sdkError } from '../sdkError.ts'
import { checkPlan, clearPlan, doneHeight, setPlan } from './plan.ts'
import {
  MsgCancelUpgrade,
  MsgCancelUpgradeResponse,
  MsgSoftwareUpgrade,
  MsgSoftwareUpgradeResponse,
  type Plan,
} from './types.ts'

const UPGRADE_GAS = 30_000n
const EMPTY_ANSWER = new Uint8Array(0)

/** x/upgrade/keeper/msg_server.go */
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
      refuse(authority) ?? checkPlan(plan) ?? schedule(context, plan) ?? EMPTY_ANSWER,
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
      const refused = refuse(authority)
      if (refused !== undefined) return refused
      clearPlan(world.native)
      return EMPTY_ANSWER
    },
  }),
]

/** The module has a code of its own for a wrong authority (x/upgrade/types/errors.go). */
function refuse(authority: string): SdkError | undefined {
  const refused = requireAuthority(authority)
  if (refused === undefined) return undefined
  const reason = `expected ${GOV_AUTHORITY} got ${authority}`
  return new SdkError('upgrade', 6, `${reason}: expected authority account as only signer for proposal message`)
}

/** ScheduleUpgrade of x/upgrade/keeper/keeper.go: replaces the plan there was. */
function schedule({ world, block }: ModuleContext, plan: Plan): SdkError | undefined {
  // A plan runs at the begin of a block, so that this block is as much in the past as those before it.
  if (plan.height <= BigInt(block.height)) {
    return sdkError('invalidRequest', 'upgrade cannot be scheduled in the past')
  }
  if (doneHeight(world.native, plan.name) !== 0) {
    return sdkError('invalidRequest', `upgrade with name ${plan.name} has already been completed`)
  }
  setPlan(world.native, plan)
  return undefined
}
