import { createTestEngine } from '../testEngines.ts'
import { findDifference } from './findDifference.ts'
import { type FuzzCase, formatCase } from './fuzzCase.ts'
import { generateCase } from './generateCase.ts'
import { investigate } from './investigate.ts'
import { minimise } from './minimise.ts'

/** Cases `first` to `first + runs - 1` of a seed, on the engines with these names. */
export interface FuzzRange {
  readonly seed: number
  readonly first: number
  readonly runs: number
  readonly engines: readonly [string, string]
  /** compare every step of every case, not only what comes of it */
  readonly comparesSteps: boolean
  readonly minimises: boolean
}

/** A case on which the engines differ. */
export interface Finding {
  readonly index: number
  readonly kind: string
  readonly differences: readonly string[]
  /** the first step at which the engines differ */
  readonly steps: string
  /** the minimised case, as JSON; undefined where fresh engines do not differ on it, so that it depends on the runs before */
  readonly smallest: string | undefined
}

interface RangeEvents {
  /** runs since the last call */
  readonly onProgress: (runs: number) => void
  readonly onFinding: (finding: Finding) => void
}

const PROGRESS_EVERY = 500
/** Similar cases of which at most this many are minimised: that takes seconds each. */
const MOST_ALIKE = 2

/** Runs a range; engines live as long as it, as in a node. */
export async function fuzzRange(range: FuzzRange, { onProgress, onFinding }: RangeEvents): Promise<void> {
  const engines = await createEngines(range)
  const alike = new Map<string, number>()
  let since = 0
  for (let index = range.first; index < range.first + range.runs; index++) {
    const fuzzCase = generateCase(range.seed, index)
    const differences = await findDifference(fuzzCase, engines)
    if (range.comparesSteps && differences.length === 0) {
      const steps = await investigate(fuzzCase, engines)
      if (!steps.startsWith('no step')) differences.push('steps')
    }
    if (differences.length > 0) {
      const kind = kindsOf(differences)
      const count = (alike.get(kind) ?? 0) + 1
      alike.set(kind, count)
      if (count <= MOST_ALIKE) onFinding(await describe(fuzzCase, index, differences, range))
    }
    if (++since === PROGRESS_EVERY) {
      onProgress(since)
      since = 0
    }
  }
  onProgress(since)
}

/** What differs, without how. */
export function kindsOf(differences: readonly string[]): string {
  const kinds = differences.map((line) => line.replace(/^message \d+: /, '').replace(/(:| 0x).*/s, ''))
  return [...new Set(kinds)].sort().join(', ')
}

async function createEngines({ engines: [first, second] }: FuzzRange) {
  return [await createTestEngine(first), await createTestEngine(second)] as const
}

async function describe(
  fuzzCase: FuzzCase,
  index: number,
  differences: readonly string[],
  range: FuzzRange,
): Promise<Finding> {
  const engines = await createEngines(range)
  const differs = async (candidate: FuzzCase): Promise<boolean> => (await findDifference(candidate, engines)).length > 0
  const isAlone = await differs(fuzzCase)
  const smallest = isAlone && range.minimises ? await minimise(fuzzCase, differs) : fuzzCase
  return {
    index,
    kind: fuzzCase.kind,
    differences,
    steps: await investigate(smallest, engines),
    smallest: isAlone ? formatCase(smallest) : undefined,
  }
}
