import { describe, expect, it } from 'vitest'
import { countOf, slowestFiles } from '../../../scripts/testCount.ts'

const report = (
  passed: number,
  failed: number,
  testResults: Parameters<typeof slowestFiles>[0][0]['testResults'] = [],
) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  testResults,
})

describe('countOf', () => {
  it.each([
    ['all passed', report(7, 0), true, { passed: 7, failed: 0 }],
    ['some failed', report(7, 2), false, { passed: 7, failed: 2 }],
    ['a file did not load', report(7, 0), false, { passed: 7, failed: 1 }],
    ['no test ran', report(0, 0), true, { passed: 0, failed: 1 }],
    ['no report', undefined, false, { passed: 0, failed: 1 }],
    ['no report of a green run', undefined, true, { passed: 0, failed: 1 }],
  ])('%s', (_, given, isGreen, count) => {
    expect(countOf(given, isGreen)).toEqual(count)
  })
})

describe('slowestFiles', () => {
  it('are those of all suites', () => {
    const unit = report(2, 0, [
      { name: '/p/test/unit/a.test.ts', startTime: 1_000, endTime: 1_250 },
      { name: '/p/test/unit/b.test.ts', startTime: 1_000, endTime: 5_000 },
    ])
    const e2e = report(1, 0, [{ name: '/p/test/e2e/c.test.ts', startTime: 0, endTime: 123_456 }])
    expect(slowestFiles([unit, e2e], 2, '/p')).toEqual([
      '  123.5 s  test/e2e/c.test.ts',
      '    4.0 s  test/unit/b.test.ts',
    ])
  })
})
