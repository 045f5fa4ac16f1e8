import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countOf, type TestCount, type VitestReport } from './testCount.ts'

interface Check {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

/** Static checks first: they are quick, and what fails there often explains what fails later. */
const STATIC_CHECKS: readonly Check[] = [
  { name: 'format and lint', command: 'biome', args: ['ci', '.'] },
  { name: 'types', command: 'tsc', args: ['--noEmit', '-p', '.'] },
  { name: 'direction of imports', command: process.execPath, args: ['scripts/checkImports.ts'] },
]
const SUITES = ['unit', 'sim', 'conformance', 'e2e', 'alone']

/** Runs a check with its output on this terminal, and says whether it passed. */
function passes({ name, command, args }: Check): boolean {
  console.log(`\n== ${name} ==`)
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (error !== undefined) console.error(`${command} cannot be run (${error.message})`)
  return status === 0
}

/** Runs one project of vitest.config.ts and counts its tests. */
function runSuite(suite: string, directory: string): TestCount {
  const report = join(directory, `${suite}.json`)
  const isGreen = passes({
    name: suite,
    command: 'vitest',
    args: ['run', '--project', suite, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
  })
  return countOf(readReport(report), isGreen)
}

function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as VitestReport
  } catch (error) {
    console.error(`no report of the suite (${String(error)})`)
    return undefined
  }
}

const directory = mkdtempSync(join(tmpdir(), 'coind-test-'))
const counts: TestCount[] = []
try {
  for (const check of STATIC_CHECKS) counts.push(passes(check) ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 })
  const chosen = process.argv.slice(2)
  for (const suite of chosen.length > 0 ? chosen : SUITES) counts.push(runSuite(suite, directory))
} finally {
  rmSync(directory, { recursive: true })
}
const passed = counts.reduce((sum, count) => sum + count.passed, 0)
const failed = counts.reduce((sum, count) => sum + count.failed, 0)
console.log(`\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
