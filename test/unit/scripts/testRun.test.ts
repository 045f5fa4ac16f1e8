import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../../..')

let project: string
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'coind-testrun-'))
})
afterEach(() => {
  rmSync(project, { recursive: true })
})

function write(file: string, text: string): void {
  const path = join(project, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, 0o755)
}

/** Runs a program in the project, with the project's bin/ first in the path. */
function run(command: string, args: readonly string[]): SpawnSyncReturns<string> {
  const path = `${join(project, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`
  return spawnSync(command, args, { cwd: project, encoding: 'utf8', env: { ...process.env, PATH: path } })
}

const lastLine = (text: string): string | undefined => text.trimEnd().split('\n').at(-1)

describe('scripts/test.ts', () => {
  /** Tools that end with these codes; vitest writes this report, and prints its arguments. */
  function stubTools(tools: { biome?: number; report?: string; vitest?: number }): void {
    write('bin/biome', `#!/bin/sh\nexit ${tools.biome ?? 0}\n`)
    for (const tool of ['tsc', 'knip']) write(`bin/${tool}`, '#!/bin/sh\nexit 0\n')
    for (const script of ['checkImports', 'checkWords']) write(`scripts/${script}.ts`, '')
    const report = tools.report ?? '{"numPassedTests": 10, "numFailedTests": 0, "testResults": []}'
    write(
      'bin/vitest',
      `#!/bin/sh\necho "$@"\nfor a in "$@"; do case "$a" in --outputFile.json=*) echo '${report}' > "\${a#--outputFile.json=}";; esac; done\nexit ${tools.vitest ?? 0}\n`,
    )
  }

  const runTests = (...args: string[]) => run(process.execPath, [join(ROOT, 'scripts/test.ts'), ...args])

  it('adds static checks and suites up', () => {
    stubTools({})
    const { status, stdout } = runTests()
    expect([status, lastLine(stdout)]).toEqual([0, '16 passed, 0 failed'])
    const projects = ['unit', 'sim', 'conformance', 'e2e', 'network', 'alone'].map((name) => `--project ${name}`)
    expect(stdout).toContain(`\nrun ${projects.join(' ')} --reporter=default `)
  })

  it('names the slowest files before its last line', () => {
    const results = Array.from({ length: 12 }, (_, i) => ({
      name: join(realpathSync(project), `test/${i}.test.ts`),
      startTime: 0,
      endTime: i * 1_000,
    }))
    stubTools({ report: JSON.stringify({ numPassedTests: 10, numFailedTests: 0, testResults: results }) })
    const lines = runTests('unit').stdout.trimEnd().split('\n')
    expect(lines.slice(-13)).toEqual([
      'slowest files',
      ...results
        .slice(2)
        .reverse()
        .map(({ endTime }, index) => `${(endTime / 1_000).toFixed(1).padStart(7)} s  test/${11 - index}.test.ts`),
      '',
      '16 passed, 0 failed',
    ])
  })

  it('says what a static check says', () => {
    stubTools({ biome: 1 })
    write('bin/biome', '#!/bin/sh\necho on standard output; echo a complaint >&2; exit 1\n')
    const { stdout } = runTests('unit')
    expect(stdout).toContain('== format and lint ==\non standard output\na complaint\n')
  })

  it('runs only the suites that are named', () => {
    stubTools({})
    expect(runTests('unit', 'sim').stdout).toContain('\nrun --project unit --project sim --reporter=default ')
  })

  it.each<[string, Parameters<typeof stubTools>[0], string]>([
    ['a static check', { biome: 1 }, '15 passed, 1 failed'],
    [
      'tests',
      { report: '{"numPassedTests": 8, "numFailedTests": 2, "testResults": []}', vitest: 1 },
      '14 passed, 2 failed',
    ],
    ['a suite without a report', { report: '', vitest: 1 }, '6 passed, 1 failed'],
  ])('fails with %s', (_, tools, summary) => {
    stubTools(tools)
    const { status, stdout } = runTests('unit')
    expect([status, lastLine(stdout)]).toEqual([1, summary])
  })
})

describe('scripts/testLong.ts', () => {
  /** Tools of which vitest ends with that code; there is no Docker. */
  const runLong = (vitest: number, ...args: string[]) => {
    write('bin/vitest', `#!/bin/sh\necho runs: $PROPERTY_RUNS, seed: $PROPERTY_SEED\nexit ${vitest}\n`)
    write('bin/docker', '#!/bin/sh\nexit 1\n')
    write('scripts/crashTest.ts', "console.log('kills: ' + process.argv[2])")
    return run(process.execPath, [join(ROOT, 'scripts/testLong.ts'), ...args])
  }

  it('runs what is named, and ends with a table', () => {
    const { status, stdout } = runLong(0, 'properties', 'crash', 'docker', '--share', '0.1', '--seed', '5')
    expect(status).toBe(0)
    expect(stdout).toContain('runs: 2, seed: 5')
    expect(stdout).toContain('kills: 20')
    expect(stdout.trimEnd().split('\n').slice(-4)).toEqual([
      expect.stringMatching(/^test +result +time +command$/),
      expect.stringMatching(/^properties +passed +0 min +\d s +PROPERTY_SEED=5 PROPERTY_RUNS=2 vitest run /),
      expect.stringMatching(/^crash +passed +0 min +\d s +node scripts\/crashTest\.ts 20 5$/),
      expect.stringMatching(/^docker +skipped: no Docker +node scripts\/dockerTest\.ts$/),
    ])
  })

  it('fails with one of them, and runs the others', () => {
    const { status, stdout } = runLong(3, 'properties', 'crash')
    expect(status).toBe(1)
    expect(stdout).toMatch(/^properties +FAILED \(exit code 3\)/m)
    expect(stdout).toMatch(/^crash +passed/m)
  })

  it('refuses a name that it does not know', () => {
    expect(runLong(0, 'fuzzing')).toMatchObject({ status: 64, stderr: expect.stringContaining('fuzzing') })
  })
})

describe('.ci/run', () => {
  function runCi(npm: string): SpawnSyncReturns<string> {
    mkdirSync(join(project, '.ci'))
    copyFileSync(join(ROOT, '.ci/run'), join(project, '.ci/run'))
    write('bin/npm', `#!/bin/sh\n${npm}\n`)
    return run('bash', ['.ci/run'])
  }

  it.each([
    ['green', 'if [ "$1" = test ]; then echo "5 passed, 0 failed"; fi', 0, '5 passed, 0 failed'],
    ['red', 'if [ "$1" = test ]; then echo "5 passed, 1 failed"; echo npm error; exit 1; fi', 1, '5 passed, 1 failed'],
    ['not installed', 'exit 3', 3, '0 passed, 1 failed'],
    ['silent', 'exit 0', 1, '0 passed, 1 failed'],
  ])('ends with the count when %s', (_, npm, status, summary) => {
    const result = runCi(npm)
    expect([result.status, lastLine(result.stdout)]).toEqual([status, summary])
  })
})

describe('scripts/prepare.js', () => {
  const script = join(ROOT, 'scripts/prepare.js')

  it('is content with this installation', () => {
    // The first one may bundle the node anew, when sources have changed.
    expect(run(process.execPath, [script])).toMatchObject({ status: 0, stderr: '' })
    expect(run(process.execPath, [script])).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })

  it('asks for a newer Node.js in one line', () => {
    const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })"
    const result = run(process.execPath, ['--import', `data:text/javascript,${encodeURIComponent(old)}`, script])
    expect([result.status, result.stderr]).toEqual([69, expect.stringMatching(/^coind: needs Node\.js 26[^\n]+\n$/)])
  })
})
