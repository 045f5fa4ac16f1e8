import { describe, expect, it } from 'vitest'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import { ConfigError } from '../../../src/config/configError.ts'
import { decideSync, trustPeriodOf } from '../../../src/config/syncDecision.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

const DAY = 86_400_000
const GENESIS = { timeMs: 1_790_000_000_000, unbondingMs: 21 * DAY }
interface Choices extends Partial<Config['joining']> {
  readonly pruning?: Config['pruning']
}

const trustPoint = { height: 5, hash: sha256(new Uint8Array()) }
const YOUNG = GENESIS.timeMs + 14 * DAY - 1
const OLD = GENESIS.timeMs + 14 * DAY

const DEFAULTS = loadConfig({ flags: {}, environment: {}, dotenv: {} }, '/home/someone')

function decide({ pruning = DEFAULTS.pruning, ...joining }: Choices, nowMs: number) {
  return decideSync({ joining: { ...DEFAULTS.joining, ...joining }, pruning }, GENESIS, nowMs)
}

describe('how a node without blocks gets the chain', () => {
  const snapshot = { kind: 'snapshot', isRequired: false }
  const demanded = { kind: 'snapshot', isRequired: true }
  const blocks = { kind: 'blocks', warning: undefined }

  it.each<[string, Choices, number, object]>([
    ['auto, a young genesis', {}, YOUNG, snapshot],
    ['auto, a genesis that is yet to come', {}, GENESIS.timeMs - DAY, snapshot],
    ['auto, an old genesis, a trust point', { trustPoint }, OLD, snapshot],
    ['auto, a young genesis, an archive', { pruning: 'archive' }, YOUNG, blocks],
    ['auto, an old genesis, an archive', { pruning: 'archive' }, OLD, blocks],
    ['blocks, a young genesis', { syncMode: 'blocks' }, YOUNG, blocks],
    ['blocks, an old genesis', { syncMode: 'blocks' }, OLD, blocks],
    ['snapshot, a young genesis', { syncMode: 'snapshot' }, YOUNG, demanded],
    ['snapshot, an old genesis, a trust point', { syncMode: 'snapshot', trustPoint }, OLD, demanded],
    ['snapshot, an archive', { syncMode: 'snapshot', pruning: 'archive' }, YOUNG, demanded],
    ['forced, a young genesis', { forceSnapshotRestore: true }, YOUNG, demanded],
    ['forced, an old genesis, a trust point', { forceSnapshotRestore: true, trustPoint }, OLD, demanded],
    ['a shorter period', { trustPeriodMs: DAY, syncMode: 'blocks' }, YOUNG, blocks],
  ])('%s', (_, settings, nowMs, decision) => {
    expect(decide(settings, nowMs)).toEqual(decision)
  })

  it('auto, an old genesis and no trust point: blocks, and a line that says how to get one', () => {
    expect(decide({}, OLD)).toEqual({
      kind: 'blocks',
      warning: expect.stringMatching(
        /^all blocks are executed: the genesis is older than TRUST_PERIOD \(336 hours\), [^\n]+; to restore a snapshot, set TRUST_HEIGHT and TRUST_HASH to [^\n]+$/,
      ),
    })
    expect(decide({ trustPeriodMs: DAY }, YOUNG)).toMatchObject({ warning: expect.stringMatching(/\(24 hours\)/) })
  })

  it.each<[Choices, RegExp]>([
    [{ syncMode: 'snapshot' }, /^SYNC_MODE=snapshot is set, but the genesis is older than TRUST_PERIOD \(336 hours\)/],
    [{ forceSnapshotRestore: true }, /^FORCE_SNAPSHOT_RESTORE is set, but the genesis is older/],
    [{ forceSnapshotRestore: true, syncMode: 'snapshot' }, /^FORCE_SNAPSHOT_RESTORE is set, but the genesis is older/],
    [
      { forceSnapshotRestore: true, syncMode: 'blocks' },
      /^FORCE_SNAPSHOT_RESTORE is set, but SYNC_MODE is blocks: unset/,
    ],
    [
      { trustPeriodMs: 21 * DAY },
      /^TRUST_PERIOD is 504 hours: it must be shorter than the unbonding time .* 504 hours/,
    ],
  ])('refuses %j on an old network', (settings, problem) => {
    const run = () => decide(settings, OLD)
    expect(run).toThrow(ConfigError)
    expect(run).toThrow(problem)
    expect(run).toThrow(/^[^\n]{1,500}$/)
  })

  it('trusts for two thirds of the unbonding time, or for a shorter time that is set', () => {
    expect(trustPeriodOf(DEFAULTS.joining, GENESIS)).toBe(14 * DAY)
    expect(trustPeriodOf(DEFAULTS.joining, { unbondingMs: 1_000 })).toBe(666)
    expect(trustPeriodOf({ trustPeriodMs: 20 * DAY }, GENESIS)).toBe(20 * DAY)
  })
})
