import { describe, test } from 'vitest'
import { byzantineScenarios } from './scenarios/byzantine.ts'
import { lockScenarios } from './scenarios/locks.ts'
import { normalScenarios } from './scenarios/normal.ts'

const scenarios = [...normalScenarios, ...byzantineScenarios, ...lockScenarios].sort((a, b) => a.number - b.number)

/** Networks that work, validators that lie, messages that come late. */
describe('scenarios', () => {
  for (const { number, name, run } of scenarios) test(`${number}: ${name}`, run)
})
