export interface TestCount {
  readonly passed: number
  readonly failed: number
}

/** What is used of vitest's JSON report. */
export interface VitestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
}

/**
 * The tests of one suite. A run that is not green has at least one failure, also when no test failed: a file that cannot be
 * loaded, an error outside of tests, a run without a report or without any test.
 */
export function countOf(report: VitestReport | undefined, isGreen: boolean): TestCount {
  const passed = report?.numPassedTests ?? 0
  const failed = report?.numFailedTests ?? 0
  const isProven = isGreen && passed > 0
  return { passed, failed: isProven ? failed : Math.max(failed, 1) }
}
