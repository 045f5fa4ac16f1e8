import { type SpawnOptions, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countOf, slowestFiles, type TestCount, type VitestReport } from './testCount.ts'

/**
 * Runs what checks the project: the static checks, then the suites of vitest.config.ts, all of them or those that are named.
 *
 *   npm test
 *   npm test unit sim
 *
 * Prints the slowest files; the last line is "N passed, N failed", and the exit code says the same.
 */

interface Check {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

const STATIC_CHECKS: readonly Check[] = [
  { name: 'format and lint', command: 'biome', args: ['ci', '.'] },
  { name: 'types', command: 'tsc', args: ['--noEmit', '-p', '.'] },
  { name: 'types of the pages', command: 'tsc', args: ['--noEmit', '-p', 'explorer/web'] },
  { name: 'direction of imports', command: process.execPath, args: ['scripts/checkImports.ts'] },
  { name: 'words of documents and comments', command: process.execPath, args: ['scripts/checkWords.ts'] },
  { name: 'unused exports, files and dependencies', command: 'knip', args: ['--no-progress'] },
]
const SUITES: readonly string[] = ['unit', 'sim', 'conformance', 'e2e', 'network', 'alone']
const SLOWEST = 10

interface Outcome {
  readonly isGreen: boolean
  /** what it printed, unless it printed on this terminal */
  readonly output: string
}

function run({ command, args }: Check, stdio: SpawnOptions['stdio']): Promise<Outcome> {
  const child = spawn(command, args, { stdio })
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  return new Promise((resolve) => {
    child.once('error', ({ message }) =>
      resolve({ isGreen: false, output: `${output}${command} cannot be run (${message})\n` }),
    )
    child.once('close', (status) => resolve({ isGreen: status === 0, output }))
  })
}

/** Runs the static checks at the same time: they are quick, and what fails there often explains what fails later. */
async function runStaticChecks(): Promise<readonly TestCount[]> {
  const running = STATIC_CHECKS.map((check) => run(check, ['ignore', 'pipe', 'pipe']))
  const counts: TestCount[] = []
  for (const [index, { name }] of STATIC_CHECKS.entries()) {
    const { isGreen, output } = await running[index]!
    process.stdout.write(`\n== ${name} ==\n${output}`)
    counts.push(isGreen ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 })
  }
  return counts
}

/**
 * Runs projects of vitest.config.ts, with their output on this terminal: in one run, which compiles what they share once. Which of them
 * run at the same time, vitest.config.ts says.
 */
async function runSuites(suites: readonly string[]): Promise<{ count: TestCount; report?: VitestReport }> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-test-'))
  try {
    const path = join(directory, 'report.json')
    console.log(`\n== ${suites.join(', ')} ==`)
    const projects = suites.flatMap((suite) => ['--project', suite])
    const args = ['run', ...projects, '--reporter=default', '--reporter=json', `--outputFile.json=${path}`]
    const { isGreen, output } = await run({ name: 'tests', command: 'vitest', args }, 'inherit')
    process.stdout.write(output)
    try {
      const report = JSON.parse(readFileSync(path, 'utf8')) as VitestReport
      return { count: countOf(report, isGreen), report }
    } catch (error) {
      console.error(`no report of the tests (${String(error)})`)
      return { count: countOf(undefined, isGreen) }
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const chosen = process.argv.slice(2)
const staticCounts = await runStaticChecks()
const { count, report } = await runSuites(chosen.length > 0 ? chosen : SUITES)
const counts = [...staticCounts, count]
const passed = counts.reduce((sum, count) => sum + count.passed, 0)
const failed = counts.reduce((sum, count) => sum + count.failed, 0)
console.log(`\nslowest files\n${slowestFiles(report === undefined ? [] : [report], SLOWEST, process.cwd()).join('\n')}`)
console.log(`\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
