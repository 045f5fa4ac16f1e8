import { expect, it } from 'vitest'
import { countOf } from '../../../scripts/testCount.ts'

it.each([
  ['all passed', { numPassedTests: 7, numFailedTests: 0 }, true, { passed: 7, failed: 0 }],
  ['some failed', { numPassedTests: 7, numFailedTests: 2 }, false, { passed: 7, failed: 2 }],
  ['a file did not load', { numPassedTests: 7, numFailedTests: 0 }, false, { passed: 7, failed: 1 }],
  ['no test ran', { numPassedTests: 0, numFailedTests: 0 }, true, { passed: 0, failed: 1 }],
  ['no report', undefined, false, { passed: 0, failed: 1 }],
  ['no report of a green run', undefined, true, { passed: 0, failed: 1 }],
])('%s', (_, report, isGreen, count) => {
  expect(countOf(report, isGreen)).toEqual(count)
})
