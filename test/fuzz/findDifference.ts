import type { Engine } from '../../src/evm/engine.ts'
import { compareResults } from './compareResults.ts'
import { type FuzzCase, stateOf } from './fuzzCase.ts'
import { type CaseResult, runCase } from './runCase.ts'

/** Runs a case on both engines and says what differs, one line each; none when nothing does. */
export async function findDifference(fuzzCase: FuzzCase, engines: readonly [Engine, Engine]): Promise<string[]> {
  const state = stateOf(fuzzCase)
  const first = await runOrThrown(fuzzCase, state, engines[0])
  const second = await runOrThrown(fuzzCase, state, engines[1])
  if (typeof first !== 'string' && typeof second !== 'string') return compareResults(fuzzCase, first, second)
  if (first === second) return []
  return [first, second].flatMap((result, index) =>
    typeof result === 'string' ? [`${engines[index]!.name} threw ${result}`] : [],
  )
}

/** An error that an engine throws is a difference like any other: the fuzzer continues. */
async function runOrThrown(
  fuzzCase: FuzzCase,
  state: ReturnType<typeof stateOf>,
  engine: Engine,
): Promise<CaseResult | string> {
  try {
    return await runCase(fuzzCase, state, engine)
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}
