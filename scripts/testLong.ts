import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { namespacesMissing } from '../test/e2e/network/namespaces.ts'
import { signersMissing } from '../test/signers/realSigners.ts'

/**
 * Runs the tests that take long, one after another, on new random seeds, and prints a table at the end.
 * Exits with 1 when one of them has failed.
 *
 *   npm run test:long                            all of them: some hours
 *   npm run test:long -- fuzz crash              only these
 *   npm run test:long -- shuffled --seed 7       the order of an earlier run
 *   npm run test:long -- --share 0.01            all with a hundredth of the usual runs; the state tests have no smaller size
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    share: { type: 'string', default: '1' },
    /** the first random seed, and that of the order of shuffled tests, to repeat a run */
    seed: { type: 'string', default: String(randomInt(1_000_000_000)) },
  },
})
const share = Number(values.share)
const { seed } = values
if (!(share > 0)) throw new Error(`--share ${values.share} is not a positive number`)

/** This share of the usual number of runs, as an argument. */
const runs = (usual: number): string => String(Math.max(1, Math.round(usual * share)))

interface LongTest {
  readonly name: string
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** why it cannot run here */
  readonly missing?: () => string | undefined
}

const node = (script: string, ...args: readonly string[]): readonly string[] => [process.execPath, script, ...args]

const TESTS: readonly LongTest[] = [
  {
    name: 'properties',
    command: ['vitest', 'run', '--project', 'unit', '--project', 'sim', '--project', 'conformance', '--reporter=dot'],
    environment: { PROPERTY_SEED: seed, PROPERTY_RUNS: String(Math.max(1, 20 * share)) },
  },
  {
    name: 'variants',
    command: ['vitest', 'run', '--project', 'e2e', '--project', 'network', '--project', 'alone', '--reporter=dot'],
    environment: { PROPERTY_RUNS: '2' },
  },
  {
    name: 'verify',
    command: [
      'vitest',
      'run',
      '--project',
      'unit',
      '--project',
      'e2e',
      'test/unit/explorer/verify',
      'test/e2e/explorer/verifyTools.test.ts',
    ],
    environment: { PROPERTY_RUNS: '2' },
  },
  {
    name: 'shuffled',
    command: [
      'vitest',
      'run',
      '--project',
      'unit',
      '--project',
      'conformance',
      '--project',
      'e2e',
      '--reporter=dot',
      '--sequence.shuffle',
      `--sequence.seed=${seed}`,
    ],
  },
  { name: 'state-full', command: node('test/conformance/runStateTests.ts') },
  { name: 'state-blocks', command: node('test/conformance/runStateTests.ts', '--execution-threads', '4') },
  {
    name: 'sim-full',
    command: node('test/sim/full.ts', '--small', runs(10_000), '--large', runs(500), '--seed', seed),
  },
  { name: 'fuzz', command: node('test/fuzz/main.ts', '--runs', runs(1_000_000), '--seed', seed, '--jobs', '2') },
  { name: 'parameters', command: node('test/parameters/main.ts', '--seeds', runs(40), '--seed', seed) },
  { name: 'crash', command: node('scripts/crashTest.ts', runs(200), seed) },
  { name: 'crash-threads', command: node('scripts/crashTest.ts', runs(60), seed, '200', '4') },
  { name: 'faucet', command: node('test/crash/killFaucet.ts', runs(60), seed) },
  { name: 'explorer', command: node('test/indexProof/main.ts', '--transactions', runs(200_000), '--seed', seed) },
  {
    name: 'explorer-kills',
    command: node('test/indexProof/main.ts', '--transactions', runs(200_000), '--seed', seed, '--kill'),
  },
  {
    name: 'attack',
    command: node('test/attack/main.ts', '--share', String(Math.min(1, share)), '--seconds', runs(40)),
  },
  {
    name: 'soak',
    command: node('test/e2e/network/soak.ts', '--minutes', runs(60), '--kill-seconds', '300'),
  },
  {
    name: 'sentries',
    command: node('test/e2e/network/sentries.ts', '--seconds', runs(60)),
    missing: namespacesMissing,
  },
  {
    name: 'signers',
    command: node('test/signers/main.ts', '--blocks', runs(1000), '--kills', runs(10)),
    missing: signersMissing,
  },
  { name: 'docker', command: node('scripts/dockerTest.ts'), missing: dockerMissing },
]

function dockerMissing(): string | undefined {
  const { status } = spawnSync('docker', ['info'], { stdio: 'ignore' })
  return status === 0 ? undefined : 'no Docker'
}

interface Row {
  readonly name: string
  readonly command: string
  readonly result: string
  readonly time: string
}

function run({ name, command, environment = {}, missing }: LongTest): Row & { readonly isGreen: boolean } {
  const [program, ...args] = command
  const words = [program === process.execPath ? 'node' : program, ...args]
  const text = [...Object.entries(environment).map(([key, value]) => `${key}=${value}`), ...words].join(' ')
  const reason = missing?.()
  if (reason !== undefined) return { name, command: text, result: `skipped: ${reason}`, time: '', isGreen: true }
  console.log(`\n== ${name}: ${text} ==`)
  const startMs = performance.now()
  const { status, signal, error }: SpawnSyncReturns<Buffer> = spawnSync(program!, args, {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  const isGreen = status === 0
  const result = isGreen ? 'passed' : `FAILED (${error?.message ?? signal ?? `exit code ${status}`})`
  return { name, command: text, result, time: duration(performance.now() - startMs), isGreen }
}

function duration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2)} s`
}

function print(rows: readonly Row[]): void {
  const columns = ['name', 'result', 'time', 'command'] as const
  const all: readonly Row[] = [{ name: 'test', command: 'command', result: 'result', time: 'time' }, ...rows]
  const widths = columns.map((column) => Math.max(...all.map((row) => row[column].length)))
  const line = (row: Row): string => columns.map((column, index) => row[column].padEnd(widths[index]!)).join('  ')
  console.log(`\n${all.map((row) => line(row).trimEnd()).join('\n')}`)
}

const unknown = positionals.filter((name) => !TESTS.some((test) => test.name === name))
if (unknown.length > 0) {
  console.error(`no such test: ${unknown.join(', ')}; there are ${TESTS.map(({ name }) => name).join(', ')}`)
  process.exit(64)
}
const rows = TESTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name)).map(run)
print(rows)
process.exitCode = rows.every(({ isGreen }) => isGreen) ? 0 : 1
