import { beginAuthz } from '../../src/modules/authz/grants.ts'
import { beginBlock, endBlock } from '../../src/modules/block.ts'
import type { Misbehaviour, ModuleContext } from '../../src/modules/context.ts'
import { removeExpiredAllowances } from '../../src/modules/feegrant/grants.ts'
import { consensusAddressOf, getValidator, validators } from '../../src/modules/staking/validators.ts'
import { VALIDATORS } from './stage.ts'

/** Work that nobody pays for, because it begins or ends a block. */
export interface BlockRow {
  readonly name: string
  /** how long after the growth of the state, milliseconds */
  readonly afterMs: number
  readonly run: (context: ModuleContext) => void
}

const DAY_MS = 86_400_000

function begin(context: ModuleContext, vote: 'signed' | 'absent', misbehaviour: readonly Misbehaviour[] = []): void {
  const bonded = [...validators(context.world.native)].filter(({ status }) => status === 'bonded')
  const votes = bonded.map((validator) => ({
    address: consensusAddressOf(validator),
    power: validator.tokens / 10n ** 18n,
    vote,
  }))
  beginBlock(context, { lastCommit: { round: 0, votes }, misbehaviour })
}

function doubleSign({ world, block }: ModuleContext): Misbehaviour {
  const validator = getValidator(world.native, VALIDATORS[0]!)!
  return {
    kind: 'duplicateVote',
    address: consensusAddressOf(validator),
    power: validator.tokens / 10n ** 18n,
    totalPower: 10n ** 6n,
    height: 2,
    timeMs: block.timeMs - 1_000,
    hash: new Uint8Array(32),
    bytes: new Uint8Array(400),
  }
}

/** Hooks of modules, with all that strangers can make due in one block. */
export const BLOCK_ROWS: readonly BlockRow[] = [
  { name: 'begin', afterMs: 400, run: (context) => begin(context, 'signed') },
  { name: 'begin, all validators absent', afterMs: 400, run: (context) => begin(context, 'absent') },
  { name: 'begin, evidence', afterMs: 400, run: (context) => begin(context, 'signed', [doubleSign(context)]) },
  { name: 'begin, expired authorizations', afterMs: 2 * DAY_MS, run: beginAuthz },
  { name: 'end', afterMs: 400, run: endBlock },
  { name: 'end, expired allowances', afterMs: 2 * DAY_MS, run: (context) => removeExpiredAllowances(context) },
  { name: 'end, votes and deposits are over', afterMs: 3 * DAY_MS, run: endBlock },
  { name: 'end, unbonding is over too', afterMs: 30 * DAY_MS, run: endBlock },
]
