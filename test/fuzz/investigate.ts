import type { Engine } from '../../src/evm/engine.ts'
import { describeStepDifference, firstDifferingStep, type TracedRun } from '../../src/evm/engines/firstDifferingStep.ts'
import { type FuzzCase, stateOf } from './fuzzCase.ts'
import { runCase } from './runCase.ts'

/** The first step at which the engines differ, in lines for a person. */
export async function investigate(fuzzCase: FuzzCase, engines: readonly [Engine, Engine]): Promise<string> {
  const state = stateOf(fuzzCase)
  const traced = (engine: Engine): TracedRun => {
    // What an engine throws was reported before; the steps up to there are what counts.
    return (tracer) => runCase(fuzzCase, state, engine, tracer).catch(() => undefined)
  }
  const difference = await firstDifferingStep(traced(engines[0]), traced(engines[1]))
  if (difference === undefined) return 'no step differs: the fault is outside of opcodes, or only where nobody traces'
  return describeStepDifference(difference, [engines[0].name, engines[1].name])
}
