import { BEGIN_HOOKS, beginBlock, END_HOOKS, endBlock } from '../../src/modules/block.ts'
import type { Misbehaviour, ModuleContext } from '../../src/modules/context.ts'
import { rotateConsensusKey } from '../../src/modules/staking/keyRotation.ts'
import { consensusAddressOf, getValidator, validators } from '../../src/modules/staking/validators.ts'
import { STRANGERS, strangersValidators } from './grow.ts'
import { account, COIN, consensusKey, VALIDATORS } from './stage.ts'

type HookName = `begin ${keyof typeof BEGIN_HOOKS}` | `end ${keyof typeof END_HOOKS}`

/** All hooks of blocks: each has a row. */
export const HOOK_NAMES: readonly string[] = [
  ...Object.keys(BEGIN_HOOKS).map((name) => `begin ${name}`),
  ...Object.keys(END_HOOKS).map((name) => `end ${name}`),
]

/** Work that nobody pays for, because it begins or ends a block. */
export interface BlockRow {
  readonly name: string
  /** hooks of src/modules/block.ts whose work the row makes as large as strangers can */
  readonly hooks: readonly HookName[]
  /** how long after the growth of the state, milliseconds */
  readonly afterMs: number
  /** what happens some blocks before, 1 by default: a number that takes part in the row's growth */
  readonly before?: (context: ModuleContext, size: number) => void
  readonly afterBlocks?: number
  readonly run: (context: ModuleContext) => void
}

const DAY_MS = 86_400_000

/** Validators of the genesis rotate their keys in one block, and as many of strangers as may. */
function rotateKeys({ world, block }: ModuleContext, size: number): void {
  const strangers = Array.from({ length: strangersValidators(size) }, (_, index) => account(STRANGERS + index))
  for (const [index, operator] of [...VALIDATORS, ...strangers].entries()) {
    world.setBalance(operator, 10n * COIN)
    const refused = rotateConsensusKey({ world, block }, { operator, publicKey: consensusKey(2_000_000 + index) })
    // Validators without power have 20 at a time.
    if (refused !== undefined) return
  }
}

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
  {
    name: 'begin',
    hooks: ['begin upgrade', 'begin mint', 'begin distribution'],
    afterMs: 400,
    run: (context) => begin(context, 'signed'),
  },
  {
    name: 'begin, all validators absent',
    hooks: ['begin slashing'],
    afterMs: 400,
    run: (context) => begin(context, 'absent'),
  },
  {
    name: 'begin, evidence',
    hooks: ['begin evidence', 'begin slashes'],
    afterMs: 400,
    run: (context) => begin(context, 'signed', [doubleSign(context)]),
  },
  { name: 'begin, expired authorizations', hooks: ['begin authz'], afterMs: 2 * DAY_MS, run: BEGIN_HOOKS.authz },
  { name: 'end', hooks: [], afterMs: 400, run: endBlock },
  { name: 'end, expired allowances', hooks: ['end feegrant'], afterMs: 2 * DAY_MS, run: END_HOOKS.feegrant },
  { name: 'end, keys are announced', hooks: [], afterMs: 0, afterBlocks: 0, before: rotateKeys, run: endBlock },
  { name: 'end, keys are rotated', hooks: [], afterMs: 800, afterBlocks: 2, before: rotateKeys, run: endBlock },
  {
    name: 'end, former keys are forgotten',
    hooks: [],
    afterMs: 60 * DAY_MS,
    afterBlocks: 10_000_000,
    before: rotateKeys,
    run: endBlock,
  },
  { name: 'end, votes and deposits are over', hooks: ['end gov'], afterMs: 3 * DAY_MS, run: endBlock },
  { name: 'end, unbonding is over too', hooks: ['end staking'], afterMs: 30 * DAY_MS, run: endBlock },
]
