import { describe, test } from 'vitest'
import { faultScenarios } from './scenarios/faults.ts'
import { recoveryScenarios } from './scenarios/recovery.ts'
import { syncScenarios } from './scenarios/syncing.ts'

const scenarios = [...faultScenarios, ...recoveryScenarios, ...syncScenarios].sort((a, b) => a.number - b.number)

/** Networks, disks and processes that fail. The numbers go on from those of scenarios.test.ts. */
describe('scenarios', () => {
  for (const { number, name, run } of scenarios) test(`${number}: ${name}`, run)
})
