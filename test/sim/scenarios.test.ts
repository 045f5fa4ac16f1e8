import { describe, test } from 'vitest'
import { byzantineScenarios } from './scenarios/byzantine.ts'
import { faultScenarios } from './scenarios/faults.ts'
import { lockScenarios } from './scenarios/locks.ts'
import { normalScenarios } from './scenarios/normal.ts'
import { recoveryScenarios } from './scenarios/recovery.ts'
import { syncScenarios } from './scenarios/syncing.ts'

const scenarios = [
  ...normalScenarios,
  ...byzantineScenarios,
  ...lockScenarios,
  ...faultScenarios,
  ...recoveryScenarios,
  ...syncScenarios,
].sort((a, b) => a.number - b.number)

describe('scenarios', () => {
  for (const { number, name, run } of scenarios) test(`${number}: ${name}`, run)
})
