import { beginAuthz } from './authz/grants.ts'
import { doItem } from './blockItem.ts'
import { type Budget, budgetOf } from './budget.ts'
import type { LastCommitInfo, Misbehaviour, ModuleContext } from './context.ts'
import { beginDistribution } from './distribution/divideFees.ts'
import { handleEvidence } from './evidence/evidence.ts'
import { removeExpiredAllowances } from './feegrant/grants.ts'
import { endGov } from './gov/endGov.ts'
import { MESSAGES } from './messageTable.ts'
import { beginMint } from './mint/minter.ts'
import { beginSlashing } from './slashing/jail.ts'
import { endStaking } from './staking/endStaking.ts'
import { SLASH_BUDGET_GAS, settleSlashes } from './staking/settle.ts'
import type { PowerUpdate } from './staking/validatorUpdates.ts'
import { beginUpgrade, type UpgradeRules } from './upgrade/beginUpgrade.ts'

/** A block's reports about validators. */
interface BlockInfo {
  readonly lastCommit: LastCommitInfo
  readonly misbehaviour: readonly Misbehaviour[]
}

/** Input of the hooks at a block's start. */
interface BlockBegin extends BlockInfo {
  readonly upgrades: UpgradeRules | undefined
  /** for slashes of stake that left, which wait for the next block when it is spent; it starts with the first call */
  readonly slashBudget: () => Budget
}

/**
 * Work of the modules before a block's transactions. The order is the SDK's:
 * 1. upgrade: a version that does not know the planned upgrade must stop before it writes anything,
 *    and a migration must run before any module reads the entries that it changes.
 * 2. mint: into the fee collector, so that the next step divides new coins together with the fees.
 * 3. distribution: divides them by the powers of the last commit, before a slash can remove or jail a validator that earned them.
 * 4. slashing: counts the missed blocks of the last commit and punishes downtime.
 * 5. evidence: punishes double signing. A validator that step 4 jailed is not jailed a second time, but slashed and tombstoned.
 * 6. staking: slashes of earlier blocks continue with the work that this block's slashes have left.
 * 7. authz: removes expired grants; no other step reads them.
 *
 * Each hook has a row in test/metering, and a budget or a fixed bound of work.
 */
export const BEGIN_HOOKS = {
  upgrade: (context, { upgrades }) => beginUpgrade(context, upgrades), // 1
  mint: (context) => beginMint(context), // 2
  distribution: (context, { lastCommit }) => beginDistribution(context, lastCommit), // 3
  slashing: (context, { lastCommit, slashBudget }) => beginSlashing(context, lastCommit, slashBudget()), // 4
  evidence: (context, { misbehaviour, slashBudget }) => {
    for (const found of misbehaviour) handleEvidence(context, found, slashBudget()) // 5
  },
  slashes: (context, { slashBudget }) => settleSlashes(context, slashBudget()), // 6
  authz: (context) => beginAuthz(context), // 7
} as const satisfies Readonly<Record<string, (context: ModuleContext, begin: BlockBegin) => unknown>>

/**
 * Work of the modules after a block's transactions. The order is the SDK's:
 * 1. governance: proposals that pass run their messages, whose changes of stake and parameters step 2 must see.
 * 2. staking: the validator set follows all stakes of this block, then unbonding that is due ends.
 * 3. feegrant: removes expired allowances; no other step reads them.
 */
export const END_HOOKS = {
  gov: (context) => {
    endGov(context, MESSAGES) // 1
    return []
  },
  staking: (context) => endStaking(context), // 2
  feegrant: (context) => {
    removeExpiredAllowances(context) // 3
    return []
  },
} as const satisfies Readonly<Record<string, (context: ModuleContext) => readonly PowerUpdate[]>>

/**
 * Runs {@link BEGIN_HOOKS}. Except for an upgrade, a hook cannot stop the block: an error skips a
 * single item, and an error outside of all items skips the hook (see `doItem`). A failed migration
 * does stop the block, since only a corrected version can continue.
 * @param slashGas work that slashes of stake that left may do, in gas
 * @throws UpgradeNeeded when this version cannot continue, see `beginUpgrade`
 */
export function beginBlock(
  context: ModuleContext,
  info: BlockInfo,
  upgrades?: UpgradeRules,
  slashGas: number = SLASH_BUDGET_GAS,
): void {
  let budget: Budget | undefined
  const slashBudget = (): Budget => {
    budget ??= budgetOf(context.world.native, slashGas)
    return budget
  }
  for (const [name, hook] of Object.entries(BEGIN_HOOKS)) {
    const run = () => hook(context, { ...info, upgrades, slashBudget })
    if (hook === BEGIN_HOOKS.upgrade) run()
    else doItem(context, { hook: `begin ${name}` }, run)
  }
}

/**
 * Runs {@link END_HOOKS}.
 * @returns voting powers that change, from the block after the next on
 */
export function endBlock(context: ModuleContext): readonly PowerUpdate[] {
  return Object.entries(END_HOOKS).flatMap(
    ([name, hook]) => doItem(context, { hook: `end ${name}` }, () => hook(context)) ?? [],
  )
}
