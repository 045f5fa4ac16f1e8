import { MESSAGES } from '../../src/modules/messageTable.ts'
import { precompileTable } from '../../src/precompiles/registry.ts'
import { bytesKey } from '../../src/primitives/bytes.ts'
import { QUERIES } from '../../src/rpc/cosmos/queries.ts'
import { BLOCK_ROWS, HOOK_NAMES } from './blockRows.ts'
import type { Measured } from './measure.ts'
import { MESSAGE_ROWS } from './messageRows.ts'
import { CALL_ROWS, CONTRACTS } from './precompileRows.ts'
import { COVERED_VIEWS } from './viewRows.ts'

/**
 * Most steps of JavaScript per gas. A step takes 30 to 60 ns with what it causes besides (memory, calls of native code), and a gas pays for 15 to
 * 20 ns: the EVM's slowest instructions take that (docs/benchmarks.md).
 */
const MAX_STEPS_PER_GAS = 0.5

/** What does not depend on gas: the frame of an operation. */
const FREE_STEPS = 1_000

/** How much more an operation may do on a larger state for the same gas: lists of a few entries, digits of numbers, levels of trees. */
const GROWTH = 1.25

/** Most gas of work at the begin or the end of a block: 2,000,000 for each module with a queue, and the rest. What is due beyond it waits. */
const MAX_BLOCK_GAS = 8_000_000

/** Most gas of counted work for a view: of one item, or of a short page; and of one that walks, as `paginate.ts` and calls have it. */
const MAX_VIEW_GAS = 1_000_000
const MAX_WALK_GAS = 100_000_000
/** An item of a page counts 1,000 gas more than the meter, which is what is measured here. */
const MAX_VIEW_STEPS_PER_GAS = 1

/** Operations without a row, and rows without an operation. */
export function findMissingRows(): readonly string[] {
  const messages = [...MESSAGES.keys()].map((typeUrl) => typeUrl.slice(1))
  const calls = Object.entries(CONTRACTS).flatMap(([contract, { functions }]) =>
    functions.map(({ name }) => `${contract}.${name}`),
  )
  const contracts = Object.entries(CONTRACTS).map(([name, { address }]) => [name, bytesKey(address)] as const)
  const known = precompileTable(Object.values(CONTRACTS).map(({ address }) => address))
  // A closed account, of a module, does nothing that depends on the state.
  const tabled = [...known].filter(([, contract]) => 'functions' in contract).map(([address]) => address)
  return [
    ...differences('message', messages, Object.keys(MESSAGE_ROWS)),
    ...differences('function', calls, Object.keys(CALL_ROWS)),
    ...differences(
      'hook',
      HOOK_NAMES,
      BLOCK_ROWS.flatMap(({ hooks }) => hooks),
    ),
    ...differences('view', [...QUERIES.keys()], COVERED_VIEWS),
    ...tabled
      .filter((address) => !contracts.some(([, own]) => own === address))
      .map(() => 'a contract of the registry has no rows'),
  ]
}

function differences(kind: string, operations: readonly string[], rows: readonly string[]): readonly string[] {
  return [
    ...operations
      .filter((name) => !rows.includes(name))
      .map((name) => `the ${kind} ${name} has no row in test/metering`),
    ...rows.filter((name) => !operations.includes(name)).map((name) => `there is no ${kind} ${name}, but a row`),
  ]
}

/** What is not paid for. @param measured of every row on states of two sizes, the smaller one first */
export function findProblems([small, large]: readonly [readonly Measured[], readonly Measured[]]): readonly string[] {
  return large.flatMap((row, index) => {
    const before = small[index]!
    return [before, row]
      .flatMap((each) => problemsOf(each).map((problem) => `${each.name} on a state of ${each.size}: ${problem}`))
      .concat(
        growthOf(before, row).map((problem) => `${row.name} from a state of ${before.size} to ${row.size}: ${problem}`),
      )
  })
}

function problemsOf({ kind, gas, state, steps = 0, error, fails, isWalk }: Measured): readonly string[] {
  const isExpected = fails === 'either' || (error !== undefined) === fails
  if (kind === 'view') {
    return [
      ...(isExpected ? [] : [fails ? 'it should fail' : `it fails: ${error}`]),
      ...(state <= Math.max(gas, FREE_STEPS)
        ? []
        : [`work on the state costs ${Math.ceil(state)} gas, ${gas} are counted`]),
      ...(gas <= (isWalk ? MAX_WALK_GAS : MAX_VIEW_GAS) ? [] : [`${gas} gas of work for one view`]),
    ]
  }
  return [
    ...(isExpected ? [] : [fails ? 'it should fail' : `it fails: ${error}`]),
    ...(state <= gas ? [] : [`work on the state costs ${Math.ceil(state)} gas, ${gas} are paid`]),
    ...(steps <= FREE_STEPS + gas * MAX_STEPS_PER_GAS ? [] : [`${steps} steps for ${gas} gas`]),
    ...(kind !== 'block' || gas <= MAX_BLOCK_GAS ? [] : [`${gas} gas of work in one block`]),
  ]
}

function growthOf(small: Measured, large: Measured): readonly string[] {
  // Nobody pays for a view: only one that walks may do more, which the meter counts.
  const paid = large.kind === 'view' && large.isWalk !== true ? 0 : large.gas - small.gas
  // Refused at an earlier point: the bound for each gas is enough.
  if (paid < 0 && large.fails !== false) return []
  const perGas = large.kind === 'view' ? MAX_VIEW_STEPS_PER_GAS : MAX_STEPS_PER_GAS
  const mostSteps = FREE_STEPS + (small.steps ?? 0) * GROWTH + Math.max(paid, 0) * perGas
  const mostState = small.state * GROWTH + Math.max(paid, 0)
  return [
    ...((large.steps ?? 0) <= mostSteps ? [] : [`${small.steps} steps become ${large.steps} for ${paid} more gas`]),
    ...(large.state <= mostState ? [] : [`state work of ${small.state} becomes ${large.state} for ${paid} more gas`]),
  ]
}
