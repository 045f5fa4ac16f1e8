import { relative } from 'node:path'

export interface TestCount {
  readonly passed: number
  readonly failed: number
}

/** The used fields of vitest's JSON report. */
export interface VitestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly FileResult[]
}

interface FileResult {
  /** absolute path */
  readonly name: string
  /** milliseconds since 1970 */
  readonly startTime: number
  readonly endTime: number
}

/**
 * Counts the tests of one suite. A run that is not green has at least one failure, also when no
 * test failed. Examples are a file that cannot be loaded, an error outside of tests, a run without a report or
 * without any test.
 */
export function countOf(report: VitestReport | undefined, isGreen: boolean): TestCount {
  const passed = report?.numPassedTests ?? 0
  const failed = report?.numFailedTests ?? 0
  const isProven = isGreen && passed > 0
  return { passed, failed: isProven ? failed : Math.max(failed, 1) }
}

/**
 * Returns one line for each of the `count` files whose tests took longest, the slowest first; paths
 * are relative to `root`.
 */
export function slowestFiles(reports: readonly VitestReport[], count: number, root: string): string[] {
  return reports
    .flatMap(({ testResults }) => testResults)
    .map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, count)
    .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${relative(root, name)}`)
}
